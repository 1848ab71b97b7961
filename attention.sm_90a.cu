// attention for sm_90a, printed by tangc 0.1.0.
// Options: -O2
// Input: attention.tg, SHA-256 f5cec3f59e4fde8cd28b3225cb1eab18166263303f0f997711c40612b51f97b2
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

#ifndef TG_attention_TYPES_DEFINED
#define TG_attention_TYPES_DEFINED
typedef struct {
  int64_t B; // 1..1024
  int64_t H; // 1..256
  int64_t S; // 1..131072
} attention_dims;
typedef struct {
  const void *q; // f16[B, H, S, 64], aligned to 16
  const void *k; // f16[B, H, S, 64], aligned to 16
  const void *v; // f16[B, H, S, 64], aligned to 16
  void *o; // f16[B, H, S, 64], aligned to 16
} attention_args;
#endif

#ifdef __cplusplus
extern "C" {
#endif
// Bytes of workspace that a call needs, aligned to 16; SIZE_MAX for dims outside their ranges.
size_t attention_sm_90a_workspace_bytes(const attention_dims *dims);
tg_status attention_sm_90a_run(const attention_args *args, const attention_dims *dims, void *workspace, size_t bytes,
                               void *stream);
#ifdef __cplusplus
}
#endif

static __device__ __forceinline__ int32_t tg_min_i32(int32_t a, int32_t b) { return a < b ? a : b; }
static __device__ __forceinline__ int32_t tg_max_i32(int32_t a, int32_t b) { return a > b ? a : b; }
static __device__ __forceinline__ int64_t tg_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
// For a >= 0 and b > 0, in the fewest instructions.
static __device__ __forceinline__ int32_t tg_unsigned_div_i32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a / (uint32_t)b); }
// For a >= 0 and b > 0, in the fewest instructions.
static __device__ __forceinline__ int64_t tg_unsigned_div_i64(int64_t a, int64_t b) { return (int64_t)((uint64_t)a / (uint64_t)b); }
// For a >= 0 and b > 0, in the fewest instructions.
static __device__ __forceinline__ int32_t tg_unsigned_mod_i32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a % (uint32_t)b); }
// For a >= 0 and b > 0, in the fewest instructions.
static __device__ __forceinline__ int64_t tg_unsigned_mod_i64(int64_t a, int64_t b) { return (int64_t)((uint64_t)a % (uint64_t)b); }
// Two values side by side in 32 bits, the first in the lower half, each rounded to nearest even.
static __device__ __forceinline__ uint32_t tg_pair_f16(float a, float b) {
  uint32_t r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
  return r;
}
// At most 2 units in the last place over the full range of both operands (PTX ISA, div.full.f32).
static __device__ __forceinline__ float tg_full_div_f32(float a, float b) {
  float q;
  asm("div.full.f32 %0, %1, %2;" : "=f"(q) : "f"(a), "f"(b));
  return q;
}
static __device__ __forceinline__ float tg_nan_max_f32(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
#else
  return a > b || a != a ? a : b;
#endif
}
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
static __device__ __forceinline__ void tg_cp_async_wait_group_0() {
  asm volatile("cp.async.wait_group 0;" :  :  : "memory");
}
static __device__ __forceinline__ void tg_ldmatrix_x4(uint32_t *dst, const void *src) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(dst[0]), "=r"(dst[1]), "=r"(dst[2]), "=r"(dst[3]) : "r"((uint32_t)__cvta_generic_to_shared(src)) : "memory");
}
static __device__ __forceinline__ void tg_ldmatrix_x4_trans(uint32_t *dst, const void *src) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(dst[0]), "=r"(dst[1]), "=r"(dst[2]), "=r"(dst[3]) : "r"((uint32_t)__cvta_generic_to_shared(src)) : "memory");
}
static __device__ __forceinline__ void tg_mma_m16n8k16_f32_f16(float *D, const uint32_t *A, const uint32_t *B) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" : "+f"(D[0]), "+f"(D[1]), "+f"(D[2]), "+f"(D[3]) : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B[0]), "r"(B[1]));
}

