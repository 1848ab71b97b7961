// matmul for sm_80, printed by tangc 0.1.0.
// Options: -O2
// Input: matmul.tg, SHA-256 50678244ae1db9e674033e0b18dcb4ddd1611ab934f51be9bb0978a44825a51e
#include <cuda_runtime.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <cuda_bf16.h>

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

#ifndef TG_matmul_TYPES_DEFINED
#define TG_matmul_TYPES_DEFINED
typedef struct {
  int64_t M; // 0..65536
  int64_t N; // 0..65536
  int64_t K; // 0..65536
} matmul_dims;
typedef struct {
  const void *a; // bf16[M, K], aligned to 16
  const void *b; // bf16[K, N], aligned to 16
  void *c; // bf16[M, N], aligned to 16
} matmul_args;
#endif

#ifdef __cplusplus
extern "C" {
#endif
// Bytes of workspace that a call needs, aligned to 16; SIZE_MAX for dims outside their ranges.
size_t matmul_sm_80_workspace_bytes(const matmul_dims *dims);
tg_status matmul_sm_80_run(const matmul_args *args, const matmul_dims *dims, void *workspace, size_t bytes,
                           void *stream);
#ifdef __cplusplus
}
#endif

static __device__ __forceinline__ int32_t tg_min_i32(int32_t a, int32_t b) { return a < b ? a : b; }
static __device__ __forceinline__ int64_t tg_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
// For a >= 0 and b > 0, in the fewest instructions.
static __device__ __forceinline__ int32_t tg_unsigned_div_i32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a / (uint32_t)b); }
// For a >= 0 and b > 0, in the fewest instructions.
static __device__ __forceinline__ int64_t tg_unsigned_div_i64(int64_t a, int64_t b) { return (int64_t)((uint64_t)a / (uint64_t)b); }
// For a >= 0 and b > 0, in the fewest instructions.
static __device__ __forceinline__ int32_t tg_unsigned_mod_i32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a % (uint32_t)b); }
// For a >= 0 and b > 0, in the fewest instructions.
static __device__ __forceinline__ int64_t tg_unsigned_mod_i64(int64_t a, int64_t b) { return (int64_t)((uint64_t)a % (uint64_t)b); }
// Whether two byte ranges share a byte.
static inline bool tg_host_overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
  const uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
  return a_bytes != 0 && b_bytes != 0 && x < y + b_bytes && y < x + a_bytes;
}
static inline bool tg_host_misaligned(const void *a, size_t alignment) { return (uintptr_t)a % alignment != 0; }

static __device__ __forceinline__ void tg_cp_async_cg_16_b16(void *dst, const void *src, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :  : "r"((uint32_t)__cvta_generic_to_shared(dst)), "l"(src), "r"(bytes) : "memory");
}
static __device__ __forceinline__ void tg_cp_async_commit_group() {
  asm volatile("cp.async.commit_group;" :  :  : "memory");
}
static __device__ __forceinline__ void tg_cp_async_wait_group_1() {
  asm volatile("cp.async.wait_group 1;" :  :  : "memory");
}
static __device__ __forceinline__ void tg_cp_async_wait_group_2() {
  asm volatile("cp.async.wait_group 2;" :  :  : "memory");
}
static __device__ __forceinline__ void tg_ldmatrix_x4(uint32_t *dst, const void *src) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(dst[0]), "=r"(dst[1]), "=r"(dst[2]), "=r"(dst[3]) : "r"((uint32_t)__cvta_generic_to_shared(src)) : "memory");
}
static __device__ __forceinline__ void tg_ldmatrix_x4_trans(uint32_t *dst, const void *src) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(dst[0]), "=r"(dst[1]), "=r"(dst[2]), "=r"(dst[3]) : "r"((uint32_t)__cvta_generic_to_shared(src)) : "memory");
}
static __device__ __forceinline__ void tg_mma_m16n8k16_f32_bf16(float *D, const uint32_t *A, const uint32_t *B) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" : "+f"(D[0]), "+f"(D[1]), "+f"(D[2]), "+f"(D[3]) : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B[0]), "r"(B[1]));
}

