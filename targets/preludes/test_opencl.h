// The device of test programs: the first of any platform, buffers there, copies from and to the host. Each block is
// one function or what several share.
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

//// tg_test_context
static cl_context tg_test_context;
//// tg_test_device
static cl_device_id tg_test_device;
//// tg_test_queue
static cl_command_queue tg_test_queue;
//// tg_test_must
static inline void tg_test_must(cl_int error, const char *what) {
  if (error == CL_SUCCESS) return;
  printf("%s: error %d\n", what, (int)error);
  exit(1);
}
//// tg_test_open
static inline int tg_test_open(void) {
  cl_platform_id platforms[16];
  cl_uint count = 0;
  if (clGetPlatformIDs(16, platforms, &count) != CL_SUCCESS) return 0;
  for (cl_uint i = 0; i < count && i < 16; ++i) {
    cl_int error = CL_SUCCESS;
    if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &tg_test_device, NULL) != CL_SUCCESS) continue;
    tg_test_context = clCreateContext(NULL, 1, &tg_test_device, NULL, NULL, &error);
    if (error != CL_SUCCESS) continue;
    tg_test_queue = clCreateCommandQueue(tg_test_context, tg_test_device, 0, &error);
    if (error == CL_SUCCESS) return 1;
  }
  return 0;
}
//// tg_test_start
#define tg_test_start(open, session) open(tg_test_context, tg_test_device, tg_test_queue, session)
//// tg_test_log
static inline void tg_test_log(cl_program program) {
  static char text[4096];
  if (program == NULL) return;
  clGetProgramBuildInfo(program, tg_test_device, CL_PROGRAM_BUILD_LOG, sizeof text - 1, text, NULL);
  printf("%s\n", text);
}
//// tg_test_explain
#define tg_test_explain(session) tg_test_log((session)->program)
//// tg_test_alloc
// Bytes that are all NaN to whoever reads them unwritten.
static inline void *tg_test_alloc(size_t bytes) {
  const cl_uint poison = 0xFFFFFFFF;
  const size_t whole = (bytes + 511) / 256 * 256;
  cl_int error = CL_SUCCESS;
  cl_mem buffer = clCreateBuffer(tg_test_context, CL_MEM_READ_WRITE, whole, NULL, &error);
  tg_test_must(error, "clCreateBuffer");
  error = clEnqueueFillBuffer(tg_test_queue, buffer, &poison, sizeof poison, 0, whole, 0, NULL, NULL);
  tg_test_must(error, "clEnqueueFillBuffer");
  return buffer;
}
//// tg_test_upload
static inline void tg_test_upload(void *to, const void *from, size_t bytes) {
  if (bytes == 0) return;
  tg_test_must(clEnqueueWriteBuffer(tg_test_queue, (cl_mem)to, CL_TRUE, 0, bytes, from, 0, NULL, NULL),
               "clEnqueueWriteBuffer");
}
//// tg_test_download
static inline const void *tg_test_download(void *from, size_t bytes) {
  void *p = malloc(bytes + 1);
  if (p == NULL) exit(4);
  if (bytes == 0) return p;
  tg_test_must(clEnqueueReadBuffer(tg_test_queue, (cl_mem)from, CL_TRUE, 0, bytes, p, 0, NULL, NULL),
               "clEnqueueReadBuffer");
  return p;
}
//// tg_test_drop
// What tg_test_download gave.
static inline void tg_test_drop(const void *p) { free((void *)(uintptr_t)p); }
//// tg_test_free
static inline void tg_test_free(void *p) { tg_test_must(clReleaseMemObject((cl_mem)p), "clReleaseMemObject"); }
//// tg_test_finish
static inline int tg_test_finish(void) {
  const cl_int error = clFinish(tg_test_queue);
  if (error != CL_SUCCESS) printf("the kernels failed: error %d\n", (int)error);
  return error == CL_SUCCESS;
}