// (o_m[b: B, h: H, i: S], o_l[b: B, h: H, i: S], o_a2[b: B, h: H, i: S, d: 64]) = softmax[j: S where j < i + 1]((sum[r: 64] q[b, h, i, r] * k[b, h, j, r]) / sqrt( ...
// o[b: B, h: H, i: S, d_1: 64] = where(o_l[b, h, i] == 0.0, 0.0, o_a2[b, h, i, d_1] / (o_l[b, h, i] + (o_m[b, h, i] - o_m[b, h, i])))
// schedule: stream {threads: 128, vector: 8, block_m: 128, block_n: 64, precision: f16, warp_m: 32, pipeline: 2}
// read: 256*B*H*S*min(S - 1, 1) bytes at least; written: 128*B*H*S bytes at least
// floor on h100-sxm in us: max(dram (read + max(written - 52428800, 0)) / 3352320 + 0.12*min(read, 1),
//    l2 (read + written) / 33454080, launch 0.4)
// floor at B = 1024, H = 256, S = 1024: 30733.100832 us, bound by dram
static __global__ void __launch_bounds__(128) attention_sm_90a_o(const __half *__restrict__ q, const __half *__restrict__ k, const __half *__restrict__ v, __half *__restrict__ o, int32_t S, int32_t B, int32_t H) {
  (void)B;
  const int32_t block_number = (int32_t)blockIdx.x;
  const int32_t thread_number = (int32_t)threadIdx.x;
  extern __shared__ __align__(128) unsigned char shared[];
  __half *const q_rows = (__half *)(shared + 0);
  __half *const k_tile = (__half *)(shared + 18432);
  __half *const v_tile = (__half *)(shared + 36864);
  int32_t *const met_by = (int32_t *)(shared + 55296);
  const int32_t t = (S + 127) / 128;
  const int32_t bm = tg_unsigned_mod_i32(block_number, t);
  const int32_t batch = tg_unsigned_div_i32(block_number, t);
  const int32_t lane = thread_number % 4;
  const int32_t lane_1 = thread_number / 4 % 8;
  const int32_t warp = thread_number / 32;
  const int32_t lane_2 = lane_1 * 4 + lane;
  const int32_t thread = warp * 32 + lane_2;
  const int32_t h = tg_unsigned_mod_i32(batch, H);
  const int32_t b = tg_unsigned_div_i32(batch, H);
  const int32_t first = bm * 128;
  const int32_t end = (tg_min_i32(S, tg_min_i32(first + 128, S)) + 63) / 64;
  const int32_t whole = tg_min_i32(S, first + 1);
  float score[64];
  float m[4];
  float m_next[4];
  float m_e[64];
  float scale[4];
  float reciprocal[4];
  float l_scale[4];
  float l[4];
  float a2_scale[4];
  float a2[64];
  #pragma unroll
  for (int32_t i = 0; i < 2; ++i) {
    #pragma unroll
    for (int32_t j = 0; j < 8; ++j) {
      #pragma unroll
      for (int32_t e = 0; e < 4; ++e) {
        a2[i * 32 + j * 4 + e] = 0.0f;
      }
    }
  }
  float weight[64];
  uint32_t weight_frag[32];
  #pragma unroll
  for (int32_t i = 0; i < 2; ++i) {
    #pragma unroll
    for (int32_t h_1 = 0; h_1 < 2; ++h_1) {
      const int32_t t_1 = i * 2 + h_1;
      m[t_1] = -INFINITY;
      l[t_1] = 0.0f;
    }
  }
  int32_t met = 0;
  met = 0;
  #pragma unroll
  for (int32_t c = 0; c < 8; ++c) {
    const int32_t t_1 = thread / 8;
    const int32_t place = c * 16 + t_1;
    const int32_t t_2 = thread % 8 * 8;
    const int32_t at = t_2;
    const int32_t line = first + place;
    const int32_t t_3 = S * H * b + S * h;
    tg_cp_async_cg_16_b16(q_rows + place * 72 + at, q + (t_3 + line) * 64 + at, line < S ? 16 : 0);
  }
  #pragma unroll
  for (int32_t c = 0; c < 4; ++c) {
    const int32_t t_1 = thread / 8;
    const int32_t place = c * 16 + t_1;
    const int32_t t_2 = thread % 8 * 8;
    const int32_t at = t_2;
    const int32_t t_3 = S * H * b + S * h;
    tg_cp_async_cg_16_b16(k_tile + place * 72 + at, k + (t_3 + place) * 64 + at, place < S ? 16 : 0);
  }
  #pragma unroll
  for (int32_t c = 0; c < 4; ++c) {
    const int32_t t_1 = thread / 8;
    const int32_t place = c * 16 + t_1;
    const int32_t t_2 = thread % 8 * 8;
    const int32_t at = t_2;
    const int32_t t_3 = S * H * b + S * h;
    tg_cp_async_cg_16_b16(v_tile + place * 72 + at, v + (t_3 + place) * 64 + at, place < S ? 16 : 0);
  }
  tg_cp_async_commit_group();
  #pragma unroll
  for (int32_t i = 0; i < 2; ++i) {
    #pragma unroll
    for (int32_t h_1 = 0; h_1 < 2; ++h_1) {
      const int32_t t_1 = i * 2 + h_1;
      scale[t_1] = 0.0f;
      reciprocal[t_1] = 0.0f;
      const int32_t row = warp * 32 + i * 16 + h_1 * 8 + lane_1 + first;
      if (row < S) {
        const float t_2 = sqrtf(64.0f);
        const float s = fabsf(t_2) < 7.888609e-31f ? 1.2676506e+30f : 1.0f;
        const float r = tg_full_div_f32(1.0f, t_2 * s);
        scale[t_1] = s;
        reciprocal[t_1] = r;
      }
    }
  }
  tg_cp_async_wait_group_0();
  __syncthreads();
  uint32_t rows[32];
  #pragma unroll
  for (int32_t q_1 = 0; q_1 < 4; ++q_1) {
    #pragma unroll
    for (int32_t i = 0; i < 2; ++i) {
      const int32_t t_1 = lane_2 / 16 * 8;
      const int32_t lane_k = t_1;
      const int32_t t_2 = lane_2 % 16;
      const int32_t lane_m = t_2;
      tg_ldmatrix_x4(rows + (q_1 * 16 + i * 8) / 2, q_rows + warp * 2304 + i * 1152 + lane_m * 72 + q_1 * 16 + lane_k);
    }
  }
  for (int32_t step = 0; step < end; ++step) {
    const int32_t slot = step % 2;
    const int32_t place = step * 64;
    tg_cp_async_wait_group_0();
    __syncthreads();
    const int32_t filled = (step + 1) % 2;
    if (step + 1 < end) {
      #pragma unroll
      for (int32_t c = 0; c < 4; ++c) {
        const int32_t t_1 = thread / 8;
        const int32_t place_1 = c * 16 + t_1;
        const int32_t t_2 = thread % 8 * 8;
        const int32_t at = t_2;
        const int32_t line = step * 64 + place_1 + 64;
        const int32_t t_3 = S * H * b + S * h;
        tg_cp_async_cg_16_b16(k_tile + filled * 4608 + place_1 * 72 + at, k + (t_3 + line) * 64 + at, line < S ? 16 : 0);
      }
      #pragma unroll
      for (int32_t c = 0; c < 4; ++c) {
        const int32_t t_1 = thread / 8;
        const int32_t place_1 = c * 16 + t_1;
        const int32_t t_2 = thread % 8 * 8;
        const int32_t at = t_2;
        const int32_t line = step * 64 + place_1 + 64;
        const int32_t t_3 = S * H * b + S * h;
        tg_cp_async_cg_16_b16(v_tile + filled * 4608 + place_1 * 72 + at, v + (t_3 + line) * 64 + at, line < S ? 16 : 0);
      }
    }
    tg_cp_async_commit_group();
    const bool edge = whole < place + 64;
    #pragma unroll
    for (int32_t i = 0; i < 2; ++i) {
      #pragma unroll
      for (int32_t j = 0; j < 8; ++j) {
        #pragma unroll
        for (int32_t e = 0; e < 4; ++e) {
          score[i * 32 + j * 4 + e] = 0.0f;
        }
      }
    }
    uint32_t columns[16];
    #pragma unroll
    for (int32_t q_1 = 0; q_1 < 4; ++q_1) {
      #pragma unroll
      for (int32_t j = 0; j < 4; ++j) {
        const int32_t lane_k = lane_2 / 8 % 2 * 8;
        const int32_t t_1 = lane_2 / 16 * 8;
        const int32_t lane_n = t_1 + lane_2 % 8;
        tg_ldmatrix_x4(columns + (j * 8) / 2, k_tile + slot * 4608 + j * 1152 + lane_n * 72 + q_1 * 16 + lane_k);
      }
      #pragma unroll
      for (int32_t i = 0; i < 2; ++i) {
        #pragma unroll
        for (int32_t j = 0; j < 8; ++j) {
          tg_mma_m16n8k16_f32_f16(score + i * 32 + j * 4, rows + (q_1 * 16 + i * 8) / 2, columns + (j * 4) / 2);
        }
      }
    }
    #pragma unroll
    for (int32_t i = 0; i < 2; ++i) {
      #pragma unroll
      for (int32_t h_1 = 0; h_1 < 2; ++h_1) {
        #pragma unroll
        for (int32_t j = 0; j < 8; ++j) {
          #pragma unroll
          for (int32_t w = 0; w < 2; ++w) {
            const int32_t t_1 = i * 32 + j * 4 + h_1 * 2 + w;
            const int32_t t_2 = i * 2 + h_1;
            m_e[t_1] = score[t_1] * scale[t_2] * reciprocal[t_2];
          }
        }
      }
    }
    if (edge) {
      #pragma unroll
      for (int32_t i = 0; i < 2; ++i) {
        #pragma unroll
        for (int32_t h_1 = 0; h_1 < 2; ++h_1) {
          #pragma unroll
          for (int32_t j = 0; j < 8; ++j) {
            #pragma unroll
            for (int32_t w = 0; w < 2; ++w) {
              const int32_t t_1 = i * 32 + j * 4 + h_1 * 2 + w;
              const int32_t t_2 = j * 8 + lane * 2 + place + w;
              const bool t_3 = t_2 < S && t_2 < tg_min_i32(S, warp * 32 + i * 16 + h_1 * 8 + lane_1 + first + 1);
              m_e[t_1] = t_3 ? m_e[t_1] : -INFINITY;
            }
          }
        }
      }
    }
    #pragma unroll
    for (int32_t i = 0; i < 2; ++i) {
      #pragma unroll
      for (int32_t h_1 = 0; h_1 < 2; ++h_1) {
        const int32_t t_1 = i * 2 + h_1;
        m_next[t_1] = m[t_1];
        #pragma unroll
        for (int32_t j = 0; j < 8; ++j) {
          #pragma unroll
          for (int32_t w = 0; w < 2; ++w) {
            m_next[t_1] = tg_nan_max_f32(m_next[t_1], m_e[i * 32 + j * 4 + h_1 * 2 + w]);
          }
        }
        const float other = __shfl_xor_sync(0xffffffffu, m_next[t_1], 1);
        m_next[t_1] = tg_nan_max_f32(m_next[t_1], other);
        const float other_1 = __shfl_xor_sync(0xffffffffu, m_next[t_1], 2);
        m_next[t_1] = tg_nan_max_f32(m_next[t_1], other_1);
        const float t_2 = m_next[t_1];
        const float t_3 = m[t_1];
        const bool c = t_2 <= t_3;
        l_scale[t_1] = c ? 1.0f : exp2f((t_3 - t_2) * 1.442695f);
        l[t_1] = l[t_1] * l_scale[t_1];
        const float t_4 = m_next[t_1];
        const float t_5 = m[t_1];
        const bool c_1 = t_4 <= t_5;
        a2_scale[t_1] = c_1 ? 1.0f : exp2f((t_5 - t_4) * 1.442695f);
        #pragma unroll
        for (int32_t j = 0; j < 8; ++j) {
          #pragma unroll
          for (int32_t w = 0; w < 2; ++w) {
            const int32_t t_6 = i * 32 + j * 4 + h_1 * 2 + w;
            a2[t_6] = a2[t_6] * a2_scale[t_1];
          }
        }
        m[t_1] = m_next[t_1];
      }
    }
    #pragma unroll
    for (int32_t i = 0; i < 2; ++i) {
      #pragma unroll
      for (int32_t h_1 = 0; h_1 < 2; ++h_1) {
        #pragma unroll
        for (int32_t j = 0; j < 8; ++j) {
          #pragma unroll
          for (int32_t w = 0; w < 2; ++w) {
            const int32_t t_1 = i * 32 + j * 4 + h_1 * 2 + w;
            weight[t_1] = exp2f((m_e[t_1] - m[i * 2 + h_1]) * 1.442695f);
          }
        }
      }
    }
    #pragma unroll
    for (int32_t i = 0; i < 2; ++i) {
      #pragma unroll
      for (int32_t h_1 = 0; h_1 < 2; ++h_1) {
        if (m[i * 2 + h_1] - m[i * 2 + h_1] != 0.0f) {
          #pragma unroll
          for (int32_t j = 0; j < 8; ++j) {
            #pragma unroll
            for (int32_t w = 0; w < 2; ++w) {
              const float t_1 = m[i * 2 + h_1];
              const int32_t t_2 = i * 32 + j * 4 + h_1 * 2 + w;
              const float t_3 = m_e[t_2];
              const bool c = t_1 <= t_3;
              weight[t_2] = c ? 1.0f : exp2f((t_3 - t_1) * 1.442695f);
            }
          }
        }
      }
    }
    if (edge) {
      #pragma unroll
      for (int32_t i = 0; i < 2; ++i) {
        #pragma unroll
        for (int32_t h_1 = 0; h_1 < 2; ++h_1) {
          #pragma unroll
          for (int32_t j = 0; j < 8; ++j) {
            #pragma unroll
            for (int32_t w = 0; w < 2; ++w) {
              const int32_t t_1 = i * 32 + j * 4 + h_1 * 2 + w;
              const int32_t t_2 = j * 8 + lane * 2 + place + w;
              const bool t_3 = t_2 < S && t_2 < tg_min_i32(S, warp * 32 + i * 16 + h_1 * 8 + lane_1 + first + 1);
              weight[t_1] = t_3 ? weight[t_1] : 0.0f;
            }
          }
        }
      }
    }
    #pragma unroll
    for (int32_t i = 0; i < 2; ++i) {
      #pragma unroll
      for (int32_t h_1 = 0; h_1 < 2; ++h_1) {
        #pragma unroll
        for (int32_t j = 0; j < 8; ++j) {
          #pragma unroll
          for (int32_t w = 0; w < 2; ++w) {
            const int32_t t_1 = i * 2 + h_1;
            l[t_1] += weight[i * 32 + j * 4 + h_1 * 2 + w];
          }
        }
      }
    }
    #pragma unroll
    for (int32_t i = 0; i < 2; ++i) {
      #pragma unroll
      for (int32_t j = 0; j < 4; ++j) {
        const int32_t t_1 = i * 32 + j * 8;
        #pragma unroll
        for (int pair = 0; pair < 4; ++pair) weight_frag[(t_1) / 2 + pair] = tg_pair_f16(weight[t_1 + 2 * pair], weight[t_1 + 2 * pair + 1]);
      }
    }
    if (edge) {
      __syncthreads();
      #pragma unroll
      for (int32_t c = 0; c < 4; ++c) {
        const int32_t t_1 = thread / 8;
        const int32_t line = c * 16 + t_1;
        const int32_t t_2 = thread % 8 * 8;
        const int32_t at = t_2;
        float values[8];
        const int32_t t_3 = slot * 4608 + line * 72 + at;
        {
          const uint4 raw = *(const uint4 *)(v_tile + t_3);
          const __half *part = (const __half *)&raw;
          #pragma unroll
          for (int lane_3 = 0; lane_3 < 8; ++lane_3) values[lane_3] = __half2float(part[lane_3]);
        }
        const bool t_4 = values[0] - values[0] == 0.0f && values[1] - values[1] == 0.0f && values[2] - values[2] == 0.0f && values[3] - values[3] == 0.0f;
        const bool t_5 = t_4 && values[4] - values[4] == 0.0f && values[5] - values[5] == 0.0f && values[6] - values[6] == 0.0f;
        const bool finite = t_5 && values[7] - values[7] == 0.0f;
        if (!finite) {
          met = 1;
          #pragma unroll
          for (int32_t e = 0; e < 8; ++e) {
            values[e] = values[e] - values[e] == 0.0f ? values[e] : 0.0f;
          }
          {
            __align__(16) __half part[8];
            #pragma unroll
            for (int lane_3 = 0; lane_3 < 8; ++lane_3) part[lane_3] = __float2half_rn(values[lane_3]);
            *(uint4 *)(v_tile + t_3) = *(const uint4 *)part;
          }
        }
      }
      __syncthreads();
    }
    uint32_t columns_1[16];
    #pragma unroll
    for (int32_t q_1 = 0; q_1 < 4; ++q_1) {
      #pragma unroll
      for (int32_t j = 0; j < 4; ++j) {
        const int32_t t_1 = lane_2 % 16;
        const int32_t lane_k = t_1;
        const int32_t t_2 = lane_2 / 16 * 8;
        const int32_t lane_n = t_2;
        tg_ldmatrix_x4_trans(columns_1 + (j * 8) / 2, v_tile + slot * 4608 + q_1 * 1152 + lane_k * 72 + j * 16 + lane_n);
      }
      #pragma unroll
      for (int32_t i = 0; i < 2; ++i) {
        #pragma unroll
        for (int32_t j = 0; j < 8; ++j) {
          tg_mma_m16n8k16_f32_f16(a2 + i * 32 + j * 4, weight_frag + (i * 32 + q_1 * 8) / 2, columns_1 + (j * 4) / 2);
        }
      }
    }
  }
  const int32_t last_met = tg_min_i32(S, end * 64);
  const int32_t other = __shfl_xor_sync(0xffffffffu, met, 1);
  met = tg_max_i32(met, other);
  const int32_t other_1 = __shfl_xor_sync(0xffffffffu, met, 2);
  met = tg_max_i32(met, other_1);
  const int32_t other_2 = __shfl_xor_sync(0xffffffffu, met, 4);
  met = tg_max_i32(met, other_2);
  const int32_t other_3 = __shfl_xor_sync(0xffffffffu, met, 8);
  met = tg_max_i32(met, other_3);
  const int32_t other_4 = __shfl_xor_sync(0xffffffffu, met, 16);
  met = tg_max_i32(met, other_4);
  if (lane_2 == 0) {
    met_by[warp] = met;
  }
  __syncthreads();
  const int32_t met_in = met_by[0];
  const int32_t met_in_1 = met_by[1];
  const int32_t met_in_2 = met_by[2];
  const int32_t met_in_3 = met_by[3];
  const int32_t any = tg_max_i32(tg_max_i32(tg_max_i32(tg_max_i32(0, met_in), met_in_1), met_in_2), met_in_3);
  if (0 < any) {
    for (int32_t j = 0; j < last_met; ++j) {
      #pragma unroll
      for (int32_t i = 0; i < 2; ++i) {
        #pragma unroll
        for (int32_t h_1 = 0; h_1 < 2; ++h_1) {
          const int32_t row = warp * 32 + i * 16 + h_1 * 8 + lane_1 + first;
          if (row < S) {
            if (j < S && j < tg_min_i32(S, row + 1)) {
              #pragma unroll
              for (int32_t j_1 = 0; j_1 < 8; ++j_1) {
                #pragma unroll
                for (int32_t w = 0; w < 2; ++w) {
                  const int32_t column = j_1 * 8 + lane * 2 + w;
                  const int32_t t_1 = S * H * b + S * h;
                  const float v_1 = __half2float(v[(t_1 + j) * 64 + column]);
                  const int32_t t_2 = i * 32 + j_1 * 4 + h_1 * 2 + w;
                  a2[t_2] = v_1 - v_1 == 0.0f ? a2[t_2] : NAN;
                }
              }
            }
          }
        }
      }
    }
  }
  #pragma unroll
  for (int32_t i = 0; i < 2; ++i) {
    #pragma unroll
    for (int32_t h_1 = 0; h_1 < 2; ++h_1) {
      const int32_t t_1 = i * 2 + h_1;
      const float other_5 = __shfl_xor_sync(0xffffffffu, l[t_1], 1);
      l[t_1] += other_5;
      const float other_6 = __shfl_xor_sync(0xffffffffu, l[t_1], 2);
      l[t_1] += other_6;
    }
  }
  #pragma unroll
  for (int32_t i = 0; i < 2; ++i) {
    #pragma unroll
    for (int32_t h_1 = 0; h_1 < 2; ++h_1) {
      const int32_t row = warp * 32 + i * 16 + h_1 * 8 + lane_1 + first;
      if (row < S) {
        const int32_t t_1 = i * 2 + h_1;
        const float t_2 = m[t_1];
        const float t_3 = l[t_1];
        const bool t_4 = t_3 == 0.0f;
        const float t_5 = t_3 + (t_2 - t_2);
        #pragma unroll
        for (int32_t j = 0; j < 8; ++j) {
          const int32_t column = j * 8 + lane * 2;
          float o_o[2];
          #pragma unroll
          for (int32_t e = 0; e < 2; ++e) {
            o_o[e] = t_4 ? 0.0f : tg_full_div_f32(a2[i * 32 + j * 4 + h_1 * 2 + e], t_5);
          }
          const int32_t t_6 = S * H * b + S * h;
          {
            __align__(4) __half part[2];
            #pragma unroll
            for (int lane_3 = 0; lane_3 < 2; ++lane_3) part[lane_3] = __float2half_rn(o_o[lane_3]);
            *(uint32_t *)(o + (t_6 + row) * 64 + column) = *(const uint32_t *)part;
          }
        }
      }
    }
  }
}