// c[i: M, j: N] = sum[k: K] a[i, k] * b[k, j]
// schedule: tile {threads: 128, vector: 8, block_m: 64, block_n: 128, block_k: 64, precision: bf16, warp_m: 32, warp_n: 64, pipeline: 4, stage: true}
// read: 2*M*K*min(N, 1) + 2*N*K*min(M, 1) bytes at least; written: 2*M*N bytes at least
// floor on a100-80gb in us: max(dram (read + max(written - 41943040, 0)) / 2039040 + 0.14*min(read, 1),
//    l2 (read + written) / 14438400, bf16_mma 2*M*N*K / 311869440, launch 0.4)
// floor at M = 1024, N = 1024, K = 1024: 6.885841 us, bound by bf16_mma
static __global__ void __launch_bounds__(128) matmul_sm_80_c(const __nv_bfloat16 *__restrict__ a, const __nv_bfloat16 *__restrict__ b, __nv_bfloat16 *__restrict__ c, int32_t M, int32_t N, int32_t K) {
  const int32_t block_number = (int32_t)blockIdx.x;
  const int32_t thread_number = (int32_t)threadIdx.x;
  extern __shared__ __align__(128) unsigned char shared[];
  __nv_bfloat16 *const m_tile = (__nv_bfloat16 *)(shared + 0);
  __nv_bfloat16 *const n_tile = (__nv_bfloat16 *)(shared + 36864);
  const int32_t bn_extent = (N + 127) / 128;
  const int32_t bn = tg_unsigned_mod_i32(block_number, bn_extent);
  const int32_t group = tg_unsigned_div_i32(block_number, bn_extent);
  const int32_t lane = thread_number % 4;
  const int32_t lane_1 = thread_number / 4 % 8;
  const int32_t warp_m = thread_number / 32 % 2;
  const int32_t warp_n = thread_number / 64;
  const int32_t lane_2 = lane_1 * 4 + lane;
  const int32_t thread = warp_n * 64 + warp_m * 32 + lane_2;
  uint32_t m_frag[16];
  uint32_t n_frag[32];
  float acc[64];
  #pragma unroll
  for (int32_t i = 0; i < 2; ++i) {
    #pragma unroll
    for (int32_t j = 0; j < 8; ++j) {
      #pragma unroll
      for (int32_t e = 0; e < 4; ++e) {
        acc[i * 32 + j * 4 + e] = 0.0f;
      }
    }
  }
  const bool t = 0 < M && 0 < N;
  if (0 < K && t) {
    const int32_t t_1 = thread % 8;
    const int32_t chunk = t_1;
    const int32_t t_2 = thread / 8;
    const int32_t row = t_2;
    #pragma unroll
    for (int32_t s = 0; s < 4; ++s) {
      const int32_t line = group * 64 + s * 16 + row;
      const int32_t t_3 = K / 8;
      tg_cp_async_cg_16_b16(m_tile + s * 1152 + row * 72 + chunk * 8, a + K * line + chunk * 8, line < M && chunk < t_3 ? 16 : 0);
    }
    const int32_t t_3 = thread % 16;
    const int32_t chunk_1 = t_3;
    const int32_t t_4 = thread / 16;
    const int32_t row_1 = t_4;
    const int32_t unit = bn * 16 + chunk_1;
    #pragma unroll
    for (int32_t s = 0; s < 8; ++s) {
      const int32_t line = s * 8 + row_1;
      const int32_t t_5 = N / 8;
      tg_cp_async_cg_16_b16(n_tile + s * 1088 + row_1 * 136 + chunk_1 * 8, b + N * line + unit * 8, line < K && unit < t_5 ? 16 : 0);
    }
  }
  tg_cp_async_commit_group();
  if (64 < K && t) {
    const int32_t t_1 = thread % 8;
    const int32_t chunk = t_1;
    const int32_t t_2 = thread / 8;
    const int32_t row = t_2;
    const int32_t unit = chunk + 8;
    #pragma unroll
    for (int32_t s = 0; s < 4; ++s) {
      const int32_t line = group * 64 + s * 16 + row;
      const int32_t t_3 = K / 8;
      tg_cp_async_cg_16_b16(m_tile + s * 1152 + row * 72 + chunk * 8 + 4608, a + K * line + unit * 8, line < M && unit < t_3 ? 16 : 0);
    }
    const int32_t t_3 = thread % 16;
    const int32_t chunk_1 = t_3;
    const int32_t t_4 = thread / 16;
    const int32_t row_1 = t_4;
    const int32_t unit_1 = bn * 16 + chunk_1;
    #pragma unroll
    for (int32_t s = 0; s < 8; ++s) {
      const int32_t line = s * 8 + row_1 + 64;
      const int32_t t_5 = N / 8;
      tg_cp_async_cg_16_b16(n_tile + s * 1088 + row_1 * 136 + chunk_1 * 8 + 8704, b + N * line + unit_1 * 8, line < K && unit_1 < t_5 ? 16 : 0);
    }
  }
  tg_cp_async_commit_group();
  if (128 < K && t) {
    const int32_t t_1 = thread % 8;
    const int32_t chunk = t_1;
    const int32_t t_2 = thread / 8;
    const int32_t row = t_2;
    const int32_t unit = chunk + 16;
    #pragma unroll
    for (int32_t s = 0; s < 4; ++s) {
      const int32_t line = group * 64 + s * 16 + row;
      const int32_t t_3 = K / 8;
      tg_cp_async_cg_16_b16(m_tile + s * 1152 + row * 72 + chunk * 8 + 9216, a + K * line + unit * 8, line < M && unit < t_3 ? 16 : 0);
    }
    const int32_t t_3 = thread % 16;
    const int32_t chunk_1 = t_3;
    const int32_t t_4 = thread / 16;
    const int32_t row_1 = t_4;
    const int32_t unit_1 = bn * 16 + chunk_1;
    #pragma unroll
    for (int32_t s = 0; s < 8; ++s) {
      const int32_t line = s * 8 + row_1 + 128;
      const int32_t t_5 = N / 8;
      tg_cp_async_cg_16_b16(n_tile + s * 1088 + row_1 * 136 + chunk_1 * 8 + 17408, b + N * line + unit_1 * 8, line < K && unit_1 < t_5 ? 16 : 0);
    }
  }
  tg_cp_async_commit_group();
  tg_cp_async_wait_group_2();
  __syncthreads();
  const int32_t t_1 = lane_2 / 16 * 8;
  const int32_t lane_k = t_1;
  const int32_t t_2 = lane_2 % 16;
  const int32_t lane_m = t_2;
  #pragma unroll
  for (int32_t i = 0; i < 2; ++i) {
    tg_ldmatrix_x4(m_frag + (i * 8) / 2, m_tile + warp_m * 2304 + i * 1152 + lane_m * 72 + lane_k);
  }
  const int32_t lane_k_1 = t_2;
  const int32_t lane_n = t_1;
  #pragma unroll
  for (int32_t i = 0; i < 4; ++i) {
    tg_ldmatrix_x4_trans(n_frag + (i * 8) / 2, n_tile + lane_k_1 * 136 + warp_n * 64 + i * 16 + lane_n);
  }
  for (int32_t k = 0; k < (K + 63) / 64; ++k) {
    const int32_t slot = k % 4;
    const int32_t next = (k + 1) % 4;
    const int32_t lane_k_2 = t_1;
    const int32_t lane_m_1 = t_2;
    #pragma unroll
    for (int32_t i = 0; i < 2; ++i) {
      const int32_t t_3 = slot * 4608 + warp_m * 2304;
      tg_ldmatrix_x4(m_frag + (i * 8 + 16) / 2, m_tile + t_3 + i * 1152 + lane_m_1 * 72 + lane_k_2 + 16);
    }
    const int32_t lane_k_3 = t_2;
    const int32_t lane_n_1 = t_1;
    #pragma unroll
    for (int32_t i = 0; i < 4; ++i) {
      tg_ldmatrix_x4_trans(n_frag + (i * 8 + 32) / 2, n_tile + slot * 8704 + lane_k_3 * 136 + warp_n * 64 + i * 16 + lane_n_1 + 2176);
    }
    const int32_t filled = (k + 3) % 4;
    if (k * 64 + 192 < K && t) {
      const int32_t t_3 = thread % 8;
      const int32_t chunk = t_3;
      const int32_t t_4 = thread / 8;
      const int32_t row = t_4;
      const int32_t unit = k * 8 + chunk + 24;
      #pragma unroll
      for (int32_t s = 0; s < 4; ++s) {
        const int32_t line = group * 64 + s * 16 + row;
        const int32_t t_5 = K / 8;
        tg_cp_async_cg_16_b16(m_tile + filled * 4608 + s * 1152 + row * 72 + chunk * 8, a + K * line + unit * 8, line < M && unit < t_5 ? 16 : 0);
      }
      const int32_t t_5 = thread % 16;
      const int32_t chunk_1 = t_5;
      const int32_t t_6 = thread / 16;
      const int32_t row_1 = t_6;
      const int32_t unit_1 = bn * 16 + chunk_1;
      #pragma unroll
      for (int32_t s = 0; s < 8; ++s) {
        const int32_t line = k * 64 + s * 8 + row_1 + 192;
        const int32_t t_7 = N / 8;
        tg_cp_async_cg_16_b16(n_tile + filled * 8704 + s * 1088 + row_1 * 136 + chunk_1 * 8, b + N * line + unit_1 * 8, line < K && unit_1 < t_7 ? 16 : 0);
      }
    }
    tg_cp_async_commit_group();
    #pragma unroll
    for (int32_t i = 0; i < 2; ++i) {
      #pragma unroll
      for (int32_t j = 0; j < 8; ++j) {
        tg_mma_m16n8k16_f32_bf16(acc + i * 32 + j * 4, m_frag + (i * 8) / 2, n_frag + (j * 4) / 2);
      }
    }
    const int32_t lane_k_4 = t_1;
    const int32_t lane_m_2 = t_2;
    #pragma unroll
    for (int32_t i = 0; i < 2; ++i) {
      const int32_t t_3 = slot * 4608 + warp_m * 2304;
      tg_ldmatrix_x4(m_frag + (i * 8) / 2, m_tile + t_3 + i * 1152 + lane_m_2 * 72 + lane_k_4 + 32);
    }
    const int32_t lane_k_5 = t_2;
    const int32_t lane_n_2 = t_1;
    #pragma unroll
    for (int32_t i = 0; i < 4; ++i) {
      tg_ldmatrix_x4_trans(n_frag + (i * 8) / 2, n_tile + slot * 8704 + lane_k_5 * 136 + warp_n * 64 + i * 16 + lane_n_2 + 4352);
    }
    #pragma unroll
    for (int32_t i = 0; i < 2; ++i) {
      #pragma unroll
      for (int32_t j = 0; j < 8; ++j) {
        tg_mma_m16n8k16_f32_bf16(acc + i * 32 + j * 4, m_frag + (i * 8 + 16) / 2, n_frag + (j * 4 + 32) / 2);
      }
    }
    const int32_t lane_k_6 = t_1;
    const int32_t lane_m_3 = t_2;
    #pragma unroll
    for (int32_t i = 0; i < 2; ++i) {
      const int32_t t_3 = slot * 4608 + warp_m * 2304;
      tg_ldmatrix_x4(m_frag + (i * 8 + 16) / 2, m_tile + t_3 + i * 1152 + lane_m_3 * 72 + lane_k_6 + 48);
    }
    const int32_t lane_k_7 = t_2;
    const int32_t lane_n_3 = t_1;
    #pragma unroll
    for (int32_t i = 0; i < 4; ++i) {
      tg_ldmatrix_x4_trans(n_frag + (i * 8 + 32) / 2, n_tile + slot * 8704 + lane_k_7 * 136 + warp_n * 64 + i * 16 + lane_n_3 + 6528);
    }
    #pragma unroll
    for (int32_t i = 0; i < 2; ++i) {
      #pragma unroll
      for (int32_t j = 0; j < 8; ++j) {
        tg_mma_m16n8k16_f32_bf16(acc + i * 32 + j * 4, m_frag + (i * 8) / 2, n_frag + (j * 4) / 2);
      }
    }
    tg_cp_async_wait_group_2();
    __syncthreads();
    const int32_t lane_k_8 = t_1;
    const int32_t lane_m_4 = t_2;
    #pragma unroll
    for (int32_t i = 0; i < 2; ++i) {
      tg_ldmatrix_x4(m_frag + (i * 8) / 2, m_tile + next * 4608 + warp_m * 2304 + i * 1152 + lane_m_4 * 72 + lane_k_8);
    }
    const int32_t lane_k_9 = t_2;
    const int32_t lane_n_4 = t_1;
    #pragma unroll
    for (int32_t i = 0; i < 4; ++i) {
      tg_ldmatrix_x4_trans(n_frag + (i * 8) / 2, n_tile + next * 8704 + lane_k_9 * 136 + warp_n * 64 + i * 16 + lane_n_4);
    }
    #pragma unroll
    for (int32_t i = 0; i < 2; ++i) {
      #pragma unroll
      for (int32_t j = 0; j < 8; ++j) {
        tg_mma_m16n8k16_f32_bf16(acc + i * 32 + j * 4, m_frag + (i * 8 + 16) / 2, n_frag + (j * 4 + 32) / 2);
      }
    }
  }
  #pragma unroll
  for (int32_t i = 0; i < 2; ++i) {
    #pragma unroll
    for (int32_t h = 0; h < 2; ++h) {
      const int32_t m = group * 64 + warp_m * 32 + i * 16 + h * 8 + lane_1;
      if (m < M) {
        #pragma unroll
        for (int32_t j = 0; j < 8; ++j) {
          const int32_t n = bn * 64 + warp_n * 32 + j * 4 + lane;
          if (n < N / 2) {
            float c_o[2];
            #pragma unroll
            for (int32_t e = 0; e < 2; ++e) {
              c_o[e] = acc[i * 32 + j * 4 + h * 2 + e];
            }
            {
              __align__(4) __nv_bfloat16 part[2];
              #pragma unroll
              for (int lane_3 = 0; lane_3 < 2; ++lane_3) part[lane_3] = __float2bfloat16_rn(c_o[lane_3]);
              *(uint32_t *)(c + N * m + n * 2) = *(const uint32_t *)part;
            }
          }
        }
      }
    }
  }
}

