// Helpers of test programs: how each storage format reads, and comparison. Each block is one function.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

//// tg_test_f64
static inline double tg_test_f64(const unsigned char *p, int64_t i) {
  double x;
  memcpy(&x, p + 8 * i, 8);
  return x;
}
//// tg_test_f32
static inline double tg_test_f32(const unsigned char *p, int64_t i) {
  float x;
  memcpy(&x, p + 4 * i, 4);
  return x;
}
//// tg_test_small
// A float of at most 16 bits; without `infinities` the largest exponent holds numbers, and one NaN.
static inline double tg_test_small(unsigned code, int exponent_bits, int mantissa_bits, int infinities) {
  const int bias = (1 << (exponent_bits - 1)) - 1, top = (1 << exponent_bits) - 1;
  const int exponent = (int)(code >> mantissa_bits) & top, mantissa = (int)code & ((1 << mantissa_bits) - 1);
  const int negative = (int)(code >> (exponent_bits + mantissa_bits)) & 1;
  double x = ldexp(mantissa, 1 - bias - mantissa_bits);
  if (exponent != 0) x = ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  if (exponent == top && infinities) x = mantissa != 0 ? (double)NAN : (double)INFINITY;
  if (exponent == top && !infinities && mantissa == (1 << mantissa_bits) - 1) x = (double)NAN;
  return negative ? -x : x;
}
//// tg_test_f16
static inline double tg_test_f16(const unsigned char *p, int64_t i) {
  return tg_test_small((unsigned)p[2 * i] | (unsigned)p[2 * i + 1] << 8, 5, 10, 1);
}
//// tg_test_bf16
static inline double tg_test_bf16(const unsigned char *p, int64_t i) {
  return tg_test_small((unsigned)p[2 * i] | (unsigned)p[2 * i + 1] << 8, 8, 7, 1);
}
//// tg_test_f8e4m3
static inline double tg_test_f8e4m3(const unsigned char *p, int64_t i) { return tg_test_small(p[i], 4, 3, 0); }
//// tg_test_f8e5m2
static inline double tg_test_f8e5m2(const unsigned char *p, int64_t i) { return tg_test_small(p[i], 5, 2, 1); }
//// tg_test_i64
static inline int64_t tg_test_i64(const unsigned char *p, int64_t i) {
  int64_t x;
  memcpy(&x, p + 8 * i, 8);
  return x;
}
//// tg_test_i32
static inline int64_t tg_test_i32(const unsigned char *p, int64_t i) {
  int32_t x;
  memcpy(&x, p + 4 * i, 4);
  return x;
}
//// tg_test_i16
static inline int64_t tg_test_i16(const unsigned char *p, int64_t i) {
  int16_t x;
  memcpy(&x, p + 2 * i, 2);
  return x;
}
//// tg_test_i8
static inline int64_t tg_test_i8(const unsigned char *p, int64_t i) { return p[i] < 128 ? p[i] : p[i] - 256; }
//// tg_test_u32
static inline int64_t tg_test_u32(const unsigned char *p, int64_t i) {
  uint32_t x;
  memcpy(&x, p + 4 * i, 4);
  return x;
}
//// tg_test_u8
static inline int64_t tg_test_u8(const unsigned char *p, int64_t i) { return p[i]; }
//// tg_test_bool
static inline int64_t tg_test_bool(const unsigned char *p, int64_t i) { return p[i]; }
//// tg_test_u4
static inline int64_t tg_test_u4(const unsigned char *p, int64_t i) { return p[i / 2] >> (i % 2 != 0 ? 4 : 0) & 15; }
//// tg_test_i4
static inline int64_t tg_test_i4(const unsigned char *p, int64_t i) {
  const int x = p[i / 2] >> (i % 2 != 0 ? 4 : 0) & 15;
  return x < 8 ? x : x - 16;
}
//// tg_test_reals
// Whether the numbers agree within `tolerance` of the largest finite one; NaN and infinities must be the same.
// With `tells` it says how near they came. `places` says where each element lies, or is NULL where they lie in order.
static inline int tg_test_reals(const char *name, double (*read)(const unsigned char *, int64_t),
                                const unsigned char *got, const int64_t *places, const double *wanted,
                                int64_t count, double tolerance, int tells) {
  double scale = 0, worst = 0;
  for (int64_t i = 0; i < count; ++i)
    if (isfinite(wanted[i]) && fabs(wanted[i]) > scale) scale = fabs(wanted[i]);
  if (scale == 0) scale = 1;
  int64_t wrong = 0, first = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double x = read(got, places ? places[i] : i), y = wanted[i];
    const int same = isfinite(y) ? isfinite(x) && fabs(x - y) <= tolerance * scale
                                 : isnan(y) ? isnan(x) : isinf(x) && (x > 0) == (y > 0);
    if (!same && wrong++ == 0) first = i;
    if (isfinite(x) && isfinite(y) && fabs(x - y) > worst) worst = fabs(x - y);
  }
  if (wrong == 0 && tells)
    printf("`%s`: largest error %.1e of its largest value, %.1e allowed\n", name, worst / scale, tolerance);
  if (wrong != 0)
    printf("%s: %lld of %lld elements differ, first element %lld: %.9g, expected %.9g\n", name, (long long)wrong,
           (long long)count, (long long)first, read(got, places ? places[first] : first), wanted[first]);
  return wrong != 0;
}
//// tg_test_integers
static inline int tg_test_integers(const char *name, int64_t (*read)(const unsigned char *, int64_t),
                                   const unsigned char *got, const int64_t *places, const int64_t *wanted,
                                   int64_t count) {
  int64_t wrong = 0, first = 0;
  for (int64_t i = 0; i < count; ++i)
    if (read(got, places ? places[i] : i) != wanted[i] && wrong++ == 0) first = i;
  if (wrong != 0)
    printf("%s: %lld of %lld elements differ, first element %lld: %lld, expected %lld\n", name, (long long)wrong,
           (long long)count, (long long)first, (long long)read(got, places ? places[first] : first),
           (long long)wanted[first]);
  return wrong != 0;
}
