/* label: unit
   libs: cost
 * How far a step may be off where formulas price it: what the device's profile says of them. */
#include "cost/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static double error_of(double scatter) {
  const struct sl_device device = {.kind = SL_DEVICE_GPU, .formula_scatter = scatter};
  const struct sl_cost_rank rank = {.device = &device};
  const struct sl_work work = {.kind = SL_OP_GEMM, .flops = 1e12};
  struct sl_cost_error error;
  assert_int_equal(sl_cost_error_open(&error, &rank), SL_OK);
  sl_cost_error_add(&error, &work);
  const double relative = sl_cost_error_relative(&error, 1);
  sl_cost_error_close(&error);
  return relative;
}

static void formulas_miss_by_their_scatter(void **unused) {
  (void)unused;
  assert_true(error_of(0.0371) == 0.0371);
  assert_true(error_of(0) == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(formulas_miss_by_their_scatter)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
