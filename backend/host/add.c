/* The sums of backend/host/add.h. */
#include "backend/host/add.h"
#include "kernels/half_run.h"

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

/* 16-bit numbers a run at a time, which stays in the first-level cache. dst may be a or b. */
#define RUN ((size_t)1024)
#define DEFINE_ADD(type)                                                                                               \
  static void add_##type(void *dst, const void *a, const void *b, size_t n) {                                          \
    _Alignas(64) float x[RUN], y[RUN];                                                                                 \
    for (size_t at = 0; at < n; at += RUN) {                                                                           \
      const size_t m = n - at < RUN ? n - at : RUN;                                                                    \
      sl_half_run_from_##type(x, (const uint16_t *)a + at, m);                                                         \
      sl_half_run_from_##type(y, (const uint16_t *)b + at, m);                                                         \
      add_f32(x, x, y, m);                                                                                             \
      sl_half_run_to_##type((uint16_t *)dst + at, x, m);                                                               \
    }                                                                                                                  \
  }
DEFINE_ADD(bf16)
DEFINE_ADD(f16)

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
