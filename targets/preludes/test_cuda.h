// The device of test programs: buffers there, copies from and to the host. Each block is one function.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//// tg_test_must
static inline void tg_test_must(cudaError_t error, const char *what) {
  if (error == cudaSuccess) return;
  printf("%s: %s\n", what, cudaGetErrorString(error));
  exit(1);
}
//// tg_test_open
static inline int tg_test_open(void) {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}
//// tg_test_alloc
// Bytes that are all NaN to whoever reads them unwritten.
static inline void *tg_test_alloc(size_t bytes) {
  void *p = NULL;
  tg_test_must(cudaMalloc(&p, bytes + 256), "cudaMalloc");
  tg_test_must(cudaMemset(p, 0xFF, bytes + 256), "cudaMemset");
  return p;
}
//// tg_test_upload
static inline void tg_test_upload(void *to, const void *from, size_t bytes) {
  tg_test_must(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
}
//// tg_test_download
static inline const void *tg_test_download(const void *from, size_t bytes) {
  void *p = malloc(bytes + 1);
  if (p == NULL) exit(4);
  tg_test_must(cudaMemcpy(p, from, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
  return p;
}
//// tg_test_drop
// What tg_test_download gave.
static inline void tg_test_drop(const void *p) { free((void *)p); }
//// tg_test_free
static inline void tg_test_free(void *p) { tg_test_must(cudaFree(p), "cudaFree"); }
//// tg_test_finish
static inline int tg_test_finish(void) {
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) printf("the kernels failed: %s\n", cudaGetErrorString(error));
  return error == cudaSuccess;
}
