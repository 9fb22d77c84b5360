/* Conversions between float and the two 16-bit floating-point formats, which are held as uint16_t. They are inline,
 * without branches or tables, so that loops over them vectorise with any instruction set.
 *
 * bf16 is the upper half of a float. fp16 is IEEE 754 binary16: 1 sign, 5 exponent and 10 fraction bits, subnormal
 * below 2^-14, largest 65504. Widening is exact. Narrowing rounds to nearest, ties to even, and overflows to infinity;
 * a NaN becomes a quiet NaN with as much of its payload as fits, as with F16C. (_Float16 would do the same, but clang
 * 14 has it only for AVX512-FP16, and gcc 12 vectorises it only there.) For many numbers at once:
 * kernels/numbers/half_run.h. */
#pragma once

#include <stdint.h>
#include <string.h>

static inline float sl_half_float_of(uint32_t bits) {
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

static inline uint32_t sl_half_bits_of(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

static inline float sl_half_from_bf16(uint16_t h) {
  return sl_half_float_of((uint32_t)h << 16);
}

static inline uint16_t sl_half_to_bf16(float f) {
  const uint32_t bits = sl_half_bits_of(f);
  const uint16_t rounded = (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
  const uint16_t quiet = (uint16_t)(bits >> 16 | 0x40u); /* rounding could carry a NaN into infinity */
  return (bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded;
}

/* All ones where `condition` holds, else zero. Masks are used because gcc turns a chain of ?: into jumps, which keeps
 * the loop around it from vectorising. */
static inline uint32_t sl_half_mask(int condition) {
  return 0u - (uint32_t)condition;
}

/* The exponent and fraction, shifted to their place in a float, make a number that is too small by 2^(127-15). One
 * exact multiplication corrects that, for subnormals too. */
static inline float sl_half_from_f16(uint16_t h) {
  const uint32_t magnitude = h & 0x7fffu;
  uint32_t bits = sl_half_bits_of(sl_half_float_of(magnitude << 13) * 0x1p112f);
  bits |= sl_half_mask(magnitude >= 0x7c00u) & 0x7f800000u; /* infinity */
  bits |= sl_half_mask(magnitude > 0x7c00u) & 0x00400000u;  /* quiet NaN */
  return sl_half_float_of(bits | (uint32_t)(h & 0x8000u) << 16);
}

/* Below 2^-14 the sum with 0.5 rounds to multiples of 2^-24, fp16's smallest number, and its low bits count them.
 * Elsewhere the exponent changes its bias and the fraction is rounded in integers; a carry moves to the next
 * exponent. */
static inline uint16_t sl_half_to_f16(float f) {
  const uint32_t bits = sl_half_bits_of(f), magnitude = bits & 0x7fffffffu;
  const uint32_t subnormal = sl_half_bits_of(sl_half_float_of(magnitude) + 0.5f) - 0x3f000000u;
  const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  const uint32_t small = sl_half_mask(magnitude < 0x38800000u);
  const uint32_t large = sl_half_mask(magnitude >= 0x47800000u); /* 2^16; from 65520 on, the carry made it infinity */
  uint32_t half = (subnormal & small) | (normal & ~small);
  const uint32_t payload = 0x0200u | (magnitude >> 13 & 0x01ffu);
  half = (half & ~large) | (0x7c00u & large) | (payload & sl_half_mask(magnitude > 0x7f800000u));
  return (uint16_t)(half | ((bits >> 16) & 0x8000u));
}
