// Storage formats on their bits: exact conversions, to nearest with ties to even. f16 and bf16
// overflow to infinity, both 8-bit formats saturate. Plain C; each block is one function.
#include <stdint.h>
#include <string.h>

//// tg_bits_f32
static inline uint32_t tg_bits_f32(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return bits;
}
//// tg_from_bits_f32
static inline float tg_from_bits_f32(uint32_t bits) {
  float value;
  memcpy(&value, &bits, 4);
  return value;
}
//// tg_f64_to_f32_odd
// Rounds to odd, so that a second rounding to a shorter format gives what one rounding would.
static inline float tg_f64_to_f32_odd(double value) {
  const float near = (float)value;
  const uint32_t bits = tg_bits_f32(near);
  if (value != value || (double)near == value || (bits & 1)) return near;
  const double a = value < 0 ? -value : value, b = near < 0 ? -(double)near : (double)near;
  return tg_from_bits_f32(b > a ? bits - 1 : bits + 1);
}
//// tg_pack_float
// The magnitude `bits` of a float below infinity as a format with `mantissa` bits and exponent bias
// `bias`. What rounds beyond the format comes out as a larger code.
static inline uint32_t tg_pack_float(uint32_t bits, uint32_t mantissa, uint32_t bias) {
  uint32_t exponent = bits >> 23, fraction = bits & 0x7fffff, drop = 23 - mantissa;
  if (exponent + bias < 128) {
    // Subnormal in the short format: the leading one becomes explicit and moves down.
    const uint32_t down = 128 - bias - exponent;
    if (exponent == 0 || drop + down > 24) return 0;
    fraction |= 0x800000;
    drop += down;
    exponent = 0;
  } else {
    exponent = exponent + bias - 127;
  }
  const uint32_t kept = (exponent << mantissa) + (fraction >> drop);
  const uint32_t rest = fraction & ((1u << drop) - 1), middle = 1u << (drop - 1);
  return kept + (rest > middle || (rest == middle && (kept & 1)));
}
//// tg_unpack_float
// The magnitude `code` of a short format as the bits of a float; infinities and NaN are not for it.
static inline uint32_t tg_unpack_float(uint32_t code, uint32_t mantissa, uint32_t bias) {
  uint32_t exponent = code >> mantissa, fraction = code & ((1u << mantissa) - 1);
  if (exponent == 0) {
    if (fraction == 0) return 0;
    for (exponent = 1; !(fraction >> mantissa); --exponent) fraction <<= 1;
    fraction &= (1u << mantissa) - 1;
  }
  return ((exponent + 127 - bias) << 23) | (fraction << (23 - mantissa));
}
//// tg_f32_to_f16
static inline uint16_t tg_f32_to_f16(float value) {
  const uint32_t all = tg_bits_f32(value), sign = (all >> 16) & 0x8000, bits = all & 0x7fffffff;
  if (bits > 0x7f800000) return (uint16_t)(sign | 0x7e00);
  if (bits >= 0x47800000) return (uint16_t)(sign | 0x7c00);
  return (uint16_t)(sign | tg_pack_float(bits, 10, 15));
}
//// tg_f16_to_f32
static inline float tg_f16_to_f32(uint16_t word) {
  const uint32_t sign = (uint32_t)(word & 0x8000) << 16, code = word & 0x7fff;
  if (code >= 0x7c00) return tg_from_bits_f32(sign | 0x7f800000 | ((code & 0x3ff) << 13));
  return tg_from_bits_f32(sign | tg_unpack_float(code, 10, 15));
}
//// tg_f32_to_bf16
static inline uint16_t tg_f32_to_bf16(float value) {
  const uint32_t bits = tg_bits_f32(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)((bits >> 16) | 0x40);
  return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
//// tg_bf16_to_f32
static inline float tg_bf16_to_f32(uint16_t word) { return tg_from_bits_f32((uint32_t)word << 16); }
//// tg_f32_to_f8e4m3
static inline uint8_t tg_f32_to_f8e4m3(float value) {
  const uint32_t all = tg_bits_f32(value), sign = (all >> 24) & 0x80, bits = all & 0x7fffffff;
  if (bits > 0x7f800000) return (uint8_t)(sign | 0x7f);
  if (bits >= 0x43e00000) return (uint8_t)(sign | 0x7e);
  const uint32_t code = tg_pack_float(bits, 3, 7);
  return (uint8_t)(sign | (code > 0x7e ? 0x7e : code));
}
//// tg_f8e4m3_to_f32
static inline float tg_f8e4m3_to_f32(uint8_t byte) {
  const uint32_t sign = (uint32_t)(byte & 0x80) << 24, code = byte & 0x7f;
  return tg_from_bits_f32(sign | (code == 0x7f ? 0x7fc00000 : tg_unpack_float(code, 3, 7)));
}
//// tg_f32_to_f8e5m2
static inline uint8_t tg_f32_to_f8e5m2(float value) {
  const uint32_t all = tg_bits_f32(value), sign = (all >> 24) & 0x80, bits = all & 0x7fffffff;
  if (bits > 0x7f800000) return (uint8_t)(sign | 0x7f);
  if (bits >= 0x47600000) return (uint8_t)(sign | 0x7b);
  const uint32_t code = tg_pack_float(bits, 2, 15);
  return (uint8_t)(sign | (code > 0x7b ? 0x7b : code));
}
//// tg_f8e5m2_to_f32
static inline float tg_f8e5m2_to_f32(uint8_t byte) {
  const uint32_t sign = (uint32_t)(byte & 0x80) << 24, code = byte & 0x7f;
  if (code >= 0x7c) return tg_from_bits_f32(sign | (code == 0x7c ? 0x7f800000 : 0x7fc00000));
  return tg_from_bits_f32(sign | tg_unpack_float(code, 2, 15));
}