// (o_m[b: B, h: H, i: S], o_l[b: B, h: H, i: S], o_a2[b: B, h: H, i: S, d: 64]) = softmax[j: S where j < i + 1]((sum[r: 64] q[b, h, i, r] * k[b, h, j, r]) / sqrt( ...
// o[b: B, h: H, i: S, d_1: 64] = where(o_l[b, h, i] == 0.0, 0.0, o_a2[b, h, i, d_1] / (o_l[b, h, i] + (o_m[b, h, i] - o_m[b, h, i])))
// schedule: stream {threads: 128, vector: 8, block_m: 128, block_n: 64, precision: f16, warp_m: 32, pipeline: 2}
// read: 256*B*H*S*min(S - 1, 1) bytes at least; written: 128*B*H*S bytes at least
// floor on h100-sxm in us: max(dram (read + max(written - 52428800, 0)) / 3352320 + 0.12*min(read, 1),
//    l2 (read + written) / 33454080, launch 0.4)
// floor at B = 1024, H = 256, S = 1024: 30733.100832 us, bound by dram
static __global__ void __launch_bounds__(128) attention_sm_90a_o_wide(const __half *__restrict__ q, const __half *__restrict__ k, const __half *__restrict__ v, __half *__restrict__ o, int64_t S, int64_t B, int64_t H) {
  (void)B;
  const int64_t block_number = (int64_t)blockIdx.x;
  const int64_t thread_number = (int64_t)threadIdx.x;
  extern __shared__ __align__(128) unsigned char shared[];
  __half *const q_rows = (__half *)(shared + 0);
  __half *const k_tile = (__half *)(shared + 18432);
  __half *const v_tile = (__half *)(shared + 36864);
  int32_t *const met_by = (int32_t *)(shared + 55296);
  const int64_t t = (S + 127) / 128;
  const int64_t bm = tg_unsigned_mod_i64(block_number, t);
  const int64_t batch = tg_unsigned_div_i64(block_number, t);
  const int64_t lane = thread_number % 4;
  const int64_t lane_1 = thread_number / 4 % 8;
  const int64_t warp = thread_number / 32;
  const int64_t lane_2 = lane_1 * 4 + lane;
  const int64_t thread = warp * 32 + lane_2;
  const int64_t h = tg_unsigned_mod_i64(batch, H);
  const int64_t b = tg_unsigned_div_i64(batch, H);
  const int64_t first = bm * 128;
  const int64_t end = (tg_min_i64(S, tg_min_i64(first + 128, S)) + 63) / 64;
  const int64_t whole = tg_min_i64(S, first + 1);
  float score[64];
  float m[4];
  float m_next[4];
  float m_e[64];
  float scale[4];
  float reciprocal[4];
  float l_scale[4];
  float l[4];
  float a2_scale[4];
  float a2[64];
  #pragma unroll
  for (int64_t i = 0; i < 2; ++i) {
    #pragma unroll
    for (int64_t j = 0; j < 8; ++j) {
      #pragma unroll
      for (int64_t e = 0; e < 4; ++e) {
        a2[i * 32 + j * 4 + e] = 0.0f;
      }
    }
  }
  float weight[64];
  uint32_t weight_frag[32];
  #pragma unroll
  for (int64_t i = 0; i < 2; ++i) {
    #pragma unroll
    for (int64_t h_1 = 0; h_1 < 2; ++h_1) {
      const int64_t t_1 = i * 2 + h_1;
      m[t_1] = -INFINITY;
      l[t_1] = 0.0f;
    }
  }
  int32_t met = 0;
  met = 0;
  #pragma unroll
  for (int64_t c = 0; c < 8; ++c) {
    const int64_t t_1 = thread / 8;
    const int64_t place = c * 16 + t_1;
    const int64_t t_2 = thread % 8 * 8;
    const int64_t at = t_2;
    const int64_t line = first + place;
    const int64_t t_3 = S * H * b + S * h;
    tg_cp_async_cg_16_b16(q_rows + place * 72 + at, q + (t_3 + line) * 64 + at, line < S ? 16 : 0);
  }
  #pragma unroll
  for (int64_t c = 0; c < 4; ++c) {
    const int64_t t_1 = thread / 8;
    const int64_t place = c * 16 + t_1;
    const int64_t t_2 = thread % 8 * 8;
    const int64_t at = t_2;
    const int64_t t_3 = S * H * b + S * h;
    tg_cp_async_cg_16_b16(k_tile + place * 72 + at, k + (t_3 + place) * 64 + at, place < S ? 16 : 0);
  }
  #pragma unroll
  for (int64_t c = 0; c < 4; ++c) {
    const int64_t t_1 = thread / 8;
    const int64_t place = c * 16 + t_1;
    const int64_t t_2 = thread % 8 * 8;
    const int64_t at = t_2;
    const int64_t t_3 = S * H * b + S * h;
    tg_cp_async_cg_16_b16(v_tile + place * 72 + at, v + (t_3 + place) * 64 + at, place < S ? 16 : 0);
  }
  tg_cp_async_commit_group();
  #pragma unroll
  for (int64_t i = 0; i < 2; ++i) {
    #pragma unroll
    for (int64_t h_1 = 0; h_1 < 2; ++h_1) {
      const int64_t t_1 = i * 2 + h_1;
      scale[t_1] = 0.0f;
      reciprocal[t_1] = 0.0f;
      const int64_t row = warp * 32 + i * 16 + h_1 * 8 + lane_1 + first;
      if (row < S) {
        const float t_2 = sqrtf(64.0f);
        const float s = fabsf(t_2) < 7.888609e-31f ? 1.2676506e+30f : 1.0f;
        const float r = tg_full_div_f32(1.0f, t_2 * s);
        scale[t_1] = s;
        reciprocal[t_1] = r;
      }
    }
  }
  tg_cp_async_wait_group_0();
  __syncthreads();
  uint32_t rows[32];
  #pragma unroll
  for (int64_t q_1 = 0; q_1 < 4; ++q_1) {
    #pragma unroll
    for (int64_t i = 0; i < 2; ++i) {
      const int64_t t_1 = lane_2 / 16 * 8;
      const int64_t lane_k = t_1;
      const int64_t t_2 = lane_2 % 16;
      const int64_t lane_m = t_2;
      tg_ldmatrix_x4(rows + (q_1 * 16 + i * 8) / 2, q_rows + warp * 2304 + i * 1152 + lane_m * 72 + q_1 * 16 + lane_k);
    }
  }
  for (int64_t step = 0; step < end; ++step) {
    const int64_t slot = step % 2;
    const int64_t place = step * 64;
    tg_cp_async_wait_group_0();
    __syncthreads();
    const int64_t filled = (step + 1) % 2;
    if (step + 1 < end) {
      #pragma unroll
      for (int64_t c = 0; c < 4; ++c) {
        const int64_t t_1 = thread / 8;
        const int64_t place_1 = c * 16 + t_1;
        const int64_t t_2 = thread % 8 * 8;
        const int64_t at = t_2;
        const int64_t line = step * 64 + place_1 + 64;
        const int64_t t_3 = S * H * b + S * h;
        tg_cp_async_cg_16_b16(k_tile + filled * 4608 + place_1 * 72 + at, k + (t_3 + line) * 64 + at, line < S ? 16 : 0);
      }
      #pragma unroll
      for (int64_t c = 0; c < 4; ++c) {
        const int64_t t_1 = thread / 8;
        const int64_t place_1 = c * 16 + t_1;
        const int64_t t_2 = thread % 8 * 8;
        const int64_t at = t_2;
        const int64_t line = step * 64 + place_1 + 64;
        const int64_t t_3 = S * H * b + S * h;
        tg_cp_async_cg_16_b16(v_tile + filled * 4608 + place_1 * 72 + at, v + (t_3 + line) * 64 + at, line < S ? 16 : 0);
      }
    }
    tg_cp_async_commit_group();
    const bool edge = whole < place + 64;
    #pragma unroll
    for (int64_t i = 0; i < 2; ++i) {
      #pragma unroll
      for (int64_t j = 0; j < 8; ++j) {
        #pragma unroll
        for (int64_t e = 0; e < 4; ++e) {
          score[i * 32 + j * 4 + e] = 0.0f;
        }
      }
    }
    uint32_t columns[16];
    #pragma unroll
    for (int64_t q_1 = 0; q_1 < 4; ++q_1) {
      #pragma unroll
      for (int64_t j = 0; j < 4; ++j) {
        const int64_t lane_k = lane_2 / 8 % 2 * 8;
        const int64_t t_1 = lane_2 / 16 * 8;
        const int64_t lane_n = t_1 + lane_2 % 8;
        tg_ldmatrix_x4(columns + (j * 8) / 2, k_tile + slot * 4608 + j * 1152 + lane_n * 72 + q_1 * 16 + lane_k);
      }
      #pragma unroll
      for (int64_t i = 0; i < 2; ++i) {
        #pragma unroll
        for (int64_t j = 0; j < 8; ++j) {
          tg_mma_m16n8k16_f32_f16(score + i * 32 + j * 4, rows + (q_1 * 16 + i * 8) / 2, columns + (j * 4) / 2);
        }
      }
    }
    #pragma unroll
    for (int64_t i = 0; i < 2; ++i) {
      #pragma unroll
      for (int64_t h_1 = 0; h_1 < 2; ++h_1) {
        #pragma unroll
        for (int64_t j = 0; j < 8; ++j) {
          #pragma unroll
          for (int64_t w = 0; w < 2; ++w) {
            const int64_t t_1 = i * 32 + j * 4 + h_1 * 2 + w;
            const int64_t t_2 = i * 2 + h_1;
            m_e[t_1] = score[t_1] * scale[t_2] * reciprocal[t_2];
          }
        }
      }
    }
    if (edge) {
      #pragma unroll
      for (int64_t i = 0; i < 2; ++i) {
        #pragma unroll
        for (int64_t h_1 = 0; h_1 < 2; ++h_1) {
          #pragma unroll
          for (int64_t j = 0; j < 8; ++j) {
            #pragma unroll
            for (int64_t w = 0; w < 2; ++w) {
              const int64_t t_1 = i * 32 + j * 4 + h_1 * 2 + w;
              const int64_t t_2 = j * 8 + lane * 2 + place + w;
              const bool t_3 = t_2 < S && t_2 < tg_min_i64(S, warp * 32 + i * 16 + h_1 * 8 + lane_1 + first + 1);
              m_e[t_1] = t_3 ? m_e[t_1] : -INFINITY;
            }
          }
        }
      }
    }
    #pragma unroll
    for (int64_t i = 0; i < 2; ++i) {
      #pragma unroll
      for (int64_t h_1 = 0; h_1 < 2; ++h_1) {
        const int64_t t_1 = i * 2 + h_1;
        m_next[t_1] = m[t_1];
        #pragma unroll
        for (int64_t j = 0; j < 8; ++j) {
          #pragma unroll
          for (int64_t w = 0; w < 2; ++w) {
            m_next[t_1] = tg_nan_max_f32(m_next[t_1], m_e[i * 32 + j * 4 + h_1 * 2 + w]);
          }
        }
        const float other = __shfl_xor_sync(0xffffffffu, m_next[t_1], 1);
        m_next[t_1] = tg_nan_max_f32(m_next[t_1], other);
        const float other_1 = __shfl_xor_sync(0xffffffffu, m_next[t_1], 2);
        m_next[t_1] = tg_nan_max_f32(m_next[t_1], other_1);
        const float t_2 = m_next[t_1];
        const float t_3 = m[t_1];
        const bool c = t_2 <= t_3;
        l_scale[t_1] = c ? 1.0f : exp2f((t_3 - t_2) * 1.442695f);
        l[t_1] = l[t_1] * l_scale[t_1];
        const float t_4 = m_next[t_1];
        const float t_5 = m[t_1];
        const bool c_1 = t_4 <= t_5;
        a2_scale[t_1] = c_1 ? 1.0f : exp2f((t_5 - t_4) * 1.442695f);
        #pragma unroll
        for (int64_t j = 0; j < 8; ++j) {
          #pragma unroll
          for (int64_t w = 0; w < 2; ++w) {
            const int64_t t_6 = i * 32 + j * 4 + h_1 * 2 + w;
            a2[t_6] = a2[t_6] * a2_scale[t_1];
          }
        }
        m[t_1] = m_next[t_1];
      }
    }
    #pragma unroll
    for (int64_t i = 0; i < 2; ++i) {
      #pragma unroll
      for (int64_t h_1 = 0; h_1 < 2; ++h_1) {
        #pragma unroll
        for (int64_t j = 0; j < 8; ++j) {
          #pragma unroll
          for (int64_t w = 0; w < 2; ++w) {
            const int64_t t_1 = i * 32 + j * 4 + h_1 * 2 + w;
            weight[t_1] = exp2f((m_e[t_1] - m[i * 2 + h_1]) * 1.442695f);
          }
        }
      }
    }
    #pragma unroll
    for (int64_t i = 0; i < 2; ++i) {
      #pragma unroll
      for (int64_t h_1 = 0; h_1 < 2; ++h_1) {
        if (m[i * 2 + h_1] - m[i * 2 + h_1] != 0.0f) {
          #pragma unroll
          for (int64_t j = 0; j < 8; ++j) {
            #pragma unroll
            for (int64_t w = 0; w < 2; ++w) {
              const float t_1 = m[i * 2 + h_1];
              const int64_t t_2 = i * 32 + j * 4 + h_1 * 2 + w;
              const float t_3 = m_e[t_2];
              const bool c = t_1 <= t_3;
              weight[t_2] = c ? 1.0f : exp2f((t_3 - t_1) * 1.442695f);
            }
          }
        }
      }
    }
    if (edge) {
      #pragma unroll
      for (int64_t i = 0; i < 2; ++i) {
        #pragma unroll
        for (int64_t h_1 = 0; h_1 < 2; ++h_1) {
          #pragma unroll
          for (int64_t j = 0; j < 8; ++j) {
            #pragma unroll
            for (int64_t w = 0; w < 2; ++w) {
              const int64_t t_1 = i * 32 + j * 4 + h_1 * 2 + w;
              const int64_t t_2 = j * 8 + lane * 2 + place + w;
              const bool t_3 = t_2 < S && t_2 < tg_min_i64(S, warp * 32 + i * 16 + h_1 * 8 + lane_1 + first + 1);
              weight[t_1] = t_3 ? weight[t_1] : 0.0f;
            }
          }
        }
      }
    }
    #pragma unroll
    for (int64_t i = 0; i < 2; ++i) {
      #pragma unroll
      for (int64_t h_1 = 0; h_1 < 2; ++h_1) {
        #pragma unroll
        for (int64_t j = 0; j < 8; ++j) {
          #pragma unroll
          for (int64_t w = 0; w < 2; ++w) {
            const int64_t t_1 = i * 2 + h_1;
            l[t_1] += weight[i * 32 + j * 4 + h_1 * 2 + w];
          }
        }
      }
    }
    #pragma unroll
    for (int64_t i = 0; i < 2; ++i) {
      #pragma unroll
      for (int64_t j = 0; j < 4; ++j) {
        const int64_t t_1 = i * 32 + j * 8;
        #pragma unroll
        for (int pair = 0; pair < 4; ++pair) weight_frag[(t_1) / 2 + pair] = tg_pair_f16(weight[t_1 + 2 * pair], weight[t_1 + 2 * pair + 1]);
      }
    }
    if (edge) {
      __syncthreads();
      #pragma unroll
      for (int64_t c = 0; c < 4; ++c) {
        const int64_t t_1 = thread / 8;
        const int64_t line = c * 16 + t_1;
        const int64_t t_2 = thread % 8 * 8;
        const int64_t at = t_2;
        float values[8];
        const int64_t t_3 = slot * 4608 + line * 72 + at;
        {
          const uint4 raw = *(const uint4 *)(v_tile + t_3);
          const __half *part = (const __half *)&raw;
          #pragma unroll
          for (int lane_3 = 0; lane_3 < 8; ++lane_3) values[lane_3] = __half2float(part[lane_3]);
        }
        const bool t_4 = values[0] - values[0] == 0.0f && values[1] - values[1] == 0.0f && values[2] - values[2] == 0.0f && values[3] - values[3] == 0.0f;
        const bool t_5 = t_4 && values[4] - values[4] == 0.0f && values[5] - values[5] == 0.0f && values[6] - values[6] == 0.0f;
        const bool finite = t_5 && values[7] - values[7] == 0.0f;
        if (!finite) {
          met = 1;
          #pragma unroll
          for (int64_t e = 0; e < 8; ++e) {
            values[e] = values[e] - values[e] == 0.0f ? values[e] : 0.0f;
          }
          {
            __align__(16) __half part[8];
            #pragma unroll
            for (int lane_3 = 0; lane_3 < 8; ++lane_3) part[lane_3] = __float2half_rn(values[lane_3]);
            *(uint4 *)(v_tile + t_3) = *(const uint4 *)part;
          }
        }
      }
      __syncthreads();
    }
    uint32_t columns_1[16];
    #pragma unroll
    for (int64_t q_1 = 0; q_1 < 4; ++q_1) {
      #pragma unroll
      for (int64_t j = 0; j < 4; ++j) {
        const int64_t t_1 = lane_2 % 16;
        const int64_t lane_k = t_1;
        const int64_t t_2 = lane_2 / 16 * 8;
        const int64_t lane_n = t_2;
        tg_ldmatrix_x4_trans(columns_1 + (j * 8) / 2, v_tile + slot * 4608 + q_1 * 1152 + lane_k * 72 + j * 16 + lane_n);
      }
      #pragma unroll
      for (int64_t i = 0; i < 2; ++i) {
        #pragma unroll
        for (int64_t j = 0; j < 8; ++j) {
          tg_mma_m16n8k16_f32_f16(a2 + i * 32 + j * 4, weight_frag + (i * 32 + q_1 * 8) / 2, columns_1 + (j * 4) / 2);
        }
      }
    }
  }
  const int64_t last_met = tg_min_i64(S, end * 64);
  const int32_t other = __shfl_xor_sync(0xffffffffu, met, 1);
  met = tg_max_i32(met, other);
  const int32_t other_1 = __shfl_xor_sync(0xffffffffu, met, 2);
  met = tg_max_i32(met, other_1);
  const int32_t other_2 = __shfl_xor_sync(0xffffffffu, met, 4);
  met = tg_max_i32(met, other_2);
  const int32_t other_3 = __shfl_xor_sync(0xffffffffu, met, 8);
  met = tg_max_i32(met, other_3);
  const int32_t other_4 = __shfl_xor_sync(0xffffffffu, met, 16);
  met = tg_max_i32(met, other_4);
  if (lane_2 == 0) {
    met_by[warp] = met;
  }
  __syncthreads();
  const int32_t met_in = met_by[0];
  const int32_t met_in_1 = met_by[1];
  const int32_t met_in_2 = met_by[2];
  const int32_t met_in_3 = met_by[3];
  const int32_t any = tg_max_i32(tg_max_i32(tg_max_i32(tg_max_i32(0, met_in), met_in_1), met_in_2), met_in_3);
  if (0 < any) {
    for (int64_t j = 0; j < last_met; ++j) {
      #pragma unroll
      for (int64_t i = 0; i < 2; ++i) {
        #pragma unroll
        for (int64_t h_1 = 0; h_1 < 2; ++h_1) {
          const int64_t row = warp * 32 + i * 16 + h_1 * 8 + lane_1 + first;
          if (row < S) {
            if (j < S && j < tg_min_i64(S, row + 1)) {
              #pragma unroll
              for (int64_t j_1 = 0; j_1 < 8; ++j_1) {
                #pragma unroll
                for (int64_t w = 0; w < 2; ++w) {
                  const int64_t column = j_1 * 8 + lane * 2 + w;
                  const int64_t t_1 = S * H * b + S * h;
                  const float v_1 = __half2float(v[(t_1 + j) * 64 + column]);
                  const int64_t t_2 = i * 32 + j_1 * 4 + h_1 * 2 + w;
                  a2[t_2] = v_1 - v_1 == 0.0f ? a2[t_2] : NAN;
                }
              }
            }
          }
        }
      }
    }
  }
  #pragma unroll
  for (int64_t i = 0; i < 2; ++i) {
    #pragma unroll
    for (int64_t h_1 = 0; h_1 < 2; ++h_1) {
      const int64_t t_1 = i * 2 + h_1;
      const float other_5 = __shfl_xor_sync(0xffffffffu, l[t_1], 1);
      l[t_1] += other_5;
      const float other_6 = __shfl_xor_sync(0xffffffffu, l[t_1], 2);
      l[t_1] += other_6;
    }
  }
  #pragma unroll
  for (int64_t i = 0; i < 2; ++i) {
    #pragma unroll
    for (int64_t h_1 = 0; h_1 < 2; ++h_1) {
      const int64_t row = warp * 32 + i * 16 + h_1 * 8 + lane_1 + first;
      if (row < S) {
        const int64_t t_1 = i * 2 + h_1;
        const float t_2 = m[t_1];
        const float t_3 = l[t_1];
        const bool t_4 = t_3 == 0.0f;
        const float t_5 = t_3 + (t_2 - t_2);
        #pragma unroll
        for (int64_t j = 0; j < 8; ++j) {
          const int64_t column = j * 8 + lane * 2;
          float o_o[2];
          #pragma unroll
          for (int64_t e = 0; e < 2; ++e) {
            o_o[e] = t_4 ? 0.0f : tg_full_div_f32(a2[i * 32 + j * 4 + h_1 * 2 + e], t_5);
          }
          const int64_t t_6 = S * H * b + S * h;
          {
            __align__(4) __half part[2];
            #pragma unroll
            for (int lane_3 = 0; lane_3 < 2; ++lane_3) part[lane_3] = __float2half_rn(o_o[lane_3]);
            *(uint32_t *)(o + (t_6 + row) * 64 + column) = *(const uint32_t *)part;
          }
        }
      }
    }
  }
}