// c[i: M, j: N] = sum[k: K] a[i, k] * b[k, j]
// schedule: tile {threads: 128, vector: 8, block_m: 64, block_n: 128, block_k: 64, precision: bf16, warp_m: 32, warp_n: 64, pipeline: 4, stage: true}
// read: 2*M*K*min(N, 1) + 2*N*K*min(M, 1) bytes at least; written: 2*M*N bytes at least
// floor on a100-80gb in us: max(dram (read + max(written - 41943040, 0)) / 2039040 + 0.14*min(read, 1),
//    l2 (read + written) / 14438400, bf16_mma 2*M*N*K / 311869440, launch 0.4)
// floor at M = 1024, N = 1024, K = 1024: 6.885841 us, bound by bf16_mma
static __global__ void __launch_bounds__(128) matmul_sm_80_c_wide(const __nv_bfloat16 *__restrict__ a, const __nv_bfloat16 *__restrict__ b, __nv_bfloat16 *__restrict__ c, int64_t M, int64_t N, int64_t K) {
  const int64_t block_number = (int64_t)blockIdx.x;
  const int64_t thread_number = (int64_t)threadIdx.x;
  extern __shared__ __align__(128) unsigned char shared[];
  __nv_bfloat16 *const m_tile = (__nv_bfloat16 *)(shared + 0);
  __nv_bfloat16 *const n_tile = (__nv_bfloat16 *)(shared + 36864);
  const int64_t bn_extent = (N + 127) / 128;
  const int64_t bn = tg_unsigned_mod_i64(block_number, bn_extent);
  const int64_t group = tg_unsigned_div_i64(block_number, bn_extent);
  const int64_t lane = thread_number % 4;
  const int64_t lane_1 = thread_number / 4 % 8;
  const int64_t warp_m = thread_number / 32 % 2;
  const int64_t warp_n = thread_number / 64;
  const int64_t lane_2 = lane_1 * 4 + lane;
  const int64_t thread = warp_n * 64 + warp_m * 32 + lane_2;
  uint32_t m_frag[16];
  uint32_t n_frag[32];
  float acc[64];
  #pragma unroll
  for (int64_t i = 0; i < 2; ++i) {
    #pragma unroll
    for (int64_t j = 0; j < 8; ++j) {
      #pragma unroll
      for (int64_t e = 0; e < 4; ++e) {
        acc[i * 32 + j * 4 + e] = 0.0f;
      }
    }
  }
  const bool t = 0 < M && 0 < N;
  if (0 < K && t) {
    const int64_t t_1 = thread % 8;
    const int64_t chunk = t_1;
    const int64_t t_2 = thread / 8;
    const int64_t row = t_2;
    #pragma unroll
    for (int64_t s = 0; s < 4; ++s) {
      const int64_t line = group * 64 + s * 16 + row;
      const int64_t t_3 = K / 8;
      tg_cp_async_cg_16_b16(m_tile + s * 1152 + row * 72 + chunk * 8, a + K * line + chunk * 8, line < M && chunk < t_3 ? 16 : 0);
    }
    const int64_t t_3 = thread % 16;
    const int64_t chunk_1 = t_3;
    const int64_t t_4 = thread / 16;
    const int64_t row_1 = t_4;
    const int64_t unit = bn * 16 + chunk_1;
    #pragma unroll
    for (int64_t s = 0; s < 8; ++s) {
      const int64_t line = s * 8 + row_1;
      const int64_t t_5 = N / 8;
      tg_cp_async_cg_16_b16(n_tile + s * 1088 + row_1 * 136 + chunk_1 * 8, b + N * line + unit * 8, line < K && unit < t_5 ? 16 : 0);
    }
  }
  tg_cp_async_commit_group();
  if (64 < K && t) {
    const int64_t t_1 = thread % 8;
    const int64_t chunk = t_1;
    const int64_t t_2 = thread / 8;
    const int64_t row = t_2;
    const int64_t unit = chunk + 8;
    #pragma unroll
    for (int64_t s = 0; s < 4; ++s) {
      const int64_t line = group * 64 + s * 16 + row;
      const int64_t t_3 = K / 8;
      tg_cp_async_cg_16_b16(m_tile + s * 1152 + row * 72 + chunk * 8 + 4608, a + K * line + unit * 8, line < M && unit < t_3 ? 16 : 0);
    }
    const int64_t t_3 = thread % 16;
    const int64_t chunk_1 = t_3;
    const int64_t t_4 = thread / 16;
    const int64_t row_1 = t_4;
    const int64_t unit_1 = bn * 16 + chunk_1;
    #pragma unroll
    for (int64_t s = 0; s < 8; ++s) {
      const int64_t line = s * 8 + row_1 + 64;
      const int64_t t_5 = N / 8;
      tg_cp_async_cg_16_b16(n_tile + s * 1088 + row_1 * 136 + chunk_1 * 8 + 8704, b + N * line + unit_1 * 8, line < K && unit_1 < t_5 ? 16 : 0);
    }
  }
  tg_cp_async_commit_group();
  if (128 < K && t) {
    const int64_t t_1 = thread % 8;
    const int64_t chunk = t_1;
    const int64_t t_2 = thread / 8;
    const int64_t row = t_2;
    const int64_t unit = chunk + 16;
    #pragma unroll
    for (int64_t s = 0; s < 4; ++s) {
      const int64_t line = group * 64 + s * 16 + row;
      const int64_t t_3 = K / 8;
      tg_cp_async_cg_16_b16(m_tile + s * 1152 + row * 72 + chunk * 8 + 9216, a + K * line + unit * 8, line < M && unit < t_3 ? 16 : 0);
    }
    const int64_t t_3 = thread % 16;
    const int64_t chunk_1 = t_3;
    const int64_t t_4 = thread / 16;
    const int64_t row_1 = t_4;
    const int64_t unit_1 = bn * 16 + chunk_1;
    #pragma unroll
    for (int64_t s = 0; s < 8; ++s) {
      const int64_t line = s * 8 + row_1 + 128;
      const int64_t t_5 = N / 8;
      tg_cp_async_cg_16_b16(n_tile + s * 1088 + row_1 * 136 + chunk_1 * 8 + 17408, b + N * line + unit_1 * 8, line < K && unit_1 < t_5 ? 16 : 0);
    }
  }
  tg_cp_async_commit_group();
  tg_cp_async_wait_group_2();
  __syncthreads();
  const int64_t t_1 = lane_2 / 16 * 8;
  const int64_t lane_k = t_1;
  const int64_t t_2 = lane_2 % 16;
  const int64_t lane_m = t_2;
  #pragma unroll
  for (int64_t i = 0; i < 2; ++i) {
    tg_ldmatrix_x4(m_frag + (i * 8) / 2, m_tile + warp_m * 2304 + i * 1152 + lane_m * 72 + lane_k);
  }
  const int64_t lane_k_1 = t_2;
  const int64_t lane_n = t_1;
  #pragma unroll
  for (int64_t i = 0; i < 4; ++i) {
    tg_ldmatrix_x4_trans(n_frag + (i * 8) / 2, n_tile + lane_k_1 * 136 + warp_n * 64 + i * 16 + lane_n);
  }
  for (int64_t k = 0; k < (K + 63) / 64; ++k) {
    const int64_t slot = k % 4;
    const int64_t next = (k + 1) % 4;
    const int64_t lane_k_2 = t_1;
    const int64_t lane_m_1 = t_2;
    #pragma unroll
    for (int64_t i = 0; i < 2; ++i) {
      const int64_t t_3 = slot * 4608 + warp_m * 2304;
      tg_ldmatrix_x4(m_frag + (i * 8 + 16) / 2, m_tile + t_3 + i * 1152 + lane_m_1 * 72 + lane_k_2 + 16);
    }
    const int64_t lane_k_3 = t_2;
    const int64_t lane_n_1 = t_1;
    #pragma unroll
    for (int64_t i = 0; i < 4; ++i) {
      tg_ldmatrix_x4_trans(n_frag + (i * 8 + 32) / 2, n_tile + slot * 8704 + lane_k_3 * 136 + warp_n * 64 + i * 16 + lane_n_1 + 2176);
    }
    const int64_t filled = (k + 3) % 4;
    if (k * 64 + 192 < K && t) {
      const int64_t t_3 = thread % 8;
      const int64_t chunk = t_3;
      const int64_t t_4 = thread / 8;
      const int64_t row = t_4;
      const int64_t unit = k * 8 + chunk + 24;
      #pragma unroll
      for (int64_t s = 0; s < 4; ++s) {
        const int64_t line = group * 64 + s * 16 + row;
        const int64_t t_5 = K / 8;
        tg_cp_async_cg_16_b16(m_tile + filled * 4608 + s * 1152 + row * 72 + chunk * 8, a + K * line + unit * 8, line < M && unit < t_5 ? 16 : 0);
      }
      const int64_t t_5 = thread % 16;
      const int64_t chunk_1 = t_5;
      const int64_t t_6 = thread / 16;
      const int64_t row_1 = t_6;
      const int64_t unit_1 = bn * 16 + chunk_1;
      #pragma unroll
      for (int64_t s = 0; s < 8; ++s) {
        const int64_t line = k * 64 + s * 8 + row_1 + 192;
        const int64_t t_7 = N / 8;
        tg_cp_async_cg_16_b16(n_tile + filled * 8704 + s * 1088 + row_1 * 136 + chunk_1 * 8, b + N * line + unit_1 * 8, line < K && unit_1 < t_7 ? 16 : 0);
      }
    }
    tg_cp_async_commit_group();
    #pragma unroll
    for (int64_t i = 0; i < 2; ++i) {
      #pragma unroll
      for (int64_t j = 0; j < 8; ++j) {
        tg_mma_m16n8k16_f32_bf16(acc + i * 32 + j * 4, m_frag + (i * 8) / 2, n_frag + (j * 4) / 2);
      }
    }
    const int64_t lane_k_4 = t_1;
    const int64_t lane_m_2 = t_2;
    #pragma unroll
    for (int64_t i = 0; i < 2; ++i) {
      const int64_t t_3 = slot * 4608 + warp_m * 2304;
      tg_ldmatrix_x4(m_frag + (i * 8) / 2, m_tile + t_3 + i * 1152 + lane_m_2 * 72 + lane_k_4 + 32);
    }
    const int64_t lane_k_5 = t_2;
    const int64_t lane_n_2 = t_1;
    #pragma unroll
    for (int64_t i = 0; i < 4; ++i) {
      tg_ldmatrix_x4_trans(n_frag + (i * 8) / 2, n_tile + slot * 8704 + lane_k_5 * 136 + warp_n * 64 + i * 16 + lane_n_2 + 4352);
    }
    #pragma unroll
    for (int64_t i = 0; i < 2; ++i) {
      #pragma unroll
      for (int64_t j = 0; j < 8; ++j) {
        tg_mma_m16n8k16_f32_bf16(acc + i * 32 + j * 4, m_frag + (i * 8 + 16) / 2, n_frag + (j * 4 + 32) / 2);
      }
    }
    const int64_t lane_k_6 = t_1;
    const int64_t lane_m_3 = t_2;
    #pragma unroll
    for (int64_t i = 0; i < 2; ++i) {
      const int64_t t_3 = slot * 4608 + warp_m * 2304;
      tg_ldmatrix_x4(m_frag + (i * 8 + 16) / 2, m_tile + t_3 + i * 1152 + lane_m_3 * 72 + lane_k_6 + 48);
    }
    const int64_t lane_k_7 = t_2;
    const int64_t lane_n_3 = t_1;
    #pragma unroll
    for (int64_t i = 0; i < 4; ++i) {
      tg_ldmatrix_x4_trans(n_frag + (i * 8 + 32) / 2, n_tile + slot * 8704 + lane_k_7 * 136 + warp_n * 64 + i * 16 + lane_n_3 + 6528);
    }
    #pragma unroll
    for (int64_t i = 0; i < 2; ++i) {
      #pragma unroll
      for (int64_t j = 0; j < 8; ++j) {
        tg_mma_m16n8k16_f32_bf16(acc + i * 32 + j * 4, m_frag + (i * 8) / 2, n_frag + (j * 4) / 2);
      }
    }
    tg_cp_async_wait_group_2();
    __syncthreads();
    const int64_t lane_k_8 = t_1;
    const int64_t lane_m_4 = t_2;
    #pragma unroll
    for (int64_t i = 0; i < 2; ++i) {
      tg_ldmatrix_x4(m_frag + (i * 8) / 2, m_tile + next * 4608 + warp_m * 2304 + i * 1152 + lane_m_4 * 72 + lane_k_8);
    }
    const int64_t lane_k_9 = t_2;
    const int64_t lane_n_4 = t_1;
    #pragma unroll
    for (int64_t i = 0; i < 4; ++i) {
      tg_ldmatrix_x4_trans(n_frag + (i * 8) / 2, n_tile + next * 8704 + lane_k_9 * 136 + warp_n * 64 + i * 16 + lane_n_4);
    }
    #pragma unroll
    for (int64_t i = 0; i < 2; ++i) {
      #pragma unroll
      for (int64_t j = 0; j < 8; ++j) {
        tg_mma_m16n8k16_f32_bf16(acc + i * 32 + j * 4, m_frag + (i * 8 + 16) / 2, n_frag + (j * 4 + 32) / 2);
      }
    }
  }
  #pragma unroll
  for (int64_t i = 0; i < 2; ++i) {
    #pragma unroll
    for (int64_t h = 0; h < 2; ++h) {
      const int64_t m = group * 64 + warp_m * 32 + i * 16 + h * 8 + lane_1;
      if (m < M) {
        #pragma unroll
        for (int64_t j = 0; j < 8; ++j) {
          const int64_t n = bn * 64 + warp_n * 32 + j * 4 + lane;
          if (n < N / 2) {
            float c_o[2];
            #pragma unroll
            for (int64_t e = 0; e < 2; ++e) {
              c_o[e] = acc[i * 32 + j * 4 + h * 2 + e];
            }
            {
              __align__(4) __nv_bfloat16 part[2];
              #pragma unroll
              for (int lane_3 = 0; lane_3 < 2; ++lane_3) part[lane_3] = __float2bfloat16_rn(c_o[lane_3]);
              *(uint32_t *)(c + N * m + n * 2) = *(const uint32_t *)part;
            }
          }
        }
      }
    }
  }
}

