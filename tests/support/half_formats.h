/* The two 16-bit formats by their definition, in plain arithmetic: the reference for the conversions of kernels/. */
#pragma once

#include "kernels/all.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct format {
  const char *name;
  enum sl_number type;
  int fraction_bits, min_exponent, max_exponent; /* of normal numbers 1.f * 2^e */
};

static const struct format formats[] = {{"bf16", SL_NUMBER_BF16, 7, -126, 127}, {"fp16", SL_NUMBER_F16, 10, -14, 15}};

/* The number that the bits represent, by the definition of the format; NaN for a NaN. */
static inline double plain_value(const struct format *f, uint16_t bits) {
  const int exponent = (bits & 0x7fff) >> f->fraction_bits;
  const int fraction = bits & ((1 << f->fraction_bits) - 1), all_ones = (1 << (15 - f->fraction_bits)) - 1;
  double x = exponent == 0
                 ? ldexp(fraction, f->min_exponent - f->fraction_bits)
                 : ldexp((1 << f->fraction_bits) + fraction, exponent - 1 + f->min_exponent - f->fraction_bits);
  if (exponent == all_ones) x = fraction ? NAN : INFINITY;
  return bits & 0x8000u ? -x : x;
}
