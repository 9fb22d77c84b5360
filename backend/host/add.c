/* Element-wise sums; see backend/host/add.h. */
#include "backend/host/add.h"
#include "kernels/numbers/half_run.h"

static void add_f32(void *dst, const void *a, const void *b, size_t n) {
  float *d = dst;
  const float *x = a, *y = b;
#pragma omp simd
  for (size_t i = 0; i < n; i++) d[i] = x[i] + y[i];
}

static void most_f32(void *dst, const void *a, const void *b, size_t n) {
  float *d = dst;
  const float *x = a, *y = b;
#pragma omp simd
  for (size_t i = 0; i < n; i++) d[i] = x[i] > y[i] ? x[i] : y[i];
}

static void add_f64(void *dst, const void *a, const void *b, size_t n) {
  double *d = dst;
  const double *x = a, *y = b;
#pragma omp simd
  for (size_t i = 0; i < n; i++) d[i] = x[i] + y[i];
}

static void add_bf16(void *dst, const void *a, const void *b, size_t n) {
  sl_half_run_sum_bf16(dst, a, b, n);
}

static void add_f16(void *dst, const void *a, const void *b, size_t n) {
  sl_half_run_sum_f16(dst, a, b, n);
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

sl_add_fn sl_most_of(enum sl_dtype type) {
  return type == SL_F32 ? most_f32 : NULL;
}
