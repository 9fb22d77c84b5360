/* label: unit
   libs: kernels
 * Numbers of 8 bits: every code against a table that is made here from the formats' definition alone, rounding to nearest with
 * ties to even between every two neighbours, saturation, NaNs; casts in both layouts, the largest magnitude, and the scales that
 * follow from a history. */
#include "kernels/convert.h"
#include "kernels/fp8.h"
#include "kernels/fp8_code.h"
#include "kernels/philox.h"

#include <math.h>
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The non-negative numbers of a format in ascending order, code by code: (1 + f / 2^F) 2^(e - bias), and below the smallest
 * exponent f / 2^F 2^(1 - bias). Returns how many there are. */
static int numbers_of(enum sl_fp8 format, double numbers[128]) {
  const int fraction = format == SL_FP8_E4M3 ? 3 : 2, exponents = format == SL_FP8_E4M3 ? 16 : 31;
  const int bias = format == SL_FP8_E4M3 ? 7 : 15, steps = 1 << fraction;
  int n = 0;
  for (int e = 0; e < exponents; e++)
    for (int f = 0; f < steps; f++)
      numbers[n++] = e == 0 ? f * pow(2, 1 - bias - fraction) : (1 + f / (double)steps) * pow(2, e - bias);
  return format == SL_FP8_E4M3 ? n - 1 : n; /* E4M3's last is its NaN; E5M2's exponent 31 is infinity and NaNs */
}

static void test_every_code(void **state) {
  (void)state;
  for (int format = SL_FP8_E4M3; format <= SL_FP8_E5M2; format++) {
    double numbers[128];
    uint8_t codes[256];
    float decoded[256];
    const int n = numbers_of((enum sl_fp8)format, numbers);
    assert_int_equal(n, format == SL_FP8_E4M3 ? 127 : 124);
    assert_true(numbers[n - 1] == (format == SL_FP8_E4M3 ? 448 : 57344));
    for (int i = 0; i < 256; i++) codes[i] = (uint8_t)i;
    sl_fp8_decode(decoded, codes, 256, (enum sl_fp8)format);
    for (int i = 0; i < 256; i++) {
      const int at = i & 127;
      const double sign = i > 127 ? -1 : 1;
      if (at < n) {
        assert_true((double)decoded[i] == sign * numbers[at] && !!signbit(decoded[i]) == (i > 127));
        assert_int_equal(sl_fp8_code(decoded[i], (enum sl_fp8)format), i);
      } else if (format == SL_FP8_E5M2 && at == 124) {
        assert_true(isinf(decoded[i]) && decoded[i] * (float)sign > 0);
      } else {
        assert_true(isnan(decoded[i]));
      }
    }
  }
}

/* Just below the middle, the middle, and just above it. */
static void test_rounding(void **state) {
  (void)state;
  for (int format = SL_FP8_E4M3; format <= SL_FP8_E5M2; format++) {
    double numbers[128];
    const int n = numbers_of((enum sl_fp8)format, numbers);
    for (int i = 0; i + 1 < n; i++) {
      const float middle = (float)((numbers[i] + numbers[i + 1]) / 2);
      const uint8_t even = (uint8_t)(i % 2 == 0 ? i : i + 1);
      assert_int_equal(sl_fp8_code(middle, (enum sl_fp8)format), even);
      assert_int_equal(sl_fp8_code(-middle, (enum sl_fp8)format), even | 128);
      assert_int_equal(sl_fp8_code(nextafterf(middle, 0), (enum sl_fp8)format), i);
      assert_int_equal(sl_fp8_code(nextafterf(middle, INFINITY), (enum sl_fp8)format), i + 1);
    }
    const uint8_t most = (uint8_t)(n - 1);
    const float beyond[] = {(float)numbers[n - 1] * 1.01f, (float)numbers[n - 1] * 4, 3e38f, INFINITY};
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
      assert_int_equal(sl_fp8_code(beyond[i], (enum sl_fp8)format), most);
      assert_int_equal(sl_fp8_code(-beyond[i], (enum sl_fp8)format), most | 128);
    }
    assert_true(isnan(sl_fp8_number(sl_fp8_code(NAN, (enum sl_fp8)format), (enum sl_fp8)format)));
    assert_int_equal(sl_fp8_code(1e-30f, (enum sl_fp8)format), 0);
    assert_int_equal(sl_fp8_code(-0.0f, (enum sl_fp8)format), 128);
  }
}