// c[i: M, j: N] = sum[k: K] a[i, k] * b[k, j]
// schedule: tile {threads: 256, vector: 8, block_m: 256, block_n: 128, block_k: 64, precision: bf16, warp_m: 64, warp_n: 64, raster: 8, pipeline: 3, stage: true}
// read: 2*M*K*min(N, 1) + 2*N*K*min(M, 1) bytes at least; written: 2*M*N bytes at least
// floor on a100-80gb in us: max(dram (read + max(written - 41943040, 0)) / 2039040 + 0.14*min(read, 1),
//    l2 (read + written) / 14438400, bf16_mma 2*M*N*K / 311869440, launch 0.4)
// floor at M = 1024, N = 1024, K = 1024: 6.885841 us, bound by bf16_mma
static __global__ void __launch_bounds__(256) matmul_sm_80_c_3(const __nv_bfloat16 *__restrict__ a, const __nv_bfloat16 *__restrict__ b, __nv_bfloat16 *__restrict__ c, int32_t M, int32_t N, int32_t K) {
  const int32_t block_number = (int32_t)blockIdx.x;
  const int32_t thread_number = (int32_t)threadIdx.x;
  extern __shared__ __align__(128) unsigned char shared[];
  __nv_bfloat16 *const m_tile = (__nv_bfloat16 *)(shared + 0);
  __nv_bfloat16 *const n_tile = (__nv_bfloat16 *)(shared + 110592);
  const int32_t bm = block_number % 8;
  const int32_t bn_extent = (N + 127) / 128;
  const int32_t t = block_number / 8;
  const int32_t bn = tg_unsigned_mod_i32(t, bn_extent);
  const int32_t group = tg_unsigned_div_i32(t, bn_extent);
  const int32_t lane = thread_number % 4;
  const int32_t lane_1 = thread_number / 4 % 8;
  const int32_t warp_m = thread_number / 32 % 4;
  const int32_t warp_n = thread_number / 128;
  const int32_t lane_2 = lane_1 * 4 + lane;
  const int32_t thread = warp_n * 128 + warp_m * 32 + lane_2;
  const int32_t t_1 = group * 2048 + bm * 256;
  if (t_1 < M) {
    uint32_t m_frag[32];
    uint32_t n_frag[32];
    float acc[128];
    #pragma unroll
    for (int32_t i = 0; i < 4; ++i) {
      #pragma unroll
      for (int32_t j = 0; j < 8; ++j) {
        #pragma unroll
        for (int32_t e = 0; e < 4; ++e) {
          acc[i * 32 + j * 4 + e] = 0.0f;
        }
      }
    }
    const bool t_2 = 0 < M && 0 < N;
    if (0 < K && t_2) {
      const int32_t t_3 = thread % 8;
      const int32_t chunk = t_3;
      const int32_t t_4 = thread / 8;
      const int32_t row = t_4;
      #pragma unroll
      for (int32_t s = 0; s < 8; ++s) {
        const int32_t line = t_1 + s * 32 + row;
        const int32_t t_5 = K / 8;
        tg_cp_async_cg_16_b16(m_tile + s * 2304 + row * 72 + chunk * 8, a + K * line + chunk * 8, line < M && chunk < t_5 ? 16 : 0);
      }
      const int32_t t_5 = thread % 16;
      const int32_t chunk_1 = t_5;
      const int32_t t_6 = thread / 16;
      const int32_t row_1 = t_6;
      const int32_t unit = bn * 16 + chunk_1;
      #pragma unroll
      for (int32_t s = 0; s < 4; ++s) {
        const int32_t line = s * 16 + row_1;
        const int32_t t_7 = N / 8;
        tg_cp_async_cg_16_b16(n_tile + s * 2176 + row_1 * 136 + chunk_1 * 8, b + N * line + unit * 8, line < K && unit < t_7 ? 16 : 0);
      }
    }
    tg_cp_async_commit_group();
    if (64 < K && t_2) {
      const int32_t t_3 = thread % 8;
      const int32_t chunk = t_3;
      const int32_t t_4 = thread / 8;
      const int32_t row = t_4;
      const int32_t unit = chunk + 8;
      #pragma unroll
      for (int32_t s = 0; s < 8; ++s) {
        const int32_t line = t_1 + s * 32 + row;
        const int32_t t_5 = K / 8;
        tg_cp_async_cg_16_b16(m_tile + s * 2304 + row * 72 + chunk * 8 + 18432, a + K * line + unit * 8, line < M && unit < t_5 ? 16 : 0);
      }
      const int32_t t_5 = thread % 16;
      const int32_t chunk_1 = t_5;
      const int32_t t_6 = thread / 16;
      const int32_t row_1 = t_6;
      const int32_t unit_1 = bn * 16 + chunk_1;
      #pragma unroll
      for (int32_t s = 0; s < 4; ++s) {
        const int32_t line = s * 16 + row_1 + 64;
        const int32_t t_7 = N / 8;
        tg_cp_async_cg_16_b16(n_tile + s * 2176 + row_1 * 136 + chunk_1 * 8 + 8704, b + N * line + unit_1 * 8, line < K && unit_1 < t_7 ? 16 : 0);
      }
    }
    tg_cp_async_commit_group();
    tg_cp_async_wait_group_1();
    __syncthreads();
    const int32_t t_3 = lane_2 / 16 * 8;
    const int32_t lane_k = t_3;
    const int32_t t_4 = lane_2 % 16;
    const int32_t lane_m = t_4;
    #pragma unroll
    for (int32_t i = 0; i < 4; ++i) {
      tg_ldmatrix_x4(m_frag + (i * 8) / 2, m_tile + warp_m * 4608 + i * 1152 + lane_m * 72 + lane_k);
    }
    const int32_t lane_k_1 = t_4;
    const int32_t lane_n = t_3;
    #pragma unroll
    for (int32_t i = 0; i < 4; ++i) {
      tg_ldmatrix_x4_trans(n_frag + (i * 8) / 2, n_tile + lane_k_1 * 136 + warp_n * 64 + i * 16 + lane_n);
    }
    for (int32_t k = 0; k < (K + 63) / 64; ++k) {
      const int32_t slot = k % 3;
      const int32_t next = (k + 1) % 3;
      const int32_t lane_k_2 = t_3;
      const int32_t lane_m_1 = t_4;
      #pragma unroll
      for (int32_t i = 0; i < 4; ++i) {
        const int32_t t_5 = slot * 18432 + warp_m * 4608;
        tg_ldmatrix_x4(m_frag + (i * 8 + 32) / 2, m_tile + t_5 + i * 1152 + lane_m_1 * 72 + lane_k_2 + 16);
      }
      const int32_t lane_k_3 = t_4;
      const int32_t lane_n_1 = t_3;
      #pragma unroll
      for (int32_t i = 0; i < 4; ++i) {
        tg_ldmatrix_x4_trans(n_frag + (i * 8 + 32) / 2, n_tile + slot * 8704 + lane_k_3 * 136 + warp_n * 64 + i * 16 + lane_n_1 + 2176);
      }
      const int32_t filled = (k + 2) % 3;
      if (k * 64 + 128 < K && t_2) {
        const int32_t t_5 = thread % 8;
        const int32_t chunk = t_5;
        const int32_t t_6 = thread / 8;
        const int32_t row = t_6;
        const int32_t unit = k * 8 + chunk + 16;
        #pragma unroll
        for (int32_t s = 0; s < 8; ++s) {
          const int32_t line = t_1 + s * 32 + row;
          const int32_t t_7 = K / 8;
          tg_cp_async_cg_16_b16(m_tile + filled * 18432 + s * 2304 + row * 72 + chunk * 8, a + K * line + unit * 8, line < M && unit < t_7 ? 16 : 0);
        }
        const int32_t t_7 = thread % 16;
        const int32_t chunk_1 = t_7;
        const int32_t t_8 = thread / 16;
        const int32_t row_1 = t_8;
        const int32_t unit_1 = bn * 16 + chunk_1;
        #pragma unroll
        for (int32_t s = 0; s < 4; ++s) {
          const int32_t line = k * 64 + s * 16 + row_1 + 128;
          const int32_t t_9 = N / 8;
          tg_cp_async_cg_16_b16(n_tile + filled * 8704 + s * 2176 + row_1 * 136 + chunk_1 * 8, b + N * line + unit_1 * 8, line < K && unit_1 < t_9 ? 16 : 0);
        }
      }
      tg_cp_async_commit_group();
      #pragma unroll
      for (int32_t i = 0; i < 4; ++i) {
        #pragma unroll
        for (int32_t j = 0; j < 8; ++j) {
          tg_mma_m16n8k16_f32_bf16(acc + i * 32 + j * 4, m_frag + (i * 8) / 2, n_frag + (j * 4) / 2);
        }
      }
      const int32_t lane_k_4 = t_3;
      const int32_t lane_m_2 = t_4;
      #pragma unroll
      for (int32_t i = 0; i < 4; ++i) {
        const int32_t t_5 = slot * 18432 + warp_m * 4608;
        tg_ldmatrix_x4(m_frag + (i * 8) / 2, m_tile + t_5 + i * 1152 + lane_m_2 * 72 + lane_k_4 + 32);
      }
      const int32_t lane_k_5 = t_4;
      const int32_t lane_n_2 = t_3;
      #pragma unroll
      for (int32_t i = 0; i < 4; ++i) {
        tg_ldmatrix_x4_trans(n_frag + (i * 8) / 2, n_tile + slot * 8704 + lane_k_5 * 136 + warp_n * 64 + i * 16 + lane_n_2 + 4352);
      }
      #pragma unroll
      for (int32_t i = 0; i < 4; ++i) {
        #pragma unroll
        for (int32_t j = 0; j < 8; ++j) {
          tg_mma_m16n8k16_f32_bf16(acc + i * 32 + j * 4, m_frag + (i * 8 + 32) / 2, n_frag + (j * 4 + 32) / 2);
        }
      }
      const int32_t lane_k_6 = t_3;
      const int32_t lane_m_3 = t_4;
      #pragma unroll
      for (int32_t i = 0; i < 4; ++i) {
        const int32_t t_5 = slot * 18432 + warp_m * 4608;
        tg_ldmatrix_x4(m_frag + (i * 8 + 32) / 2, m_tile + t_5 + i * 1152 + lane_m_3 * 72 + lane_k_6 + 48);
      }
      const int32_t lane_k_7 = t_4;
      const int32_t lane_n_3 = t_3;
      #pragma unroll
      for (int32_t i = 0; i < 4; ++i) {
        tg_ldmatrix_x4_trans(n_frag + (i * 8 + 32) / 2, n_tile + slot * 8704 + lane_k_7 * 136 + warp_n * 64 + i * 16 + lane_n_3 + 6528);
      }
      #pragma unroll
      for (int32_t i = 0; i < 4; ++i) {
        #pragma unroll
        for (int32_t j = 0; j < 8; ++j) {
          tg_mma_m16n8k16_f32_bf16(acc + i * 32 + j * 4, m_frag + (i * 8) / 2, n_frag + (j * 4) / 2);
        }
      }
      tg_cp_async_wait_group_1();
      __syncthreads();
      const int32_t lane_k_8 = t_3;
      const int32_t lane_m_4 = t_4;
      #pragma unroll
      for (int32_t i = 0; i < 4; ++i) {
        tg_ldmatrix_x4(m_frag + (i * 8) / 2, m_tile + next * 18432 + warp_m * 4608 + i * 1152 + lane_m_4 * 72 + lane_k_8);
      }
      const int32_t lane_k_9 = t_4;
      const int32_t lane_n_4 = t_3;
      #pragma unroll
      for (int32_t i = 0; i < 4; ++i) {
        tg_ldmatrix_x4_trans(n_frag + (i * 8) / 2, n_tile + next * 8704 + lane_k_9 * 136 + warp_n * 64 + i * 16 + lane_n_4);
      }
      #pragma unroll
      for (int32_t i = 0; i < 4; ++i) {
        #pragma unroll
        for (int32_t j = 0; j < 8; ++j) {
          tg_mma_m16n8k16_f32_bf16(acc + i * 32 + j * 4, m_frag + (i * 8 + 32) / 2, n_frag + (j * 4 + 32) / 2);
        }
      }
    }
    #pragma unroll
    for (int32_t i = 0; i < 4; ++i) {
      #pragma unroll
      for (int32_t h = 0; h < 2; ++h) {
        const int32_t m = t_1 + warp_m * 64 + i * 16 + h * 8 + lane_1;
        if (m < M) {
          #pragma unroll
          for (int32_t j = 0; j < 8; ++j) {
            const int32_t n = bn * 64 + warp_n * 32 + j * 4 + lane;
            if (n < N / 2) {
              float c_o[2];
              #pragma unroll
              for (int32_t e = 0; e < 2; ++e) {
                c_o[e] = acc[i * 32 + j * 4 + h * 2 + e];
              }
              {
                __align__(4) __nv_bfloat16 part[2];
                #pragma unroll
                for (int lane_3 = 0; lane_3 < 2; ++lane_3) part[lane_3] = __float2bfloat16_rn(c_o[lane_3]);
                *(uint32_t *)(c + N * m + n * 2) = *(const uint32_t *)part;
              }
            }
          }
        }
      }
    }
  }
}

