// Helpers of launchers that hold OpenCL buffers. Plain C; each block is one function.
#include <CL/cl.h>
#include <stdbool.h>
#include <stdint.h>

//// tg_host_short
// Whether a buffer has less than so many bytes.
static inline bool tg_host_short(const void *buffer, uint64_t bytes) {
  size_t held = 0;
  if (bytes == 0) return false;
  return clGetMemObjectInfo((cl_mem)buffer, CL_MEM_SIZE, sizeof held, &held, NULL) != CL_SUCCESS || held < bytes;
}
//// tg_host_place
// The buffer that another is a part of, and where it begins there; the buffer itself where it is no part.
static inline cl_mem tg_host_place(cl_mem buffer, uint64_t *begin) {
  cl_mem whole = NULL;
  size_t offset = 0;
  clGetMemObjectInfo(buffer, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof whole, &whole, NULL);
  clGetMemObjectInfo(buffer, CL_MEM_OFFSET, sizeof offset, &offset, NULL);
  *begin = whole ? offset : 0;
  return whole ? whole : buffer;
}
//// tg_host_overlap
// Whether the beginnings of two buffers share a byte: they are one, or parts of one.
static inline bool tg_host_overlap(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes) {
  uint64_t x = 0, y = 0;
  if (a_bytes == 0 || b_bytes == 0) return false;
  if (tg_host_place((cl_mem)a, &x) != tg_host_place((cl_mem)b, &y)) return false;
  return x < y + b_bytes && y < x + a_bytes;
}
//// tg_host_able
// Whether a device can run the kernels, and a queue keeps their order.
static inline bool tg_host_able(cl_device_id device, cl_command_queue queue, size_t threads, cl_ulong local_bytes,
                                bool f64) {
  cl_command_queue_properties order = 0;
  size_t most_threads = 0;
  cl_ulong most_local = 0;
  cl_device_fp_config doubles = 0;
  if (clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof order, &order, NULL) != CL_SUCCESS) return false;
  clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof most_threads, &most_threads, NULL);
  clGetDeviceInfo(device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof most_local, &most_local, NULL);
  clGetDeviceInfo(device, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof doubles, &doubles, NULL);
  return (order & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0 && threads <= most_threads &&
         local_bytes <= most_local && (!f64 || doubles != 0);
}
//// tg_host_build
// Builds a source. Division and square root are rounded correctly where the device can.
static inline bool tg_host_build(cl_context context, cl_device_id device, const unsigned char *source, size_t bytes,
                                 cl_program *program) {
  const char *text = (const char *)source;
  cl_device_fp_config singles = 0;
  clGetDeviceInfo(device, CL_DEVICE_SINGLE_FP_CONFIG, sizeof singles, &singles, NULL);
  const bool correct = (singles & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
  const char *options = correct ? "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt" : "-cl-std=CL1.2";
  *program = clCreateProgramWithSource(context, 1, &text, &bytes, NULL);
  return *program != NULL && clBuildProgram(*program, 1, &device, options, NULL, NULL) == CL_SUCCESS;
}
//// tg_host_table
// A buffer of constants.
static inline cl_mem tg_host_table(cl_context context, const void *data, size_t bytes) {
  return clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes, (void *)(uintptr_t)data, NULL);
}