size_t attention_sm_90a_workspace_bytes(const attention_dims *dims) {
  if (!dims) return SIZE_MAX;
  const int64_t B = dims->B;
  if (B < 1 || B > 1024) return SIZE_MAX;
  const int64_t H = dims->H;
  if (H < 1 || H > 256) return SIZE_MAX;
  const int64_t S = dims->S;
  if (S < 1 || S > 131072) return SIZE_MAX;
  return (size_t)0;
}

tg_status attention_sm_90a_run(const attention_args *args, const attention_dims *dims, void *workspace, size_t bytes,
                               void *stream) {
  (void)workspace;
  (void)bytes;
  if (!args || !dims) return TG_E_NULL;
  const int64_t B = dims->B;
  if (B < 1 || B > 1024) return TG_E_DIM;
  const int64_t H = dims->H;
  if (H < 1 || H > 256) return TG_E_DIM;
  const int64_t S = dims->S;
  if (S < 1 || S > 131072) return TG_E_DIM;
  const int64_t t = B * H * S * 64;
  const void *const pointers[] = {args->q, args->k, args->v, args->o};
  const uint64_t sizes[] = {(uint64_t)(t * 2), (uint64_t)(t * 2), (uint64_t)(t * 2), (uint64_t)(t * 2)};
  static const uint16_t alignments[] = {16, 16, 16, 16};
  static const bool written[] = {false, false, false, true};
  for (int i = 0; i < 4; ++i) {
    if (sizes[i] != 0 && !pointers[i]) return TG_E_NULL;
    if (tg_host_misaligned(pointers[i], alignments[i])) return TG_E_ALIGN;
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      if (i != j && written[i] && tg_host_overlap(pointers[i], sizes[i], pointers[j], sizes[j])) return TG_E_ALIAS;
    }
  }
  // o
  if (t <= 2147483647) {
    const int64_t t_1 = (S + 127) / 128 * (B * H);
    const int64_t blocks = t_1;
    if (blocks > 0) {
      cudaLaunchConfig_t config = {};
      config.gridDim = dim3((unsigned)blocks);
      config.blockDim = dim3(128);
      config.stream = (cudaStream_t)stream;
      config.dynamicSmemBytes = 55424;
      if (cudaFuncSetAttribute(attention_sm_90a_o, cudaFuncAttributeMaxDynamicSharedMemorySize, 55424) != cudaSuccess) return TG_E_LAUNCH;
      if (cudaLaunchKernelEx(&config, attention_sm_90a_o, (const __half *)args->q, (const __half *)args->k, (const __half *)args->v, (__half *)args->o, (int32_t)S, (int32_t)B, (int32_t)H) != cudaSuccess) return TG_E_LAUNCH;
    }
  } else {
    const int64_t t_1 = (S + 127) / 128 * (B * H);
    const int64_t blocks = t_1;
    if (blocks > 0) {
      cudaLaunchConfig_t config = {};
      config.gridDim = dim3((unsigned)blocks);
      config.blockDim = dim3(128);
      config.stream = (cudaStream_t)stream;
      config.dynamicSmemBytes = 55424;
      if (cudaFuncSetAttribute(attention_sm_90a_o_wide, cudaFuncAttributeMaxDynamicSharedMemorySize, 55424) != cudaSuccess) return TG_E_LAUNCH;
      if (cudaLaunchKernelEx(&config, attention_sm_90a_o_wide, (const __half *)args->q, (const __half *)args->k, (const __half *)args->v, (__half *)args->o, S, B, H) != cudaSuccess) return TG_E_LAUNCH;
    }
  }
  return TG_OK;
}