// c[i: M, j: N] = sum[k: K] a[i, k] * b[k, j]
// schedule: tile {threads: 256, vector: 8, block_m: 256, block_n: 128, block_k: 64, precision: bf16, warp_m: 64, warp_n: 64, raster: 8, pipeline: 3, stage: true}
// read: 2*M*K*min(N, 1) + 2*N*K*min(M, 1) bytes at least; written: 2*M*N bytes at least
// floor on a100-80gb in us: max(dram (read + max(written - 41943040, 0)) / 2039040 + 0.14*min(read, 1),
//    l2 (read + written) / 14438400, bf16_mma 2*M*N*K / 311869440, launch 0.4)
// floor at M = 1024, N = 1024, K = 1024: 6.885841 us, bound by bf16_mma
static __global__ void __launch_bounds__(256) matmul_sm_80_c_3_wide(const __nv_bfloat16 *__restrict__ a, const __nv_bfloat16 *__restrict__ b, __nv_bfloat16 *__restrict__ c, int64_t M, int64_t N, int64_t K) {
  const int64_t block_number = (int64_t)blockIdx.x;
  const int64_t thread_number = (int64_t)threadIdx.x;
  extern __shared__ __align__(128) unsigned char shared[];
  __nv_bfloat16 *const m_tile = (__nv_bfloat16 *)(shared + 0);
  __nv_bfloat16 *const n_tile = (__nv_bfloat16 *)(shared + 110592);
  const int64_t bm = block_number % 8;
  const int64_t bn_extent = (N + 127) / 128;
  const int64_t t = block_number / 8;
  const int64_t bn = tg_unsigned_mod_i64(t, bn_extent);
  const int64_t group = tg_unsigned_div_i64(t, bn_extent);
  const int64_t lane = thread_number % 4;
  const int64_t lane_1 = thread_number / 4 % 8;
  const int64_t warp_m = thread_number / 32 % 4;
  const int64_t warp_n = thread_number / 128;
  const int64_t lane_2 = lane_1 * 4 + lane;
  const int64_t thread = warp_n * 128 + warp_m * 32 + lane_2;
  const int64_t t_1 = group * 2048 + bm * 256;
  if (t_1 < M) {
    uint32_t m_frag[32];
    uint32_t n_frag[32];
    float acc[128];
    #pragma unroll
    for (int64_t i = 0; i < 4; ++i) {
      #pragma unroll
      for (int64_t j = 0; j < 8; ++j) {
        #pragma unroll
        for (int64_t e = 0; e < 4; ++e) {
          acc[i * 32 + j * 4 + e] = 0.0f;
        }
      }
    }
    const bool t_2 = 0 < M && 0 < N;
    if (0 < K && t_2) {
      const int64_t t_3 = thread % 8;
      const int64_t chunk = t_3;
      const int64_t t_4 = thread / 8;
      const int64_t row = t_4;
      #pragma unroll
      for (int64_t s = 0; s < 8; ++s) {
        const int64_t line = t_1 + s * 32 + row;
        const int64_t t_5 = K / 8;
        tg_cp_async_cg_16_b16(m_tile + s * 2304 + row * 72 + chunk * 8, a + K * line + chunk * 8, line < M && chunk < t_5 ? 16 : 0);
      }
      const int64_t t_5 = thread % 16;
      const int64_t chunk_1 = t_5;
      const int64_t t_6 = thread / 16;
      const int64_t row_1 = t_6;
      const int64_t unit = bn * 16 + chunk_1;
      #pragma unroll
      for (int64_t s = 0; s < 4; ++s) {
        const int64_t line = s * 16 + row_1;
        const int64_t t_7 = N / 8;
        tg_cp_async_cg_16_b16(n_tile + s * 2176 + row_1 * 136 + chunk_1 * 8, b + N * line + unit * 8, line < K && unit < t_7 ? 16 : 0);
      }
    }
    tg_cp_async_commit_group();
    if (64 < K && t_2) {
      const int64_t t_3 = thread % 8;
      const int64_t chunk = t_3;
      const int64_t t_4 = thread / 8;
      const int64_t row = t_4;
      const int64_t unit = chunk + 8;
      #pragma unroll
      for (int64_t s = 0; s < 8; ++s) {
        const int64_t line = t_1 + s * 32 + row;
        const int64_t t_5 = K / 8;
        tg_cp_async_cg_16_b16(m_tile + s * 2304 + row * 72 + chunk * 8 + 18432, a + K * line + unit * 8, line < M && unit < t_5 ? 16 : 0);
      }
      const int64_t t_5 = thread % 16;
      const int64_t chunk_1 = t_5;
      const int64_t t_6 = thread / 16;
      const int64_t row_1 = t_6;
      const int64_t unit_1 = bn * 16 + chunk_1;
      #pragma unroll
      for (int64_t s = 0; s < 4; ++s) {
        const int64_t line = s * 16 + row_1 + 64;
        const int64_t t_7 = N / 8;
        tg_cp_async_cg_16_b16(n_tile + s * 2176 + row_1 * 136 + chunk_1 * 8 + 8704, b + N * line + unit_1 * 8, line < K && unit_1 < t_7 ? 16 : 0);
      }
    }
    tg_cp_async_commit_group();
    tg_cp_async_wait_group_1();
    __syncthreads();
    const int64_t t_3 = lane_2 / 16 * 8;
    const int64_t lane_k = t_3;
    const int64_t t_4 = lane_2 % 16;
    const int64_t lane_m = t_4;
    #pragma unroll
    for (int64_t i = 0; i < 4; ++i) {
      tg_ldmatrix_x4(m_frag + (i * 8) / 2, m_tile + warp_m * 4608 + i * 1152 + lane_m * 72 + lane_k);
    }
    const int64_t lane_k_1 = t_4;
    const int64_t lane_n = t_3;
    #pragma unroll
    for (int64_t i = 0; i < 4; ++i) {
      tg_ldmatrix_x4_trans(n_frag + (i * 8) / 2, n_tile + lane_k_1 * 136 + warp_n * 64 + i * 16 + lane_n);
    }
    for (int64_t k = 0; k < (K + 63) / 64; ++k) {
      const int64_t slot = k % 3;
      const int64_t next = (k + 1) % 3;
      const int64_t lane_k_2 = t_3;
      const int64_t lane_m_1 = t_4;
      #pragma unroll
      for (int64_t i = 0; i < 4; ++i) {
        const int64_t t_5 = slot * 18432 + warp_m * 4608;
        tg_ldmatrix_x4(m_frag + (i * 8 + 32) / 2, m_tile + t_5 + i * 1152 + lane_m_1 * 72 + lane_k_2 + 16);
      }
      const int64_t lane_k_3 = t_4;
      const int64_t lane_n_1 = t_3;
      #pragma unroll
      for (int64_t i = 0; i < 4; ++i) {
        tg_ldmatrix_x4_trans(n_frag + (i * 8 + 32) / 2, n_tile + slot * 8704 + lane_k_3 * 136 + warp_n * 64 + i * 16 + lane_n_1 + 2176);
      }
      const int64_t filled = (k + 2) % 3;
      if (k * 64 + 128 < K && t_2) {
        const int64_t t_5 = thread % 8;
        const int64_t chunk = t_5;
        const int64_t t_6 = thread / 8;
        const int64_t row = t_6;
        const int64_t unit = k * 8 + chunk + 16;
        #pragma unroll
        for (int64_t s = 0; s < 8; ++s) {
          const int64_t line = t_1 + s * 32 + row;
          const int64_t t_7 = K / 8;
          tg_cp_async_cg_16_b16(m_tile + filled * 18432 + s * 2304 + row * 72 + chunk * 8, a + K * line + unit * 8, line < M && unit < t_7 ? 16 : 0);
        }
        const int64_t t_7 = thread % 16;
        const int64_t chunk_1 = t_7;
        const int64_t t_8 = thread / 16;
        const int64_t row_1 = t_8;
        const int64_t unit_1 = bn * 16 + chunk_1;
        #pragma unroll
        for (int64_t s = 0; s < 4; ++s) {
          const int64_t line = k * 64 + s * 16 + row_1 + 128;
          const int64_t t_9 = N / 8;
          tg_cp_async_cg_16_b16(n_tile + filled * 8704 + s * 2176 + row_1 * 136 + chunk_1 * 8, b + N * line + unit_1 * 8, line < K && unit_1 < t_9 ? 16 : 0);
        }
      }
      tg_cp_async_commit_group();
      #pragma unroll
      for (int64_t i = 0; i < 4; ++i) {
        #pragma unroll
        for (int64_t j = 0; j < 8; ++j) {
          tg_mma_m16n8k16_f32_bf16(acc + i * 32 + j * 4, m_frag + (i * 8) / 2, n_frag + (j * 4) / 2);
        }
      }
      const int64_t lane_k_4 = t_3;
      const int64_t lane_m_2 = t_4;
      #pragma unroll
      for (int64_t i = 0; i < 4; ++i) {
        const int64_t t_5 = slot * 18432 + warp_m * 4608;
        tg_ldmatrix_x4(m_frag + (i * 8) / 2, m_tile + t_5 + i * 1152 + lane_m_2 * 72 + lane_k_4 + 32);
      }
      const int64_t lane_k_5 = t_4;
      const int64_t lane_n_2 = t_3;
      #pragma unroll
      for (int64_t i = 0; i < 4; ++i) {
        tg_ldmatrix_x4_trans(n_frag + (i * 8) / 2, n_tile + slot * 8704 + lane_k_5 * 136 + warp_n * 64 + i * 16 + lane_n_2 + 4352);
      }
      #pragma unroll
      for (int64_t i = 0; i < 4; ++i) {
        #pragma unroll
        for (int64_t j = 0; j < 8; ++j) {
          tg_mma_m16n8k16_f32_bf16(acc + i * 32 + j * 4, m_frag + (i * 8 + 32) / 2, n_frag + (j * 4 + 32) / 2);
        }
      }
      const int64_t lane_k_6 = t_3;
      const int64_t lane_m_3 = t_4;
      #pragma unroll
      for (int64_t i = 0; i < 4; ++i) {
        const int64_t t_5 = slot * 18432 + warp_m * 4608;
        tg_ldmatrix_x4(m_frag + (i * 8 + 32) / 2, m_tile + t_5 + i * 1152 + lane_m_3 * 72 + lane_k_6 + 48);
      }
      const int64_t lane_k_7 = t_4;
      const int64_t lane_n_3 = t_3;
      #pragma unroll
      for (int64_t i = 0; i < 4; ++i) {
        tg_ldmatrix_x4_trans(n_frag + (i * 8 + 32) / 2, n_tile + slot * 8704 + lane_k_7 * 136 + warp_n * 64 + i * 16 + lane_n_3 + 6528);
      }
      #pragma unroll
      for (int64_t i = 0; i < 4; ++i) {
        #pragma unroll
        for (int64_t j = 0; j < 8; ++j) {
          tg_mma_m16n8k16_f32_bf16(acc + i * 32 + j * 4, m_frag + (i * 8) / 2, n_frag + (j * 4) / 2);
        }
      }
      tg_cp_async_wait_group_1();
      __syncthreads();
      const int64_t lane_k_8 = t_3;
      const int64_t lane_m_4 = t_4;
      #pragma unroll
      for (int64_t i = 0; i < 4; ++i) {
        tg_ldmatrix_x4(m_frag + (i * 8) / 2, m_tile + next * 18432 + warp_m * 4608 + i * 1152 + lane_m_4 * 72 + lane_k_8);
      }
      const int64_t lane_k_9 = t_4;
      const int64_t lane_n_4 = t_3;
      #pragma unroll
      for (int64_t i = 0; i < 4; ++i) {
        tg_ldmatrix_x4_trans(n_frag + (i * 8) / 2, n_tile + next * 8704 + lane_k_9 * 136 + warp_n * 64 + i * 16 + lane_n_4);
      }
      #pragma unroll
      for (int64_t i = 0; i < 4; ++i) {
        #pragma unroll
        for (int64_t j = 0; j < 8; ++j) {
          tg_mma_m16n8k16_f32_bf16(acc + i * 32 + j * 4, m_frag + (i * 8 + 32) / 2, n_frag + (j * 4 + 32) / 2);
        }
      }
    }
    #pragma unroll
    for (int64_t i = 0; i < 4; ++i) {
      #pragma unroll
      for (int64_t h = 0; h < 2; ++h) {
        const int64_t m = t_1 + warp_m * 64 + i * 16 + h * 8 + lane_1;
        if (m < M) {
          #pragma unroll
          for (int64_t j = 0; j < 8; ++j) {
            const int64_t n = bn * 64 + warp_n * 32 + j * 4 + lane;
            if (n < N / 2) {
              float c_o[2];
              #pragma unroll
              for (int64_t e = 0; e < 2; ++e) {
                c_o[e] = acc[i * 32 + j * 4 + h * 2 + e];
              }
              {
                __align__(4) __nv_bfloat16 part[2];
                #pragma unroll
                for (int lane_3 = 0; lane_3 < 2; ++lane_3) part[lane_3] = __float2bfloat16_rn(c_o[lane_3]);
                *(uint32_t *)(c + N * m + n * 2) = *(const uint32_t *)part;
              }
            }
          }
        }
      }
    }
  }
}

