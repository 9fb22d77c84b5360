/* label: unit
   libs: fit
 * Rounds of a calibration: what they become together, slow ones among them, and the noise of steps from round to round. */
#include "tests/support/fit_points.h"

static void add_round(struct sl_points *points, int64_t m, double median, double low, double high) {
  struct sl_point p = {.kind = SL_OP_GEMM, .dtype = SL_F32, .ranks = 1, .parts = 1, .repeats = 5, .count = 3};
  p.dim[0] = m;
  p.median_s = median, p.low_s = low, p.high_s = high;
  snprintf(p.source, sizeof p.source, "c88");
  assert_int_equal(sl_points_add(points, &p), SL_OK);
}

/* Rounds at 31, 100, 33 and 34 us: the median is between the middle ones. One round alone is its own range. The second
 * of the rounds of 203 has a median that others made: 1.15 times its 10th percentile counts. */
static void rounds_become_one_point(void **unused) {
  (void)unused;
  struct sl_points points = {.cluster = NULL}, merged;
  add_round(&points, 41, 31e-6, 30e-6, 32e-6);
  add_round(&points, 57, 71e-6, 70e-6, 73e-6);
  add_round(&points, 41, 100e-6, 99e-6, 101e-6);
  add_round(&points, 41, 33e-6, 32e-6, 37e-6);
  add_round(&points, 203, 10e-6, 9.9e-6, 10.5e-6);
  add_round(&points, 41, 34e-6, 33e-6, 90e-6);
  add_round(&points, 203, 30e-6, 9e-6, 31e-6);
  add_round(&points, 203, 30e-6, 9e-6, 31e-6);
  points.items[points.count - 1].parts = 2; /* another point */
  assert_int_equal(sl_fit_merge(&merged, &points), SL_OK);
  assert_int_equal(merged.count, 4);
  assert_int_equal(merged.items[0].dim[0], 41);
  assert_true(fabs(merged.items[0].median_s - 33.5e-6) < 1e-12);
  assert_true(fabs(merged.items[0].low_s - (31e-6 + 0.3 * 2e-6)) < 1e-12);
  assert_true(fabs(merged.items[0].high_s - (34e-6 + 0.7 * 66e-6)) < 1e-12);
  assert_int_equal(merged.items[0].repeats, 20);
  assert_int_equal(merged.items[0].count, 3);
  assert_true(merged.items[1].median_s == 71e-6 && merged.items[1].low_s == 71e-6 && merged.items[1].high_s == 71e-6);
  assert_true(fabs(merged.items[2].median_s - (10e-6 + 1.15 * 9e-6) / 2) < 1e-12);
  sl_points_free(&points);
  sl_points_free(&merged);
}

/* Five rounds, of which two take half as long again. */
static void two_slow_rounds_of_five_do_not_count(void **unused) {
  (void)unused;
  static struct sl_fit fit;
  struct sl_points points;
  open_points(&points);
  for (int round = 0; round < 5; round++) {
    state = 12;
    for (int i = 0; i < POINTS; i++) {
      struct sl_point p = product(0);
      p.median_s *= round % 2 ? 1.5 : 1;
      p.low_s = p.median_s;
      assert_int_equal(sl_points_add(&points, &p), SL_OK);
    }
  }
  assert_int_equal(sl_fit_points(&fit, &points), SL_OK);
  const struct sl_op_cost *c = &fit.profile.op_costs.items[0];
  assert_int_equal(fit.count, POINTS);
  for (int t = 0; t < SL_TERM_COUNT; t++) {
    if (truth[t] == 0) continue;
    assert_true(fabs(c->seconds[t] / truth[t] - 1) < 1e-3);
  }
  sl_fit_free(&fit);
  sl_points_free(&points);
}

/* Seven lengths of a step, each in three rounds that differ by 6 % (0.1 s / length)^slope, so that the middle one of
 * the three differences is that. */
static void noise_by_law(struct sl_fit *fit, struct sl_points *points, double slope) {
  open_points(points);
  state = 31;
  for (int i = 0; i < POINTS; i++) {
    struct sl_point p = product(0.02);
    assert_int_equal(sl_points_add(points, &p), SL_OK);
  }
  for (int m = 0; m < 7; m++) {
    const double length_s = 3e-3 * pow(3.1, m), part = 0.06 * pow(0.1 / length_s, slope);
    for (int round = 0; round < 3; round++) {
      struct sl_point_step s = {.ranks = 1 + m % 2, .ops = 91, .compute_s = length_s, .repeats = 9};
      snprintf(s.name, sizeof s.name, "m%d", m / 2);
      s.median_s = length_s * exp(round == 0 ? -part : round == 1 ? 0 : part / 2);
      assert_int_equal(sl_points_add_step(points, &s), SL_OK);
    }
  }
  assert_int_equal(sl_fit_points(fit, points), SL_OK);
}

static void noise_falls_with_the_length_of_a_step(void **unused) {
  (void)unused;
  static struct sl_fit fit;
  static const double slopes[][2] = {{0, 0}, {0.31, 0.31}, {0.5, 0.5}, {0.7, 0.5}, {-0.2, 0}}; /* true, fitted */
  for (size_t i = 0; i < sizeof slopes / sizeof *slopes; i++) {
    struct sl_points points;
    noise_by_law(&fit, &points, slopes[i][0]);
    const struct sl_device *d = &fit.profile.device;
    assert_true(fabs(d->run_noise_slope - slopes[i][1]) < 0.01);
    if (slopes[i][0] == slopes[i][1]) assert_true(fabs(d->run_noise / (0.06 / 0.6745 / sqrt(2)) - 1) < 0.02);
    assert_true(fabs(sl_device_run_noise(d, 0.4) / d->run_noise - pow(4, -slopes[i][1])) < 0.02);
    assert_true(sl_device_run_noise(d, 1e9) == (slopes[i][1] > 0 ? 0.005 : d->run_noise));
    assert_int_equal(d->rounds, 3);
    assert_true(fit.noise_stderr >= 0 && fit.slope_stderr >= 0);
    sl_fit_free(&fit);
    sl_points_free(&points);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rounds_become_one_point),
      cmocka_unit_test(two_slow_rounds_of_five_do_not_count),
      cmocka_unit_test(noise_falls_with_the_length_of_a_step),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
