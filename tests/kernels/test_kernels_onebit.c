/* label: unit
   libs: kernels
 * One-bit momentum against plain formulas in double: what a rank sends and what it keeps back, the mean of several, and the update
 * with a variance that stays. */
#include "kernels/onebit.h"

#include "kernels/convert.h"
#include "kernels/philox.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 20011, PIECES = 3, CHUNK = 6672, PADDED = PIECES * CHUNK, STRIDE = 4 + 836, STEPS = 3 };
_Static_assert(PADDED >= N && CHUNK % 8 == 0 && STRIDE % 4 == 0 && (STRIDE - 4) * 8 >= CHUNK,
               "pieces hold all numbers");

static const struct sl_signs shape = {CHUNK, PIECES, STRIDE};
static float m[PADDED], grad[PADDED], error[PADDED];
static unsigned char packed[PIECES * STRIDE];

static void draw(float *x, size_t n, uint32_t stream) {
  sl_philox_uniform(x, &(struct sl_philox_key){8, 1, stream, 0}, 0, n, -1, 1);
}

/* What number i of the packed pieces stands for. */
static float number(const unsigned char *from, size_t i) {
  const unsigned char *piece = from + i / CHUNK * STRIDE;
  float scale;
  memcpy(&scale, piece, sizeof scale);
  return piece[4 + i % CHUNK / 8] >> i % CHUNK % 8 & 1 ? scale : -scale;
}

static double squares(const float *x, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
  return sum;
}

/* Behind the last number there is no momentum, but a bit is sent and its error kept. */
static void what_a_bit_loses_is_kept(void **state) {
  (void)state;
  static const enum sl_number types[] = {SL_NUMBER_F32, SL_NUMBER_BF16, SL_NUMBER_F16};
  static uint32_t stored[N];
  for (size_t t = 0; t < 3; t++) {
    memset(error, 0, sizeof error);
    for (uint32_t step = 0; step < STEPS; step++) {
      static double wanted[PADDED];
      draw(m, N, 3 * step), draw(grad, N, 3 * step + 1);
      sl_convert(stored, types[t], grad, SL_NUMBER_F32, N), sl_convert(grad, SL_NUMBER_F32, stored, types[t], N);
      for (size_t i = 0; i < PADDED; i++)
        wanted[i] = error[i] + (i < N ? 0.87 * m[i] + (1 - 0.87) * 1.7 * (double)grad[i] : 0);
      sl_onebit_blend(error, m, stored, types[t], N, 1.7, 0.87);
      for (size_t i = 0; i < PADDED; i++) assert_true(fabs(error[i] - wanted[i]) < 1e-6);
      const double sum = squares(error, PADDED), scale = sqrt(sum / PADDED);
      memset(packed, 0xff, sizeof packed);
      sl_onebit_pack(packed, error, sum, &shape);
      for (size_t i = 0; i < PADDED; i++) {
        const double sent = number(packed, i);
        assert_true(fabs(fabs(sent) - scale) < 1e-6 && (wanted[i] < -1e-6 ? sent < 0 : wanted[i] <= 1e-6 || sent > 0));
        assert_true(fabs(sent + error[i] - wanted[i]) < 1e-6);
      }
      for (size_t k = 0; k < PIECES; k++)
        for (size_t b = 4 + CHUNK / 8; b < STRIDE; b++) assert_int_equal(packed[k * STRIDE + b], 0);
    }
  }
}

static void pieces_are_averaged(void **state) {
  (void)state;
  static float before[CHUNK];
  draw(error, PADDED, 20);
  sl_onebit_pack(packed, error, squares(error, PADDED), &shape);
  for (size_t k = 0; k < PIECES; k++) { /* each rank has a scale of its own */
    const float scale = 0.25F * (float)(k + 1);
    memcpy(packed + k * STRIDE, &scale, sizeof scale);
  }
  draw(before, CHUNK, 21);
  memcpy(error, before, sizeof before);
  sl_onebit_average(error, packed, &shape);
  for (size_t i = 0; i < CHUNK; i++) {
    double mean = 0;
    for (size_t k = 0; k < PIECES; k++) mean += (double)number(packed, k * CHUNK + i) / PIECES;
    assert_true(fabs(error[i] - (before[i] + mean)) < 1e-6);
  }
}

static void the_variance_stays(void **state) {
  (void)state;
  static float p[N], v[N], was[N], kept[N];
  static uint32_t param[N], expected[N];
  const struct sl_adam a = {1e-2, 0.9, 0.99, 1e-7, 0.13, 1, 1, 0, 7};
  draw(error, PADDED, 30), draw(p, N, 31), draw(v, N, 32);
  sl_onebit_pack(packed, error, squares(error, PADDED), &shape);
  for (size_t i = 0; i < N; i++) v[i] = i % 5 == 0 ? 0 : fabsf(v[i]) + 0.01F;
  memcpy(was, p, sizeof p), memcpy(kept, v, sizeof v);
  memset(m, 0xff, sizeof m);
  sl_onebit_adam(p, m, v, packed, &shape, param, SL_NUMBER_BF16, N, &a);
  assert_memory_equal(v, kept, sizeof v);
  for (size_t i = 0; i < N; i++) {
    const double mi = i % 5 == 0 ? 0 : (double)number(packed, i);
    const double wanted = was[i] - 1e-2 * (0.13 * was[i] + mi / (sqrt(v[i]) + 1e-7));
    assert_true(m[i] == (float)mi && fabs(p[i] - wanted) < 2e-6);
  }
  sl_convert(expected, SL_NUMBER_BF16, p, SL_NUMBER_F32, N);
  assert_memory_equal(param, expected, N * 2);
  memcpy(kept, p, sizeof p);
  memcpy(p, was, sizeof p);
  sl_onebit_adam(p, m, v, packed, &shape, NULL, SL_NUMBER_F32, N, &a);
  assert_memory_equal(p, kept, sizeof p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_a_bit_loses_is_kept), cmocka_unit_test(pieces_are_averaged),
                                     cmocka_unit_test(the_variance_stays)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