// c[i: M, j: N] = sum[k: K] a[i, k] * b[k, j]
// schedule: tile {threads: 256, block_m: 64, block_n: 64, block_k: 16, thread_m: 4, thread_n: 4, stage: true}
// read: 2*M*K*min(N, 1) + 2*N*K*min(M, 1) bytes at least; written: 2*M*N bytes at least
// floor on a100-80gb in us: max(dram (read + max(written - 41943040, 0)) / 2039040 + 0.14*min(read, 1),
//    l2 (read + written) / 14438400, bf16_mma 2*M*N*K / 311869440, launch 0.4)
// floor at M = 1024, N = 1024, K = 1024: 6.885841 us, bound by bf16_mma
static __global__ void __launch_bounds__(256) matmul_sm_80_c_4(const __nv_bfloat16 *__restrict__ a, const __nv_bfloat16 *__restrict__ b, __nv_bfloat16 *__restrict__ c, int32_t M, int32_t N, int32_t K) {
  const int32_t block_number = (int32_t)blockIdx.x;
  const int32_t thread_number = (int32_t)threadIdx.x;
  __shared__ __align__(16) float a_tile[1084];
  __shared__ __align__(16) float b_tile[1084];
  const int32_t bn_extent = (N + 63) / 64;
  const int32_t bn = tg_unsigned_mod_i32(block_number, bn_extent);
  const int32_t bm = tg_unsigned_div_i32(block_number, bn_extent);
  const int32_t tx = thread_number % 16;
  const int32_t ty = thread_number / 16;
  const int32_t m0 = bm * 64;
  const int32_t n0 = bn * 64;
  const int32_t thread = ty * 16 + tx;
  float acc[16];
  #pragma unroll
  for (int32_t i = 0; i < 4; ++i) {
    #pragma unroll
    for (int32_t j = 0; j < 4; ++j) {
      acc[i * 4 + j] = 0.0f;
    }
  }
  for (int32_t k0 = 0; k0 < K; k0 += 16) {
    #pragma unroll
    for (int32_t s = 0; s < 4; ++s) {
      const int32_t flat = s * 256 + thread;
      const int32_t kk = flat % 16;
      const int32_t p = flat / 16;
      const int32_t at = m0 + p;
      const int32_t k = k0 + kk;
      if (at < M && k < K) {
        const float a_1 = __bfloat162float(a[K * at + k]);
        const int32_t t = kk * 68 + p;
        a_tile[t] = a_1;
      } else {
        const int32_t t = kk * 68 + p;
        a_tile[t] = 0.0f;
      }
    }
    #pragma unroll
    for (int32_t s = 0; s < 4; ++s) {
      const int32_t flat = s * 256 + thread;
      const int32_t p = flat % 64;
      const int32_t kk = flat / 64;
      const int32_t at = n0 + p;
      const int32_t k = k0 + kk;
      if (at < N && k < K) {
        const float b_1 = __bfloat162float(b[N * k + at]);
        const int32_t t = kk * 68 + p;
        b_tile[t] = b_1;
      } else {
        const int32_t t = kk * 68 + p;
        b_tile[t] = 0.0f;
      }
    }
    __syncthreads();
    if (16 <= K - k0) {
      #pragma unroll
      for (int32_t kk = 0; kk < 16; ++kk) {
        const int32_t t = kk * 68 + ty * 4;
        const float a_1 = a_tile[t];
        const float a_2 = a_tile[t + 1];
        const float a_3 = a_tile[t + 2];
        const float a_4 = a_tile[t + 3];
        const int32_t t_1 = kk * 68 + tx * 4;
        const float b_1 = b_tile[t_1];
        const float b_2 = b_tile[t_1 + 1];
        const float b_3 = b_tile[t_1 + 2];
        const float b_4 = b_tile[t_1 + 3];
        acc[0] += a_1 * b_1;
        acc[1] += a_1 * b_2;
        acc[2] += a_1 * b_3;
        acc[3] += a_1 * b_4;
        acc[4] += a_2 * b_1;
        acc[5] += a_2 * b_2;
        acc[6] += a_2 * b_3;
        acc[7] += a_2 * b_4;
        acc[8] += a_3 * b_1;
        acc[9] += a_3 * b_2;
        acc[10] += a_3 * b_3;
        acc[11] += a_3 * b_4;
        acc[12] += a_4 * b_1;
        acc[13] += a_4 * b_2;
        acc[14] += a_4 * b_3;
        acc[15] += a_4 * b_4;
      }
    } else {
      for (int32_t kk = 0; kk < tg_min_i32(K - k0, 16); ++kk) {
        const int32_t t = kk * 68 + ty * 4;
        const float a_1 = a_tile[t];
        const float a_2 = a_tile[t + 1];
        const float a_3 = a_tile[t + 2];
        const float a_4 = a_tile[t + 3];
        const int32_t t_1 = kk * 68 + tx * 4;
        const float b_1 = b_tile[t_1];
        const float b_2 = b_tile[t_1 + 1];
        const float b_3 = b_tile[t_1 + 2];
        const float b_4 = b_tile[t_1 + 3];
        acc[0] += a_1 * b_1;
        acc[1] += a_1 * b_2;
        acc[2] += a_1 * b_3;
        acc[3] += a_1 * b_4;
        acc[4] += a_2 * b_1;
        acc[5] += a_2 * b_2;
        acc[6] += a_2 * b_3;
        acc[7] += a_2 * b_4;
        acc[8] += a_3 * b_1;
        acc[9] += a_3 * b_2;
        acc[10] += a_3 * b_3;
        acc[11] += a_3 * b_4;
        acc[12] += a_4 * b_1;
        acc[13] += a_4 * b_2;
        acc[14] += a_4 * b_3;
        acc[15] += a_4 * b_4;
      }
    }
    __syncthreads();
  }
  #pragma unroll
  for (int32_t own = 0; own < 4; ++own) {
    #pragma unroll
    for (int32_t own_1 = 0; own_1 < 4; ++own_1) {
      const int32_t m = ty * 4 + m0 + own;
      const int32_t n = tx * 4 + n0 + own_1;
      if (m < M && n < N) {
        c[N * m + n] = __float2bfloat16_rn(acc[own * 4 + own_1]);
      }
    }
  }
}

