/* label: unit
   libs: kernels
 * The exp of the kernels on 16-bit tensors (kernels/vecmath.h) against libm's; the float build's is in
 * test_kernels_repeat.c. */
#define SL_STORE_BF16
#include "kernels/vecmath.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void exp_for_16_bit_results(void **state) {
  (void)state;
  double worst = 0;
  for (int i = -8700000; i <= 8800000; i += 7) {
    const float x = (float)i * 1e-5f;
    const double exact = exp((double)x), ulp = (double)(nextafterf((float)exact, INFINITY) - (float)exact);
    const double error = fabs((double)sl_exp(x) - exact) / ulp;
    worst = error <= worst ? worst : error; /* NaN is an error */
  }
  if (!(worst < 1.3)) fail_msg("%g ulp", worst);
  assert_true(sl_exp(0) == 1 && sl_exp(-INFINITY) == 0 && sl_exp(-87.01f) == 0);
  assert_true(sl_exp(89) < INFINITY && sl_exp(89) > 1.6e38f && sl_exp(INFINITY) == sl_exp(89));
  for (uint32_t upper = 0; upper < 65536; upper++) { /* every 16-bit NaN, widened */
    const float x = sl_half_from_bf16((uint16_t)upper), y = sl_half_from_f16((uint16_t)upper);
    if (isnan(x)) assert_true(isnan(sl_exp(x)));
    if (isnan(y)) assert_true(isnan(sl_exp(y)));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(exp_for_16_bit_results)};
  return cmocka_run_group_tests_name("exp", tests, NULL, NULL);
}
