// Helpers of launchers: sizes that cannot wrap, and byte ranges. Plain C; each block is one function.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

//// tg_host_add
static inline int64_t tg_host_add(int64_t a, int64_t b, bool *overflow) {
  if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) return *overflow = true, 0;
  return a + b;
}
//// tg_host_sub
static inline int64_t tg_host_sub(int64_t a, int64_t b, bool *overflow) {
  if (b < 0 ? a > INT64_MAX + b : a < INT64_MIN + b) return *overflow = true, 0;
  return a - b;
}
//// tg_host_mul
static inline int64_t tg_host_mul(int64_t a, int64_t b, bool *overflow) {
  if (a == 0 || b == 0) return 0;
  const bool negative = (a < 0) != (b < 0);
  const uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
  if (x > (uint64_t)INT64_MAX / y) return *overflow = true, 0;
  return negative ? -(int64_t)(x * y) : (int64_t)(x * y);
}
//// tg_host_min
static inline int64_t tg_host_min(int64_t a, int64_t b) { return a < b ? a : b; }
//// tg_host_max
static inline int64_t tg_host_max(int64_t a, int64_t b) { return a > b ? a : b; }
//// tg_host_floordiv
static inline int64_t tg_host_floordiv(int64_t a, int64_t b) {
  if (b == 0 || (b == -1 && a == INT64_MIN)) return 0;
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}
//// tg_host_mod
static inline int64_t tg_host_mod(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
//// tg_host_element
// Element `i` of integers of 4 to 64 bits; below 8 there are two to a byte.
static inline int64_t tg_host_element(const void *data, int64_t i, int bits, bool is_signed) {
  if (bits == 4) {
    const int v = ((const uint8_t *)data)[i / 2] >> (i % 2 * 4) & 15;
    return is_signed && v > 7 ? v - 16 : v;
  }
  if (bits == 8) return is_signed ? ((const int8_t *)data)[i] : ((const uint8_t *)data)[i];
  if (bits == 16) return ((const int16_t *)data)[i];
  if (bits == 32) return is_signed ? ((const int32_t *)data)[i] : (int64_t)((const uint32_t *)data)[i];
  return ((const int64_t *)data)[i];
}
//// tg_host_keeps
// Whether every element lies in lo..hi and, where `sorted`, none is less than the one before it in row-major order.
// `at` is room for a place, all 0.
static inline bool tg_host_keeps(const void *data, int bits, bool is_signed, int rank, const int64_t *shape,
                                 const int64_t *strides, int64_t *at, int64_t lo, int64_t hi, bool sorted) {
  for (int mode = 0; mode < rank; ++mode) {
    if (shape[mode] <= 0) return true;
  }
  for (int64_t offset = 0, last = lo;;) {
    const int64_t value = tg_host_element(data, offset, bits, is_signed);
    if (value < lo || value > hi || (sorted && value < last)) return false;
    last = value;
    int mode = rank - 1;
    for (; mode >= 0; --mode) {
      offset += strides[mode];
      if (++at[mode] < shape[mode]) break;
      offset -= strides[mode] * shape[mode];
      at[mode] = 0;
    }
    if (mode < 0) return true;
  }
}
//// tg_host_has_room
// Whether no two elements share an address: each stride leaves room for what the smaller ones span. All of it fits
// into 64 bits, or an extent is 0.
static inline bool tg_host_has_room(int rank, const int64_t *shape, const int64_t *strides) {
  for (int i = 0; i < rank; ++i) {
    if (shape[i] == 0) return true;
  }
  for (int i = 0; i < rank; ++i) {
    int64_t span = 1;
    for (int j = 0; j < rank; ++j) span += j != i && strides[j] <= strides[i] ? (shape[j] - 1) * strides[j] : 0;
    if (shape[i] != 1 && strides[i] < span) return false;
  }
  return true;
}
//// tg_host_overlap
// Whether two byte ranges share a byte.
static inline bool tg_host_overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
  const uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
  return a_bytes != 0 && b_bytes != 0 && x < y + b_bytes && y < x + a_bytes;
}
//// tg_host_misaligned
static inline bool tg_host_misaligned(const void *a, size_t alignment) { return (uintptr_t)a % alignment != 0; }
