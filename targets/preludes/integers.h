// Integer helpers of kernels (language.md, section 5): floor division, saturation, shifts of any
// amount. Plain C; each block is one function.
#include <stdint.h>

//// tg_min_i32
static inline int32_t tg_min_i32(int32_t a, int32_t b) { return a < b ? a : b; }
//// tg_max_i32
static inline int32_t tg_max_i32(int32_t a, int32_t b) { return a > b ? a : b; }
//// tg_min_i64
static inline int64_t tg_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
//// tg_max_i64
static inline int64_t tg_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }
//// tg_clamp_i32
static inline int32_t tg_clamp_i32(int32_t a, int32_t lo, int32_t hi) { return a < lo ? lo : a > hi ? hi : a; }
//// tg_clamp_i64
static inline int64_t tg_clamp_i64(int64_t a, int64_t lo, int64_t hi) { return a < lo ? lo : a > hi ? hi : a; }
//// tg_abs_i32
// The least value has no opposite and saturates.
static inline int32_t tg_abs_i32(int32_t a) { return a >= 0 ? a : a == -2147483647 - 1 ? 2147483647 : -a; }
//// tg_abs_i64
// The least value has no opposite and saturates.
static inline int64_t tg_abs_i64(int64_t a) {
  return a >= 0 ? a : a == -9223372036854775807 - 1 ? 9223372036854775807 : -a;
}
//// tg_sign_i32
static inline int32_t tg_sign_i32(int32_t a) { return (a > 0) - (a < 0); }
//// tg_sign_i64
static inline int64_t tg_sign_i64(int64_t a) { return (a > 0) - (a < 0); }
//// tg_floordiv_i32
// Rounds down; 0 for divisor 0; the one quotient that does not fit saturates.
static inline int32_t tg_floordiv_i32(int32_t a, int32_t b) {
  if (b == 0) return 0;
  if (b == -1) return a == -2147483647 - 1 ? 2147483647 : -a;
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}
//// tg_floordiv_i64
// Rounds down; 0 for divisor 0; the one quotient that does not fit saturates.
static inline int64_t tg_floordiv_i64(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return a == -9223372036854775807 - 1 ? 9223372036854775807 : -a;
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}
//// tg_mod_i32
// Takes the divisor's sign; 0 for divisor 0.
static inline int32_t tg_mod_i32(int32_t a, int32_t b) {
  if (b == 0 || b == -1) return 0;
  const int32_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
//// tg_mod_i64
// Takes the divisor's sign; 0 for divisor 0.
static inline int64_t tg_mod_i64(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
//// tg_unsigned_div_i32
// For a >= 0 and b > 0, in the fewest instructions.
static inline int32_t tg_unsigned_div_i32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a / (uint32_t)b); }
//// tg_unsigned_div_i64
// For a >= 0 and b > 0, in the fewest instructions.
static inline int64_t tg_unsigned_div_i64(int64_t a, int64_t b) { return (int64_t)((uint64_t)a / (uint64_t)b); }
//// tg_unsigned_mod_i32
// For a >= 0 and b > 0, in the fewest instructions.
static inline int32_t tg_unsigned_mod_i32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a % (uint32_t)b); }
//// tg_unsigned_mod_i64
// For a >= 0 and b > 0, in the fewest instructions.
static inline int64_t tg_unsigned_mod_i64(int64_t a, int64_t b) { return (int64_t)((uint64_t)a % (uint64_t)b); }
//// tg_shl_i32
// Bits that leave are lost; amounts outside 0..31 leave none.
static inline int32_t tg_shl_i32(int32_t a, int32_t n) {
  return n < 0 || n > 31 ? 0 : (int32_t)((uint32_t)a << n);
}
//// tg_shl_i64
// Bits that leave are lost; amounts outside 0..63 leave none.
static inline int64_t tg_shl_i64(int64_t a, int64_t n) {
  return n < 0 || n > 63 ? 0 : (int64_t)((uint64_t)a << n);
}
//// tg_shr_i32
// Arithmetic; amounts outside 0..31 leave the sign.
static inline int32_t tg_shr_i32(int32_t a, int32_t n) { return a >> (n < 0 || n > 31 ? 31 : n); }
//// tg_shr_i64
// Arithmetic; amounts outside 0..63 leave the sign.
static inline int64_t tg_shr_i64(int64_t a, int64_t n) { return a >> (n < 0 || n > 63 ? 63 : n); }
//// tg_load_i4
// Element i of a row of signed nibbles, low nibble first.
static inline int32_t tg_load_i4(const uint8_t *p, int64_t i) {
  const int32_t nibble = (p[i >> 1] >> ((i & 1) * 4)) & 15;
  return (nibble ^ 8) - 8;
}
//// tg_load_u4
// Element i of a row of nibbles, low nibble first.
static inline int32_t tg_load_u4(const uint8_t *p, int64_t i) { return (p[i >> 1] >> ((i & 1) * 4)) & 15; }
//// tg_store_4
// Writes one nibble and keeps its neighbour.
static inline void tg_store_4(uint8_t *p, int64_t i, int32_t value) {
  const int shift = (int)(i & 1) * 4;
  p[i >> 1] = (uint8_t)((p[i >> 1] & ~(15 << shift)) | ((value & 15) << shift));
}
