// t for c, printed by tangc 0.
// Options: -t c
// Input: t.tg, SHA-256 0000000000000000000000000000000000000000000000000000000000000000
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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
  int64_t rows; // 0..4096
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
size_t t_c_workspace_bytes(const t_dims *dims);
tg_status t_c_run(const t_args *args, const t_dims *dims, void *workspace, size_t bytes,
                  void *stream);
#ifdef __cplusplus
}
#endif

static inline float tg_from_bits_f32(uint32_t bits) {
  float value;
  memcpy(&value, &bits, 4);
  return value;
}
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
static inline float tg_f16_to_f32(uint16_t word) {
  const uint32_t sign = (uint32_t)(word & 0x8000) << 16, code = word & 0x7fff;
  if (code >= 0x7c00) return tg_from_bits_f32(sign | 0x7f800000 | ((code & 0x3ff) << 13));
  return tg_from_bits_f32(sign | tg_unpack_float(code, 10, 15));
}
// Whether two byte ranges share a byte.
static inline bool tg_host_overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
  const uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
  return a_bytes != 0 && b_bytes != 0 && x < y + b_bytes && y < x + a_bytes;
}
static inline bool tg_host_misaligned(const void *a, size_t alignment) { return (uintptr_t)a % alignment != 0; }

// y[r] = sum[c] x[r, c]
// schedule: one row after the other
static void t_c_y(const uint16_t *restrict x, float *restrict y, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r) {
    float acc = 0;
    acc = 0.0f;
    for (int64_t c = 0; c < 5; ++c) {
      const float x_rc = tg_f16_to_f32(x[r * 5 + c]);
      acc += x_rc;
    }
    y[r] = acc;
  }
}

size_t t_c_workspace_bytes(const t_dims *dims) {
  if (!dims) return SIZE_MAX;
  const int64_t rows = dims->rows;
  if (rows < 0 || rows > 4096) return SIZE_MAX;
  return (size_t)0;
}

tg_status t_c_run(const t_args *args, const t_dims *dims, void *workspace, size_t bytes,
                  void *stream) {
  (void)stream;
  (void)workspace;
  (void)bytes;
  if (!args || !dims) return TG_E_NULL;
  const int64_t rows = dims->rows;
  if (rows < 0 || rows > 4096) return TG_E_DIM;
  const void *const pointers[] = {args->x, args->y};
  const uint64_t sizes[] = {(uint64_t)(rows * 5 * 2), (uint64_t)(rows * 4)};
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
    t_c_y((const uint16_t *)args->x, (float *)args->y, rows);
  }
  return TG_OK;
}
