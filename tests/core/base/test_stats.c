/* label: unit
 * Quantiles against values counted by hand. */
#include "core/base/stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void near(double got, double want) {
  if (!(fabs(got - want) <= 1e-15 * fabs(want))) fail_msg("%.17g, expected %.17g", got, want);
}

static void quantiles_lie_between_neighbours(void **state) {
  (void)state;
  const double five[] = {-3, 1, 2.385, 7, 19}; /* quantile q is at place 4 q */
  near(sl_stats_quantile(five, 5, 0), -3);
  near(sl_stats_quantile(five, 5, 0.25), 1);
  near(sl_stats_quantile(five, 5, 0.1), -3 + 0.4 * 4);
  near(sl_stats_quantile(five, 5, 0.95), 7 + 0.8 * 12);
  near(sl_stats_quantile(five, 5, 1), 19);
  near(sl_stats_quantile(five, 1, 0.7), -3); /* one value is its own range */
}

static void the_median_of_an_even_number_is_between_two(void **state) {
  (void)state;
  const double six[] = {1, 2, 3, 8, 9, 50};
  near(sl_stats_median(six, 6), 5.5);
  near(sl_stats_median(six, 5), 3);
  near(sl_stats_median(six, 2), 1.5);
}

static void a_range_sorts_what_it_gets(void **state) {
  (void)state;
  double values[] = {31, 100, 33, 34, 2, 5, 7, 11, 13, 17, 19};
  const struct sl_stats_range range = sl_stats_range(values, 11);
  near(range.low, 5); /* the second of 2 5 7 11 13 17 19 31 33 34 100 */
  near(range.median, 17);
  near(range.high, 34);
  for (int i = 1; i < 11; i++) assert_true(values[i - 1] <= values[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(quantiles_lie_between_neighbours),
      cmocka_unit_test(the_median_of_an_even_number_is_between_two),
      cmocka_unit_test(a_range_sorts_what_it_gets),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
