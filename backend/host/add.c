/* The sums of backend/host/add.h. fp16 goes through the compiler's _Float16, which both gcc and clang have on x86-64.
 */
#include "backend/host/add.h"

#include <stdint.h>
#include <string.h>

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

static inline float from_bf16(uint16_t h) {
  uint32_t bits = (uint32_t)h << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

static inline uint16_t to_bf16(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  uint16_t rounded = (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
  uint16_t quiet = (uint16_t)(bits >> 16 | 0x40u); /* rounding could carry a NaN into infinity */
  return (bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded;
}

static void add_bf16(void *dst, const void *a, const void *b, size_t n) {
  uint16_t *d = dst;
  const uint16_t *x = a, *y = b;
#pragma omp simd
  for (size_t i = 0; i < n; i++) d[i] = to_bf16(from_bf16(x[i]) + from_bf16(y[i]));
}

#ifdef __FLT16_MANT_DIG__
__extension__ typedef _Float16 half;
static void add_f16(void *dst, const void *a, const void *b, size_t n) {
  half *d = dst;
  const half *x = a, *y = b;
  for (size_t i = 0; i < n; i++) d[i] = (half)((float)x[i] + (float)y[i]);
}
#endif

sl_add_fn sl_add_of(enum sl_dtype type) {
  switch (type) {
  case SL_F32:
    return add_f32;
  case SL_F64:
    return add_f64;
  case SL_BF16:
    return add_bf16;
#ifdef __FLT16_MANT_DIG__
  case SL_F16:
    return add_f16;
#endif
  default:
    return NULL;
  }
}