// c[i: M, j: N] = sum[k: K] a[i, k] * b[k, j]
// schedule: tile {threads: 256, block_m: 64, block_n: 64, block_k: 16, thread_m: 4, thread_n: 4, stage: true}
// read: 2*M*K*min(N, 1) + 2*N*K*min(M, 1) bytes at least; written: 2*M*N bytes at least
// floor on a100-80gb in us: max(dram (read + max(written - 41943040, 0)) / 2039040 + 0.14*min(read, 1),
//    l2 (read + written) / 14438400, bf16_mma 2*M*N*K / 311869440, launch 0.4)
// floor at M = 1024, N = 1024, K = 1024: 6.885841 us, bound by bf16_mma
static __global__ void __launch_bounds__(256) matmul_sm_80_c_4_wide(const __nv_bfloat16 *__restrict__ a, const __nv_bfloat16 *__restrict__ b, __nv_bfloat16 *__restrict__ c, int64_t M, int64_t N, int64_t K) {
  const int64_t block_number = (int64_t)blockIdx.x;
  const int64_t thread_number = (int64_t)threadIdx.x;
  __shared__ __align__(16) float a_tile[1084];
  __shared__ __align__(16) float b_tile[1084];
  const int64_t bn_extent = (N + 63) / 64;
  const int64_t bn = tg_unsigned_mod_i64(block_number, bn_extent);
  const int64_t bm = tg_unsigned_div_i64(block_number, bn_extent);
  const int64_t tx = thread_number % 16;
  const int64_t ty = thread_number / 16;
  const int64_t m0 = bm * 64;
  const int64_t n0 = bn * 64;
  const int64_t thread = ty * 16 + tx;
  float acc[16];
  #pragma unroll
  for (int64_t i = 0; i < 4; ++i) {
    #pragma unroll
    for (int64_t j = 0; j < 4; ++j) {
      acc[i * 4 + j] = 0.0f;
    }
  }
  for (int64_t k0 = 0; k0 < K; k0 += 16) {
    #pragma unroll
    for (int64_t s = 0; s < 4; ++s) {
      const int64_t flat = s * 256 + thread;
      const int64_t kk = flat % 16;
      const int64_t p = flat / 16;
      const int64_t at = m0 + p;
      const int64_t k = k0 + kk;
      if (at < M && k < K) {
        const float a_1 = __bfloat162float(a[K * at + k]);
        const int64_t t = kk * 68 + p;
        a_tile[t] = a_1;
      } else {
        const int64_t t = kk * 68 + p;
        a_tile[t] = 0.0f;
      }
    }
    #pragma unroll
    for (int64_t s = 0; s < 4; ++s) {
      const int64_t flat = s * 256 + thread;
      const int64_t p = flat % 64;
      const int64_t kk = flat / 64;
      const int64_t at = n0 + p;
      const int64_t k = k0 + kk;
      if (at < N && k < K) {
        const float b_1 = __bfloat162float(b[N * k + at]);
        const int64_t t = kk * 68 + p;
        b_tile[t] = b_1;
      } else {
        const int64_t t = kk * 68 + p;
        b_tile[t] = 0.0f;
      }
    }
    __syncthreads();
    if (16 <= K - k0) {
      #pragma unroll
      for (int64_t kk = 0; kk < 16; ++kk) {
        const int64_t t = kk * 68 + ty * 4;
        const float a_1 = a_tile[t];
        const float a_2 = a_tile[t + 1];
        const float a_3 = a_tile[t + 2];
        const float a_4 = a_tile[t + 3];
        const int64_t t_1 = kk * 68 + tx * 4;
        const float b_1 = b_tile[t_1];
        const float b_2 = b_tile[t_1 + 1];
        const float b_3 = b_tile[t_1 + 2];
        const float b_4 = b_tile[t_1 + 3];
        acc[0] += a_1 * b_1;
        acc[1] += a_1 * b_2;
        acc[2] += a_1 * b_3;
        acc[3] += a_1 * b_4;
        acc[4] += a_2 * b_1;
        acc[5] += a_2 * b_2;
        acc[6] += a_2 * b_3;
        acc[7] += a_2 * b_4;
        acc[8] += a_3 * b_1;
        acc[9] += a_3 * b_2;
        acc[10] += a_3 * b_3;
        acc[11] += a_3 * b_4;
        acc[12] += a_4 * b_1;
        acc[13] += a_4 * b_2;
        acc[14] += a_4 * b_3;
        acc[15] += a_4 * b_4;
      }
    } else {
      for (int64_t kk = 0; kk < tg_min_i64(K - k0, 16); ++kk) {
        const int64_t t = kk * 68 + ty * 4;
        const float a_1 = a_tile[t];
        const float a_2 = a_tile[t + 1];
        const float a_3 = a_tile[t + 2];
        const float a_4 = a_tile[t + 3];
        const int64_t t_1 = kk * 68 + tx * 4;
        const float b_1 = b_tile[t_1];
        const float b_2 = b_tile[t_1 + 1];
        const float b_3 = b_tile[t_1 + 2];
        const float b_4 = b_tile[t_1 + 3];
        acc[0] += a_1 * b_1;
        acc[1] += a_1 * b_2;
        acc[2] += a_1 * b_3;
        acc[3] += a_1 * b_4;
        acc[4] += a_2 * b_1;
        acc[5] += a_2 * b_2;
        acc[6] += a_2 * b_3;
        acc[7] += a_2 * b_4;
        acc[8] += a_3 * b_1;
        acc[9] += a_3 * b_2;
        acc[10] += a_3 * b_3;
        acc[11] += a_3 * b_4;
        acc[12] += a_4 * b_1;
        acc[13] += a_4 * b_2;
        acc[14] += a_4 * b_3;
        acc[15] += a_4 * b_4;
      }
    }
    __syncthreads();
  }
  #pragma unroll
  for (int64_t own = 0; own < 4; ++own) {
    #pragma unroll
    for (int64_t own_1 = 0; own_1 < 4; ++own_1) {
      const int64_t m = ty * 4 + m0 + own;
      const int64_t n = tx * 4 + n0 + own_1;
      if (m < M && n < N) {
        c[N * m + n] = __float2bfloat16_rn(acc[own * 4 + own_1]);
      }
    }
  }
}

