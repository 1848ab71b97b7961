/* Runs the generated linear_relu on a small problem and compares it with plain loops.
 *
 * Everything the generated code needs comes from here: the buffers, the workspace, the sizes. It
 * allocates nothing. */
#include "linear_relu.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { M = 5, K = 96, N = 33 };

/* f16 as its bits. Enough for this example: the values below are multiples of 1/16, far from f16's
 * limits. */
static uint16_t half_of(float value) {
  int exponent;
  uint16_t sign = value < 0 ? 0x8000 : 0;
  float mantissa = frexpf(fabsf(value), &exponent); /* in 0.5..1 */
  if (mantissa == 0) return sign;
  return (uint16_t)(sign | ((exponent + 14) << 10) | ((int)(mantissa * 2048) & 0x3ff));
}

static float float_of(uint16_t half) {
  int exponent = half >> 10 & 31;
  float mantissa = (float)(half & 0x3ff);
  if (exponent == 31) return mantissa != 0 ? NAN : half & 0x8000 ? -INFINITY : INFINITY;
  float value = exponent ? ldexpf(mantissa + 1024, exponent - 25) : ldexpf(mantissa, -24);
  return half & 0x8000 ? -value : value;
}

/* The header says how each tensor is aligned; a plain array need not be. */
static _Alignas(16) uint16_t x[M * K], w[K * N], y[M * N];
static _Alignas(16) float b[N];

int main(void) {
  for (int i = 0; i < M * K; ++i) x[i] = half_of((float)(i * 7 % 33 - 16) / 16);
  for (int i = 0; i < K * N; ++i) w[i] = half_of((float)(i * 5 % 31 - 15) / 16);
  for (int j = 0; j < N; ++j) b[j] = 0.37f * (float)(j - 16);
  for (int i = 0; i < M * N; ++i) y[i] = 0x7e00; /* NaN, so that an element nobody wrote is seen */

  linear_relu_dims dims = {.M = M, .K = K, .N = N};
  linear_relu_args args = {.x = x, .w = w, .b = b, .y = y};
  size_t bytes = linear_relu_c_workspace_bytes(&dims);
  void* workspace = bytes ? malloc(bytes) : NULL;
  if (bytes && !workspace) return fputs("no memory\n", stderr), 1;

  tg_status status = linear_relu_c_run(&args, &dims, workspace, bytes, NULL);
  free(workspace);
  if (status != TG_OK) return fprintf(stderr, "linear_relu: %s\n", tg_status_string(status)), 1;

  double worst = 0, largest = 0;
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      double sum = b[j];
      for (int k = 0; k < K; ++k) sum += (double)float_of(x[i * K + k]) * float_of(w[k * N + j]);
      double want = sum > 0 ? sum : 0, error = fabs(float_of(y[i * N + j]) - want);
      if (isnan(error)) error = INFINITY; /* nobody wrote it */
      if (error > worst) worst = error;
      if (want > largest) largest = want;
    }
  printf("linear_relu %dx%dx%d: largest value %g, largest error %g\n", M, K, N, largest, worst);
  if (!(worst <= largest / 1024)) return fputs("the result is wrong\n", stderr), 1;

  /* A size outside its declared range is refused, not computed. */
  dims.M = -1;
  status = linear_relu_c_run(&args, &dims, NULL, 0, NULL);
  printf("with M = -1: %s\n", tg_status_string(status));
  return status == TG_E_DIM ? 0 : 1;
}
