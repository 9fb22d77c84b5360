/* The sums of backend/host/add.h. */
#include "backend/host/add.h"
#include "kernels/half.h"

#include <stdint.h>

static void add_f32(void *dst, const void *a, const void *b, size_t n) {
  float *d = dst;
  const float *x = a, *y = b;
#pragma omp simd
  for (size_t i = 0; i < n; i++) d[i] = x[i] + y[i];
}

static void add_f64(void *dst, const void *a, const void *b, size_t n) {
  double *d = dst;
  const double *x = a, *y = b;
#pragma omp simd
  for (size_t i = 0; i < n; i++) d[i] = x[i] + y[i];
}

static void add_bf16(void *dst, const void *a, const void *b, size_t n) {
  uint16_t *d = dst;
  const uint16_t *x = a, *y = b;
#pragma omp simd
  for (size_t i = 0; i < n; i++) d[i] = sl_half_to_bf16(sl_half_from_bf16(x[i]) + sl_half_from_bf16(y[i]));
}

static void add_f16(void *dst, const void *a, const void *b, size_t n) {
  uint16_t *d = dst;
  const uint16_t *x = a, *y = b;
#pragma omp simd
  for (size_t i = 0; i < n; i++) d[i] = sl_half_to_f16(sl_half_from_f16(x[i]) + sl_half_from_f16(y[i]));
}

sl_add_fn sl_add_of(enum sl_dtype type) {
  switch (type) {
  case SL_F32:
    return add_f32;
  case SL_F64:
    return add_f64;
  case SL_BF16:
    return add_bf16;
  case SL_F16:
    return add_f16;
  default:
    return NULL;
  }
}
