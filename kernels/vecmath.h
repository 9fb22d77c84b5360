/* exp for loops that must vectorise: no call, no branch, no table. In double builds, libm.
 *
 * exp(x) = 2^n * exp(r), n = round(x / ln 2), r = x - n ln 2 in two parts (Cody and Waite), |r| <= ln(2)/2, exp(r) by
 * its Taylor polynomial of degree 7 (truncation 5e-9 of the result). Measured error: below 1.1 ulp; denormal results,
 * 0, infinity and NaN come out right. */
#ifndef SL_KERNELS_VECMATH_H
#define SL_KERNELS_VECMATH_H

#include "kernels/real.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#if SL_REAL_IS_DOUBLE
static inline double sl_exp(double x) {
  return exp(x);
}
#define SL_SQRT sqrt
#else
static inline float sl_exp_bits(int32_t bits) {
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

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
#define SL_SQRT sqrtf
#endif

/* The largest of n >= 1 numbers, in scratch (sl_max_of) and in a tensor (sl_max_of_stored). Without -ffast-math clang
 * keeps a max reduction scalar, so the lanes are spelled out. */
#define SL_MAX_LANES ((size_t)32)
#define SL_DEFINE_MAX(name, type, load)                                                                                \
  static inline sl_real name(const type *x, size_t n) {                                                                \
    sl_real lane[SL_MAX_LANES], max = load(x[0]);                                                                      \
    for (size_t l = 0; l < SL_MAX_LANES; l++) lane[l] = max;                                                           \
    size_t i = 0;                                                                                                      \
    for (; i + SL_MAX_LANES <= n; i += SL_MAX_LANES) {                                                                 \
      _Pragma("omp simd") for (size_t l = 0; l < SL_MAX_LANES; l++) {                                                  \
        const sl_real y = load(x[i + l]);                                                                              \
        lane[l] = y > lane[l] ? y : lane[l];                                                                           \
      }                                                                                                                \
    }                                                                                                                  \
    for (; i < n; i++) max = load(x[i]) > max ? load(x[i]) : max;                                                      \
    for (size_t l = 0; l < SL_MAX_LANES; l++) max = lane[l] > max ? lane[l] : max;                                     \
    return max;                                                                                                        \
  }
SL_DEFINE_MAX(sl_max_of, sl_real, )
SL_DEFINE_MAX(sl_max_of_stored, sl_store, sl_load)

#endif
