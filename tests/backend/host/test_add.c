/* The sums that collectives take, against the conversions of kernels/: a sum in float, rounded once, in place or not.
 * No process but this one. */
#include "backend/host/add.h"
#include "kernels/convert.h"
#include "kernels/philox.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { N = 10007 };

static void sums_of_each_type_round_once(void **state) {
  (void)state;
  static const struct {
    enum sl_dtype dtype;
    enum sl_number number;
  } types[] = {{SL_F32, SL_NUMBER_F32}, {SL_BF16, SL_NUMBER_BF16}, {SL_F16, SL_NUMBER_F16}};
  static float wide[2][N];
  static uint32_t a[N], b[N], c[N], expected[N];
  for (uint32_t i = 0; i < 2; i++) sl_philox_uniform(wide[i], &(struct sl_philox_key){4, 1, 0, i}, 0, N, -2, 2);
  wide[0][N - 1] = wide[1][N - 1] = 60000; /* too large for fp16: infinity */
  for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
    const enum sl_number number = types[t].number;
    const size_t bytes = N * sl_convert_bytes(number);
    sl_convert(a, number, wide[0], SL_NUMBER_F32, N);
    sl_convert(b, number, wide[1], SL_NUMBER_F32, N);
    memcpy(expected, a, bytes);
    sl_convert_add(expected, number, b, number, N);
    sl_add_of(types[t].dtype)(c, a, b, N);
    assert_memory_equal(c, expected, bytes);
    sl_add_of(types[t].dtype)(b, a, b, N);
    assert_memory_equal(b, expected, bytes);
    if (number == SL_NUMBER_F16) assert_int_equal(((const uint16_t *)c)[N - 1], 0x7c00);
  }
  assert_null(sl_add_of(SL_U8));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sums_of_each_type_round_once)};
  return cmocka_run_group_tests_name("add", tests, NULL, NULL);
}
