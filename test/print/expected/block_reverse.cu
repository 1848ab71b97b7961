// t for sm_80, printed by tangc 0.
// Options: -t sm_80
// Input: t.tg, SHA-256 0000000000000000000000000000000000000000000000000000000000000000
#include <cuda_runtime.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <cuda_fp16.h>

#ifndef TG_STATUS_DEFINED
#define TG_STATUS_DEFINED
typedef enum {
  TG_OK,
  TG_E_NULL,        // a pointer that is needed is null
  TG_E_DIM,         // a dim out of range, sizes beyond 64 bits, or data not as declared (--checks=full)
  TG_E_ALIGN,       // a pointer is not aligned as its tensor must be
  TG_E_WORKSPACE,   // the workspace is too small
  TG_E_ALIAS,       // an output shares bytes with something else
  TG_E_UNSUPPORTED, // these sizes cannot be run by this code
  TG_E_LAUNCH       // a kernel did not start
} tg_status;
#endif

#ifndef TG_t_TYPES_DEFINED
#define TG_t_TYPES_DEFINED
typedef struct {
  int64_t n; // 64..1048576, a multiple of 64
} t_dims;
typedef struct {
  const void *x; // f16, aligned to 4
  void *y; // f32, aligned to 4
} t_args;
#endif

#ifdef __cplusplus
extern "C" {
#endif
// Bytes of workspace that a call needs, aligned to 16; SIZE_MAX for dims outside their ranges.
size_t t_sm_80_workspace_bytes(const t_dims *dims);
tg_status t_sm_80_run(const t_args *args, const t_dims *dims, void *workspace, size_t bytes,
                      void *stream);
#ifdef __cplusplus
}
#endif

// Whether two byte ranges share a byte.
static inline bool tg_host_overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
  const uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
  return a_bytes != 0 && b_bytes != 0 && x < y + b_bytes && y < x + a_bytes;
}
static inline bool tg_host_misaligned(const void *a, size_t alignment) { return (uintptr_t)a % alignment != 0; }

// y = x reversed in blocks of 64, plus the neighbour
static __global__ void __launch_bounds__(64) t_sm_80_y(const __half *__restrict__ x, float *__restrict__ y) {
  const int32_t block = (int32_t)blockIdx.x;
  const int32_t thread = (int32_t)threadIdx.x;
  __shared__ __align__(16) __half tile[64];
  const int32_t t = block * 64 + thread;
  const float e = __half2float(x[t]);
  tile[thread] = __float2half_rn(e);
  __syncthreads();
  const float r = __half2float(tile[63 - thread]);
  const float s = __shfl_xor_sync(0xffffffffu, r, 1);
  y[t] = r + s;
}

size_t t_sm_80_workspace_bytes(const t_dims *dims) {
  if (!dims) return SIZE_MAX;
  const int64_t n = dims->n;
  if (n < 64 || n > 1048576 || n % 64 != 0) return SIZE_MAX;
  return (size_t)0;
}

tg_status t_sm_80_run(const t_args *args, const t_dims *dims, void *workspace, size_t bytes,
                      void *stream) {
  (void)workspace;
  (void)bytes;
  if (!args || !dims) return TG_E_NULL;
  const int64_t n = dims->n;
  if (n < 64 || n > 1048576 || n % 64 != 0) return TG_E_DIM;
  const void *const pointers[] = {args->x, args->y};
  const uint64_t sizes[] = {(uint64_t)(n * 2), (uint64_t)(n * 4)};
  static const uint16_t alignments[] = {4, 4};
  static const bool written[] = {false, true};
  for (int i = 0; i < 2; ++i) {
    if (sizes[i] != 0 && !pointers[i]) return TG_E_NULL;
    if (tg_host_misaligned(pointers[i], alignments[i])) return TG_E_ALIGN;
  }
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      if (i != j && written[i] && tg_host_overlap(pointers[i], sizes[i], pointers[j], sizes[j])) return TG_E_ALIAS;
    }
  }
  // y
  {
    const int64_t blocks = n / 64;
    if (blocks > 0) {
      cudaLaunchConfig_t config = {};
      config.gridDim = dim3((unsigned)blocks);
      config.blockDim = dim3(64);
      config.stream = (cudaStream_t)stream;
      if (cudaLaunchKernelEx(&config, t_sm_80_y, (const __half *)args->x, (float *)args->y) != cudaSuccess) return TG_E_LAUNCH;
    }
  }
  return TG_OK;
}
