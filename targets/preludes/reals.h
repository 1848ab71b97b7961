// Float helpers of kernels (language.md, section 5): NaN goes through min and max, conversions to
// integers truncate, saturate, and give 0 for NaN. Plain C; each block is one function.
#include <math.h>
#include <stdint.h>

//// tg_min_f32
static inline float tg_min_f32(float a, float b) { return a < b || a != a ? a : b; }
//// tg_max_f32
static inline float tg_max_f32(float a, float b) { return a > b || a != a ? a : b; }
//// tg_min_f64
static inline double tg_min_f64(double a, double b) { return a < b || a != a ? a : b; }
//// tg_max_f64
static inline double tg_max_f64(double a, double b) { return a > b || a != a ? a : b; }
//// tg_sign_f32
// -1, 0 or 1; NaN for NaN.
static inline float tg_sign_f32(float a) { return a != a ? a : (float)((a > 0) - (a < 0)); }
//// tg_sign_f64
// -1, 0 or 1; NaN for NaN.
static inline double tg_sign_f64(double a) { return a != a ? a : (double)((a > 0) - (a < 0)); }
//// tg_floordiv_f32
// floor of the exact quotient, so that floordiv(a, b)*b + mod(a, b) is a; 0 for divisor 0.
static inline float tg_floordiv_f32(float a, float b) {
  if (b == 0) return a != a ? a : 0;
  const float r = fmodf(a, b);
  const float q = r == a ? 0 : rintf((a - r) / b);
  return r != 0 && (r < 0) != (b < 0) ? q - 1 : q;
}
//// tg_floordiv_f64
// floor of the exact quotient, so that floordiv(a, b)*b + mod(a, b) is a; 0 for divisor 0.
static inline double tg_floordiv_f64(double a, double b) {
  if (b == 0) return a != a ? a : 0;
  const double r = fmod(a, b);
  const double q = r == a ? 0 : rint((a - r) / b);
  return r != 0 && (r < 0) != (b < 0) ? q - 1 : q;
}
//// tg_mod_f32
// Takes the divisor's sign; 0 for divisor 0.
static inline float tg_mod_f32(float a, float b) {
  if (b == 0) return a != a ? a : 0;
  const float r = fmodf(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
//// tg_mod_f64
// Takes the divisor's sign; 0 for divisor 0.
static inline double tg_mod_f64(double a, double b) {
  if (b == 0) return a != a ? a : 0;
  const double r = fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
//// tg_f32_to_i32
static inline int32_t tg_f32_to_i32(float a) {
  if (a != a) return 0;
  if (a >= 2147483648.0f) return 2147483647;
  return a < -2147483648.0f ? -2147483647 - 1 : (int32_t)a;
}
//// tg_f64_to_i32
static inline int32_t tg_f64_to_i32(double a) {
  if (a != a) return 0;
  if (a >= 2147483647.0) return 2147483647;
  return a <= -2147483648.0 ? -2147483647 - 1 : (int32_t)a;
}
//// tg_f32_to_i64
static inline int64_t tg_f32_to_i64(float a) {
  if (a != a) return 0;
  if (a >= 9223372036854775808.0f) return 9223372036854775807;
  return a < -9223372036854775808.0f ? -9223372036854775807 - 1 : (int64_t)a;
}
//// tg_f64_to_i64
static inline int64_t tg_f64_to_i64(double a) {
  if (a != a) return 0;
  if (a >= 9223372036854775808.0) return 9223372036854775807;
  return a < -9223372036854775808.0 ? -9223372036854775807 - 1 : (int64_t)a;
}