size_t matmul_sm_80_workspace_bytes(const matmul_dims *dims) {
  if (!dims) return SIZE_MAX;
  const int64_t M = dims->M;
  if (M < 0 || M > 65536) return SIZE_MAX;
  const int64_t N = dims->N;
  if (N < 0 || N > 65536) return SIZE_MAX;
  const int64_t K = dims->K;
  if (K < 0 || K > 65536) return SIZE_MAX;
  return (size_t)0;
}

tg_status matmul_sm_80_run(const matmul_args *args, const matmul_dims *dims, void *workspace, size_t bytes,
                           void *stream) {
  (void)workspace;
  (void)bytes;
  if (!args || !dims) return TG_E_NULL;
  const int64_t M = dims->M;
  if (M < 0 || M > 65536) return TG_E_DIM;
  const int64_t N = dims->N;
  if (N < 0 || N > 65536) return TG_E_DIM;
  const int64_t K = dims->K;
  if (K < 0 || K > 65536) return TG_E_DIM;
  const void *const pointers[] = {args->a, args->b, args->c};
  const uint64_t sizes[] = {(uint64_t)(M * K * 2), (uint64_t)(K * N * 2), (uint64_t)(M * N * 2)};
  static const uint16_t alignments[] = {16, 16, 16};
  static const bool written[] = {false, false, true};
  for (int i = 0; i < 3; ++i) {
    if (sizes[i] != 0 && !pointers[i]) return TG_E_NULL;
    if (tg_host_misaligned(pointers[i], alignments[i])) return TG_E_ALIGN;
  }
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      if (i != j && written[i] && tg_host_overlap(pointers[i], sizes[i], pointers[j], sizes[j])) return TG_E_ALIAS;
    }
  }
  // c
  const bool t = K % 8 == 0;
  const bool t_1 = N % 8 == 0;
  const bool t_2 = M <= 256 && t && t_1;
  const bool t_3 = K * N <= 2147483647;
  const bool t_4 = M * K <= 2147483647 && t_3 && M * N <= 2147483647;
  if (t_2 && t_3) {
    const int64_t t_5 = (N + 127) / 128;
    const int64_t t_6 = (M + 63) / 64;
    const int64_t blocks = t_5 * t_6;
    if (blocks > 0) {
      cudaLaunchConfig_t config = {};
      config.gridDim = dim3((unsigned)blocks);
      config.blockDim = dim3(128);
      config.stream = (cudaStream_t)stream;
      config.dynamicSmemBytes = 106496;
      if (cudaFuncSetAttribute(matmul_sm_80_c, cudaFuncAttributeMaxDynamicSharedMemorySize, 106496) != cudaSuccess) return TG_E_LAUNCH;
      if (cudaLaunchKernelEx(&config, matmul_sm_80_c, (const __nv_bfloat16 *)args->a, (const __nv_bfloat16 *)args->b, (__nv_bfloat16 *)args->c, (int32_t)M, (int32_t)N, (int32_t)K) != cudaSuccess) return TG_E_LAUNCH;
    }
  } else if (t_2) {
    const int64_t t_5 = (N + 127) / 128;
    const int64_t t_6 = (M + 63) / 64;
    const int64_t blocks = t_5 * t_6;
    if (blocks > 0) {
      cudaLaunchConfig_t config = {};
      config.gridDim = dim3((unsigned)blocks);
      config.blockDim = dim3(128);
      config.stream = (cudaStream_t)stream;
      config.dynamicSmemBytes = 106496;
      if (cudaFuncSetAttribute(matmul_sm_80_c_wide, cudaFuncAttributeMaxDynamicSharedMemorySize, 106496) != cudaSuccess) return TG_E_LAUNCH;
      if (cudaLaunchKernelEx(&config, matmul_sm_80_c_wide, (const __nv_bfloat16 *)args->a, (const __nv_bfloat16 *)args->b, (__nv_bfloat16 *)args->c, M, N, K) != cudaSuccess) return TG_E_LAUNCH;
    }
  } else if (M <= 1024 && N <= 2304 && t && t_1) {
    const int64_t t_5 = (N + 127) / 128;
    const int64_t t_6 = (M + 63) / 64;
    const int64_t blocks = t_5 * t_6;
    if (blocks > 0) {
      cudaLaunchConfig_t config = {};
      config.gridDim = dim3((unsigned)blocks);
      config.blockDim = dim3(128);
      config.stream = (cudaStream_t)stream;
      config.dynamicSmemBytes = 106496;
      if (cudaFuncSetAttribute(matmul_sm_80_c, cudaFuncAttributeMaxDynamicSharedMemorySize, 106496) != cudaSuccess) return TG_E_LAUNCH;
      if (cudaLaunchKernelEx(&config, matmul_sm_80_c, (const __nv_bfloat16 *)args->a, (const __nv_bfloat16 *)args->b, (__nv_bfloat16 *)args->c, (int32_t)M, (int32_t)N, (int32_t)K) != cudaSuccess) return TG_E_LAUNCH;
    }
  } else if (t && t_1 && t_4) {
    const int64_t t_5 = (N + 127) / 128;
    const int64_t t_6 = 8 * t_5 * ((M + 2047) / 2048);
    const int64_t blocks = t_6;
    if (blocks > 0) {
      cudaLaunchConfig_t config = {};
      config.gridDim = dim3((unsigned)blocks);
      config.blockDim = dim3(256);
      config.stream = (cudaStream_t)stream;
      config.dynamicSmemBytes = 162816;
      if (cudaFuncSetAttribute(matmul_sm_80_c_3, cudaFuncAttributeMaxDynamicSharedMemorySize, 162816) != cudaSuccess) return TG_E_LAUNCH;
      if (cudaLaunchKernelEx(&config, matmul_sm_80_c_3, (const __nv_bfloat16 *)args->a, (const __nv_bfloat16 *)args->b, (__nv_bfloat16 *)args->c, (int32_t)M, (int32_t)N, (int32_t)K) != cudaSuccess) return TG_E_LAUNCH;
    }
  } else if (t && t_1) {
    const int64_t t_5 = (N + 127) / 128;
    const int64_t t_6 = 8 * t_5 * ((M + 2047) / 2048);
    const int64_t blocks = t_6;
    if (blocks > 0) {
      cudaLaunchConfig_t config = {};
      config.gridDim = dim3((unsigned)blocks);
      config.blockDim = dim3(256);
      config.stream = (cudaStream_t)stream;
      config.dynamicSmemBytes = 162816;
      if (cudaFuncSetAttribute(matmul_sm_80_c_3_wide, cudaFuncAttributeMaxDynamicSharedMemorySize, 162816) != cudaSuccess) return TG_E_LAUNCH;
      if (cudaLaunchKernelEx(&config, matmul_sm_80_c_3_wide, (const __nv_bfloat16 *)args->a, (const __nv_bfloat16 *)args->b, (__nv_bfloat16 *)args->c, M, N, K) != cudaSuccess) return TG_E_LAUNCH;
    }
  } else if (t_4) {
    const int64_t t_5 = (M + 63) / 64;
    const int64_t t_6 = (N + 63) / 64 * t_5;
    const int64_t blocks = t_6;
    if (blocks > 0) {
      cudaLaunchConfig_t config = {};
      config.gridDim = dim3((unsigned)blocks);
      config.blockDim = dim3(256);
      config.stream = (cudaStream_t)stream;
      if (cudaLaunchKernelEx(&config, matmul_sm_80_c_4, (const __nv_bfloat16 *)args->a, (const __nv_bfloat16 *)args->b, (__nv_bfloat16 *)args->c, (int32_t)M, (int32_t)N, (int32_t)K) != cudaSuccess) return TG_E_LAUNCH;
    }
  } else {
    const int64_t t_5 = (M + 63) / 64;
    const int64_t t_6 = (N + 63) / 64 * t_5;
    const int64_t blocks = t_6;
    if (blocks > 0) {
      cudaLaunchConfig_t config = {};
      config.gridDim = dim3((unsigned)blocks);
      config.blockDim = dim3(256);
      config.stream = (cudaStream_t)stream;
      if (cudaLaunchKernelEx(&config, matmul_sm_80_c_4_wide, (const __nv_bfloat16 *)args->a, (const __nv_bfloat16 *)args->b, (__nv_bfloat16 *)args->c, M, N, K) != cudaSuccess) return TG_E_LAUNCH;
    }
  }
  return TG_OK;
}
