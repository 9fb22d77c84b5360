/* exp for loops that must vectorise: without calls, branches or tables. Double builds use libm.
 *
 * exp(x) = 2^n * exp(r), n = round(x / ln 2), r = x - n ln 2 in two parts (Cody and Waite), |r| <= ln(2)/2, exp(r) by
 * its Taylor polynomial of degree 7 (truncation 5e-9 of the result). Measured error: below 1.1 ulp; denormal results,
 * 0, infinity and NaN come out right.
 *
 * Builds for 16-bit tensors use a shorter one with a smaller range, because their results are rounded to 8 or 11 bits:
 * exp(r) by the polynomial of degree 6 with the least largest error (2e-9 of the result) that is 1 at 0, and 2^n in one
 * factor. Measured error: below 1.3 ulp. Results below exp(-87) are 0 and results beyond exp(88) stay finite. A NaN
 * stays a NaN if its lower 9 bits are 0, which holds for every NaN that arithmetic produces or that was widened from 16
 * bits. A polynomial of degree 5 (1e-7) was too short: gradients of fp16 training came out 1% farther from the exact
 * ones. */
#pragma once

#include "kernels/numbers/real.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#if SL_REAL_IS_DOUBLE
static inline double sl_exp(double x) {
  return exp(x);
}
#define SL_SQRT sqrt
#define SL_TANH tanh
#else
static inline float sl_exp_bits(int32_t bits) {
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

#if !SL_STORE_IS_REAL
static inline float sl_exp(float x) {
  const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer, which the low bits then hold */
  const float bounded = x > 88.0f ? 88.0f : x;
  const float shifted = bounded * 1.44269504088896341f + magic, n = shifted - magic;
  float r = bounded - n * 0.693145751953125f, p = 0.001384364441037178f;
  uint32_t bits, power;
  r = r - n * 1.42860682030941723212e-6f;
  p = p * r + 0.008374163880944252f;
  p = p * r + 0.04166800156235695f;
  p = p * r + 0.16666431725025177f;
  p = p * r + 0.4999999403953552f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  memcpy(&bits, &p, sizeof bits);
  memcpy(&power, &shifted, sizeof power);
  const float result = sl_exp_bits((int32_t)(bits + (power << 23))); /* the magic number's own bits leave at the top */
  return x < -87.0f ? 0 : result;
}
#else
static inline float sl_exp(float x) {
  const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer, which the low bits then hold */
  x = x < -104.0f ? -104.0f : x;   /* exp rounds to 0 below and to infinity above; a NaN passes both tests */
  x = x > 89.0f ? 89.0f : x;
  float shifted = x * 1.44269504088896341f + magic;
  float n = shifted - magic;
  uint32_t bits;
  memcpy(&bits, &shifted, sizeof bits);
  int32_t k = (int32_t)(bits - 0x4B400000u);
  float r = x - n * 0.693145751953125f;
  r = r - n * 1.42860682030941723212e-6f;
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = (p * r) * r + r;
  p = p + 1.0f;
  /* 2^k in two factors: k reaches -150, and one exponent field does not. */
  int32_t half = k >> 1;
  float low = sl_exp_bits((int32_t)((uint32_t)(half + 127) << 23));
  float high = sl_exp_bits((int32_t)((uint32_t)(k - half + 127) << 23));
  return p * low * high;
}
#endif
#define SL_SQRT sqrtf
#define SL_TANH tanhf
#endif

/* The largest of n >= 1 numbers. Without -ffast-math clang keeps a max reduction scalar, so the lanes are spelled
 * out. */
#define SL_MAX_LANES ((size_t)32)
static inline sl_real sl_max_of(const sl_real *x, size_t n) {
  sl_real lane[SL_MAX_LANES], max = x[0];
  for (size_t l = 0; l < SL_MAX_LANES; l++) lane[l] = max;
  size_t i = 0;
  for (; i + SL_MAX_LANES <= n; i += SL_MAX_LANES) {
#pragma omp simd
    for (size_t l = 0; l < SL_MAX_LANES; l++) lane[l] = x[i + l] > lane[l] ? x[i + l] : lane[l];
  }
  for (; i < n; i++) max = x[i] > max ? x[i] : max;
  for (size_t l = 0; l < SL_MAX_LANES; l++) max = lane[l] > max ? lane[l] : max;
  return max;
}
