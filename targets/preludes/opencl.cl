// Helpers of kernels that this language says differently from C: its own names for types of a fixed width and for
// bits of floats, and what takes an element where a pointer would have to say which memory it points to.

//// int32_t
typedef int int32_t;
//// int64_t
typedef long int64_t;
//// uint8_t
typedef uchar uint8_t;
//// uint16_t
typedef ushort uint16_t;
//// uint32_t
typedef uint uint32_t;
//// uint64_t
typedef ulong uint64_t;
//// fmodf
#define fmodf fmod
//// rintf
#define rintf rint
//// tg_bits_f32
static inline uint32_t tg_bits_f32(float value) { return as_uint(value); }
//// tg_from_bits_f32
static inline float tg_from_bits_f32(uint32_t bits) { return as_float(bits); }
//// tg_f32_to_f16
// A vector of bytes, because programs without half arithmetic have pointers to half and no half.
static inline uint16_t tg_f32_to_f16(float value) {
  uchar2 bytes;
  vstore_half_rte(value, 0, (half *)&bytes);
  return as_ushort(bytes);
}
//// tg_f16_to_f32
static inline float tg_f16_to_f32(uint16_t code) {
  const uchar2 bytes = as_uchar2(code);
  return vload_half(0, (const half *)&bytes);
}
//// tg_half_i4
// Element i of a row of signed nibbles, low nibble first, in the byte that holds it.
static inline int32_t tg_half_i4(uint8_t pair, int64_t i) { return (((pair >> ((i & 1) * 4)) & 15) ^ 8) - 8; }
//// tg_half_u4
// Element i of a row of nibbles, low nibble first, in the byte that holds it.
static inline int32_t tg_half_u4(uint8_t pair, int64_t i) { return (pair >> ((i & 1) * 4)) & 15; }
//// tg_fast_exp_f32
static inline float tg_fast_exp_f32(float a) { return native_exp(a); }
//// tg_fast_exp_f64
static inline double tg_fast_exp_f64(double a) { return exp(a); }
//// tg_fast_log_f32
static inline float tg_fast_log_f32(float a) { return native_log(a); }
//// tg_fast_log_f64
static inline double tg_fast_log_f64(double a) { return log(a); }
//// tg_fast_log2_f32
static inline float tg_fast_log2_f32(float a) { return native_log2(a); }
//// tg_fast_log2_f64
static inline double tg_fast_log2_f64(double a) { return log2(a); }
//// tg_fast_sin_f32
static inline float tg_fast_sin_f32(float a) { return native_sin(a); }
//// tg_fast_sin_f64
static inline double tg_fast_sin_f64(double a) { return sin(a); }
//// tg_fast_cos_f32
static inline float tg_fast_cos_f32(float a) { return native_cos(a); }
//// tg_fast_cos_f64
static inline double tg_fast_cos_f64(double a) { return cos(a); }
//// tg_fast_div_f32
static inline float tg_fast_div_f32(float a, float b) { return native_divide(a, b); }
//// tg_fast_div_f64
static inline double tg_fast_div_f64(double a, double b) { return a / b; }
