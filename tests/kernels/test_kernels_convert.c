/* label: unit
   libs: kernels
 * bf16 and fp16: every conversion, and sums across types, against plain arithmetic. */
#include "kernels/numbers/every.h"
#include "tests/support/half_formats.h"

/* x rounded to the format, by rounding the multiple of the last place (ties to even) in double. */
static double plain_round(const struct format *f, float x) {
  int e;
  if (x == 0 || !isfinite(x)) return x;
  frexp((double)x, &e);
  e = e - 1 < f->min_exponent ? f->min_exponent : e - 1;
  double place = ldexp(1, e - f->fraction_bits), y = nearbyint((double)x / place) * place;
  return fabs(y) >= ldexp(1, f->max_exponent + 1) ? copysign(INFINITY, y) : y;
}

static int same(double a, double b) {
  return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static float widen(const struct format *f, uint16_t bits) {
  return f->type == SL_NUMBER_BF16 ? sl_half_from_bf16(bits) : sl_half_from_f16(bits);
}

static void all_16_bit_numbers_widen_exactly_and_come_back(void **state) {
  (void)state;
  static uint16_t bits[65536], back[65536];
  static float wide[65536];
  for (size_t k = 0; k < 2; k++) {
    const struct format *f = &formats[k];
    for (size_t i = 0; i < 65536; i++) bits[i] = (uint16_t)i;
    sl_convert(wide, SL_NUMBER_F32, bits, f->type, 65536);
    sl_convert(back, f->type, wide, SL_NUMBER_F32, 65536);
    for (size_t i = 0; i < 65536; i++) {
      const double x = plain_value(f, bits[i]);
      if (!same(wide[i], x) || !same(widen(f, bits[i]), x)) fail_msg("%s %04zx: %g, not %g", f->name, i, wide[i], x);
      if (isnan(x)) {
        assert_true(isnan(widen(f, back[i])) && back[i] >> (f->fraction_bits - 1) & 1); /* quiet */
      } else {
        assert_int_equal(back[i], bits[i]);
      }
    }
    memset(back, 0x5a, sizeof back);
    sl_convert(back, f->type, bits, f->type, 65536);
    for (size_t i = 0; i < 65536; i++) assert_true(same(plain_value(f, back[i]), plain_value(f, bits[i])));
  }
}

static void check_rounding(const struct format *f, const float *x, size_t n) {
  uint16_t *y = malloc(n * sizeof *y);
  assert_non_null(y);
  sl_convert(y, f->type, x, SL_NUMBER_F32, n);
  for (size_t i = 0; i < n; i++) {
    const double expected = plain_round(f, x[i]), got = plain_value(f, y[i]);
    const uint16_t one = f->type == SL_NUMBER_BF16 ? sl_half_to_bf16(x[i]) : sl_half_to_f16(x[i]);
    if (!same(got, expected) || one != y[i])
      fail_msg("%s of %a: %a, expected %a", f->name, (double)x[i], got, expected);
  }
  free(y);
}

/* Every midpoint between neighbours, both of its float neighbours, and a million random bit patterns. */
static void floats_round_to_nearest_even(void **state) {
  (void)state;
  enum { RANDOM = 1000003 };
  float *x = malloc((RANDOM + 6) * sizeof *x);
  assert_non_null(x);
  sl_philox_words((uint32_t *)(void *)x, &(struct sl_philox_key){23, 85, 0, 1}, 0, RANDOM);
  for (size_t k = 0; k < 2; k++) {
    const struct format *f = &formats[k];
    check_rounding(f, x, RANDOM);
    size_t n = 0;
    const uint16_t infinity = (uint16_t)(0x7fff & ~((1 << f->fraction_bits) - 1));
    for (uint16_t bits = 0; bits < infinity; bits++) {
      /* past the largest number lies the one that its successor would be */
      const double next = bits + 1 < infinity ? plain_value(f, (uint16_t)(bits + 1)) : ldexp(1, f->max_exponent + 1);
      const float middle = (float)((plain_value(f, bits) + next) / 2);
      const float near[6] = {middle,  nextafterf(middle, 0),  nextafterf(middle, INFINITY),
                             -middle, nextafterf(-middle, 0), nextafterf(-middle, -INFINITY)};
      if (n + 6 > RANDOM) check_rounding(f, x, n), n = 0;
      memcpy(x + n, near, sizeof near), n += 6;
    }
    check_rounding(f, x, n);
    sl_philox_words((uint32_t *)(void *)x, &(struct sl_philox_key){23, 85, 0, 1}, 0, RANDOM);
  }
  free(x);
}

/* The machine's instructions and the portable code give the same bits, for every 16-bit number and for floats 1009
 * apart: all signs and exponents, NaNs and subnormal numbers among them, in runs of every length up to three
 * vectors. */
static void instructions_give_the_portable_bits(void **state) {
  (void)state;
  enum { RUN = 49 };
  static uint16_t bits[65536];
  static float wide[65536];
  for (size_t i = 0; i < 65536; i++) bits[i] = (uint16_t)i;
  for (size_t k = 0; k < 2; k++) {
    const int bf16 = formats[k].type == SL_NUMBER_BF16;
    sl_convert(wide, SL_NUMBER_F32, bits, formats[k].type, 65536);
    for (size_t i = 0; i < 65536; i++) {
      const uint32_t got = sl_half_bits_of(wide[i]), expected = sl_half_bits_of(widen(&formats[k], bits[i]));
      if (got != expected) fail_msg("%s %04zx widens to %08x, portably %08x", formats[k].name, i, got, expected);
    }
    size_t n = 1;
    for (uint64_t first = 0; first < 0x100000000u; first += 1009 * n, n = n % RUN + 1) {
      float x[RUN];
      uint16_t y[RUN + 1] = {0};
      for (size_t i = 0; i < n; i++) x[i] = sl_half_float_of((uint32_t)(first + 1009 * i));
      y[n] = 0x5a5a;
      sl_convert_chunk(y, formats[k].type, x, SL_NUMBER_F32, n);
      for (size_t i = 0; i < n; i++) {
        const uint16_t expected = bf16 ? sl_half_to_bf16(x[i]) : sl_half_to_f16(x[i]);
        if (y[i] != expected)
          fail_msg("%s of %08x is %04x, portably %04x", formats[k].name, sl_half_bits_of(x[i]), y[i], expected);
      }
      assert_int_equal(y[n], 0x5a5a);
    }
  }
}

static void sums_across_types_round_once(void **state) {
  (void)state;
  enum { N = 37 * 1201 };
  static float values[2][N];
  static uint32_t flat_dst[N], flat_src[N];
  for (uint32_t i = 0; i < 2; i++) sl_philox_uniform(values[i], &(struct sl_philox_key){4, 1, 0, i}, 0, N, -2, 2);
  for (int d = 0; d < 3; d++) {
    for (int s = 0; s < 3; s++) {
      const enum sl_number to = (enum sl_number)d, from = (enum sl_number)s;
      static float a[N], b[N], got[N];
      sl_convert(flat_dst, to, values[0], SL_NUMBER_F32, N), sl_convert(a, SL_NUMBER_F32, flat_dst, to, N);
      sl_convert(flat_src, from, values[1], SL_NUMBER_F32, N), sl_convert(b, SL_NUMBER_F32, flat_src, from, N);
      sl_convert_add(flat_dst, to, flat_src, from, N);
      sl_convert(got, SL_NUMBER_F32, flat_dst, to, N);
      for (size_t i = 0; i < N; i++) {
        const float sum = a[i] + b[i];
        assert_true((double)got[i] == (d == 0 ? (double)sum : plain_round(&formats[d - 1], sum)));
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_16_bit_numbers_widen_exactly_and_come_back),
      cmocka_unit_test(floats_round_to_nearest_even),
      cmocka_unit_test(instructions_give_the_portable_bits),
      cmocka_unit_test(sums_across_types_round_once),
  };
  return cmocka_run_group_tests_name("conversions", tests, NULL, NULL);
}