static void check_cast(size_t R, size_t C, enum sl_number type, enum sl_fp8 format, float scale) {
  float *wide = malloc(R * C * sizeof *wide), amax = 0.25f, largest = 0.25f;
  void *x = malloc(R * C * sizeof *wide);
  uint8_t *out = malloc(R * C), *transposed = malloc(R * C), *alone = malloc(R * C);
  assert_true(wide && x && out && transposed && alone);
  sl_philox_normal(wide, &(struct sl_philox_key){7, 3, 1, (uint32_t)R}, 0, R * C, 0.1f, 1.5f);
  if (R * C > 20) wide[11] = NAN;
  sl_convert(x, type, wide, SL_NUMBER_F32, R * C);
  sl_convert(wide, SL_NUMBER_F32, x, type, R * C);
  sl_fp8_cast(out, transposed, x, type, R, C, format, &scale, &amax);
  for (size_t r = 0; r < R; r++)
    for (size_t c = 0; c < C; c++) {
      const float v = wide[r * C + c];
      assert_int_equal(out[r * C + c], sl_fp8_code(v * scale, format));
      assert_int_equal(transposed[c * R + r], out[r * C + c]);
      if (fabsf(v) > largest) largest = fabsf(v);
    }
  assert_true(amax == largest);
  sl_fp8_cast(NULL, alone, x, type, R, C, format, &scale, &amax);
  assert_memory_equal(alone, transposed, R * C);
  sl_fp8_cast(alone, NULL, x, type, R, C, format, &scale, &amax);
  assert_memory_equal(alone, out, R * C);
  assert_true(amax == largest);
  free(wide), free(x), free(out), free(transposed), free(alone);
}

static void test_casts(void **state) {
  static const size_t shapes[][2] = {{1, 1}, {3, 5}, {16, 256}, {17, 257}, {1, 700}, {700, 1}, {150, 300}};
  (void)state;
  for (int threads = 1; threads <= 3; threads += 2) {
    omp_set_num_threads(threads);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
      for (int k = 0; k < 4; k++)
        check_cast(shapes[i][0], shapes[i][1], k % 2 ? SL_NUMBER_BF16 : SL_NUMBER_F32,
                   k / 2 ? SL_FP8_E5M2 : SL_FP8_E4M3, k == 0 ? 1 : 37.5f);
  }
}

static const struct sl_fp8_rule plain = {SL_FP8_E5M2, 0, 1};

/* Input, weight and gradient of one layer, with a history of three steps, in one of which nothing but zeros is cast. */
static void check_scales(struct sl_fp8_rule rule, const float *largest) {
  enum { N = 3, H = 3, STEPS = 7 };
  static const float amaxes[STEPS] = {2, 8, 1, 0, 4, 0.5f, 0.5f}, newest[STEPS] = {2, 8, 1, 1, 4, 0.5f, 0.5f};
  float scale[2 * N] = {1, 1, 1, 1, 1, 1}, amax[N], history[N * H] = {0};
  for (int s = 0; s < STEPS; s++) {
    for (int i = 0; i < N; i++) amax[i] = amaxes[s] * (float)(i + 1);
    sl_fp8_scale(scale, amax, history, N, H, rule);
    for (int i = 0; i < N; i++) {
      const float most = i == 2 && rule.gradients == SL_FP8_E5M2 ? 57344 : 448;
      assert_true(amax[i] == 0);
      assert_true(scale[2 * i] == most * rule.reach / (largest[s] * (float)(i + 1)));
      assert_true(scale[2 * i + 1] == 1 / scale[2 * i]);
      assert_true(history[i * H] == newest[s] * (float)(i + 1));
    }
  }
}

static void test_scales(void **state) {
  static const float largest[] = {2, 8, 8, 8, 8, 4, 4}; /* of the step and two before, the one of zeros apart */
  static const float newest[] = {2, 8, 1, 1, 4, 0.5f, 0.5f};
  (void)state;
  check_scales(plain, largest);
  check_scales((struct sl_fp8_rule){SL_FP8_E4M3, 0, 0.25f}, largest);
  check_scales((struct sl_fp8_rule){SL_FP8_E5M2, 1, 0.5f}, newest);
}

/* Nothing was cast; infinity; so small that the scale is none. */
static void test_scales_that_stay(void **state) {
  float scale[6] = {3, 1.0f / 3, 5, 1, 7, 1}, amax[3] = {0, INFINITY, 1e-38f}, history[3] = {9, 0, 0};
  (void)state;
  sl_fp8_scale(scale, amax, history, 3, 1, plain);
  assert_true(scale[0] == 3 && scale[1] == 1.0f / 3 && history[0] == 9);
  assert_true(scale[2] == 5 && scale[3] == 0.2f);
  assert_true(scale[4] == 3.402823466e38f && scale[5] > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_code), cmocka_unit_test(test_rounding),
                                     cmocka_unit_test(test_casts), cmocka_unit_test(test_scales),
                                     cmocka_unit_test(test_scales_that_stay)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
