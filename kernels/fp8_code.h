/* Codes of 8 bits, and the next scale of a factor, inline: the same code on the host and on a GPU. See kernels/fp8.h. */
#pragma once

#include "kernels/numbers/types.h"

#include <math.h>

#ifdef __CUDACC__
#define SL_FP8_BOTH __host__ __device__ static inline
#else
#define SL_FP8_BOTH static inline
#endif

SL_FP8_BOTH float sl_fp8_largest(enum sl_fp8 format) {
  return format == SL_FP8_E4M3 ? 448.0f : 57344.0f;
}

/* The code of y. Below the smallest normal number 2^e the sum with a power of two rounds to multiples of the smallest
 * number, and its low bits count them; elsewhere the exponent changes its bias and the fraction is rounded in integers,
 * where a carry moves to the next exponent (as in kernels/numbers/half.h). */
SL_FP8_BOTH uint8_t sl_fp8_code(float y, enum sl_fp8 format) {
  union {
    float f;
    uint32_t bits;
  } u = {y}, small;
  const int fraction = format == SL_FP8_E4M3 ? 3 : 2, bias = format == SL_FP8_E4M3 ? 7 : 15;
  const uint32_t most = format == SL_FP8_E4M3 ? 0x7e : 0x7b, sign = u.bits >> 24 & 0x80, cut = 23u - (uint32_t)fraction;
  u.bits &= 0x7fffffffu;
  if (u.bits > 0x7f800000u) return (uint8_t)(sign | 0x7f);
  if (u.bits >= (uint32_t)(127 + 1 - bias) << 23) {
    const uint32_t rebiased = u.bits - ((uint32_t)(127 - bias) << 23);
    const uint32_t code = (rebiased + (1u << (cut - 1)) - 1 + (rebiased >> cut & 1)) >> cut;
    return (uint8_t)(sign | (code < most ? code : most));
  }
  const union {
    uint32_t bits;
    float f;
  } step = {(uint32_t)(127 + 1 - bias + (int)cut) << 23}; /* whose last place is the smallest number */
  small.f = u.f + step.f;
  return (uint8_t)(sign | (small.bits - step.bits));
}

/* The number of a code. */
SL_FP8_BOTH float sl_fp8_number(uint8_t code, enum sl_fp8 format) {
  const int fraction = format == SL_FP8_E4M3 ? 3 : 2, bias = format == SL_FP8_E4M3 ? 7 : 15;
  const int exponent = (code & 0x7f) >> fraction, rest = code & ((1 << fraction) - 1);
  const float sign = code & 0x80 ? -1.0f : 1.0f;
  if (format == SL_FP8_E4M3 ? (code & 0x7f) == 0x7f : exponent == 31 && rest) return (float)NAN;
  if (format == SL_FP8_E5M2 && exponent == 31) return sign * (float)INFINITY;
  const int whole = exponent > 0 ? (1 << fraction) + rest : rest;
  return sign * ldexpf((float)whole, (exponent > 0 ? exponent : 1) - bias - fraction);
}

/* The scale of factor `i`, input, weight, gradient and so on, after one for which the largest magnitude was `amax`. */
SL_FP8_BOTH float sl_fp8_next_scale(float amax, float scale, struct sl_fp8_rule rule, size_t i) {
  const float next = sl_fp8_largest(i % 3 == 2 ? rule.gradients : SL_FP8_E4M3) * rule.reach / amax;
  if (!(amax > 0) || !(amax <= 3.402823466e38f)) return scale;
  return next <= 3.402823466e38f ? next : 3.402823466e38f;
}
