// Helpers of kernels that only this language has: 8-bit floats by the vendor's conversions, single
// instructions for division, min and max, and the approximate functions of --fast-math. `static inline` stands for the language's own head.
#include <cuda_fp8.h>

//// tg_f32_to_e4m3
static inline uint8_t tg_f32_to_e4m3(float value) {
  return (uint8_t)__nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3);
}
//// tg_e4m3_to_f32
static inline float tg_e4m3_to_f32(uint8_t byte) {
  return __half2float(__half(__nv_cvt_fp8_to_halfraw(byte, __NV_E4M3)));
}
//// tg_f32_to_e5m2
static inline uint8_t tg_f32_to_e5m2(float value) {
  return (uint8_t)__nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E5M2);
}
//// tg_e5m2_to_f32
static inline float tg_e5m2_to_f32(uint8_t byte) {
  return __half2float(__half(__nv_cvt_fp8_to_halfraw(byte, __NV_E5M2)));
}
//// tg_pair_f16
// Two values side by side in 32 bits, the first in the lower half, each rounded to nearest even.
static inline uint32_t tg_pair_f16(float a, float b) {
  uint32_t r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
  return r;
}
//// tg_pair_bf16
static inline uint32_t tg_pair_bf16(float a, float b) {
  uint32_t r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
  return r;
}
//// tg_fast_exp_f32
static inline float tg_fast_exp_f32(float a) { return __expf(a); }
//// tg_fast_exp_f64
static inline double tg_fast_exp_f64(double a) { return exp(a); }
//// tg_fast_log_f32
static inline float tg_fast_log_f32(float a) { return __logf(a); }
//// tg_fast_log_f64
static inline double tg_fast_log_f64(double a) { return log(a); }
//// tg_fast_log2_f32
static inline float tg_fast_log2_f32(float a) { return __log2f(a); }
//// tg_fast_log2_f64
static inline double tg_fast_log2_f64(double a) { return log2(a); }
//// tg_fast_sin_f32
static inline float tg_fast_sin_f32(float a) { return __sinf(a); }
//// tg_fast_sin_f64
static inline double tg_fast_sin_f64(double a) { return sin(a); }
//// tg_fast_cos_f32
static inline float tg_fast_cos_f32(float a) { return __cosf(a); }
//// tg_fast_cos_f64
static inline double tg_fast_cos_f64(double a) { return cos(a); }
//// tg_fast_pow_f32
static inline float tg_fast_pow_f32(float a, float b) { return __powf(a, b); }
//// tg_fast_pow_f64
static inline double tg_fast_pow_f64(double a, double b) { return pow(a, b); }
//// tg_fast_div_f32
static inline float tg_fast_div_f32(float a, float b) { return __fdividef(a, b); }
//// tg_fast_div_f64
static inline double tg_fast_div_f64(double a, double b) { return a / b; }
//// tg_full_div_f32
// At most 2 units in the last place over the full range of both operands (PTX ISA, div.full.f32).
static inline float tg_full_div_f32(float a, float b) {
  float q;
  asm("div.full.f32 %0, %1, %2;" : "=f"(q) : "f"(a), "f"(b));
  return q;
}
//// tg_full_div_f64
static inline double tg_full_div_f64(double a, double b) { return a / b; }
//// tg_nan_max_f32
static inline float tg_nan_max_f32(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
#else
  return a > b || a != a ? a : b;
#endif
}
//// tg_nan_max_f64
static inline double tg_nan_max_f64(double a, double b) { return a > b || a != a ? a : b; }
//// tg_nan_min_f32
static inline float tg_nan_min_f32(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float r;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
#else
  return a < b || a != a ? a : b;
#endif
}
//// tg_nan_min_f64
static inline double tg_nan_min_f64(double a, double b) { return a < b || a != a ? a : b; }
