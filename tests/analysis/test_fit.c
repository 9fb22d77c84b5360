/* label: unit
   libs: fit
 * One entry of a profile: known parameters come back from noisy points, with standard errors that cover them. */
#include "tests/support/fit_points.h"

enum { WORLDS = 60 };

static struct sl_op_cost fit_world(uint64_t seed, double noise, int outliers) {
  static struct sl_work works[POINTS];
  static double seconds[POINTS], spread[POINTS];
  struct sl_op_cost cost = {.kind = SL_OP_GEMM, .dtype = SL_F32, .ranks = 1};
  state = seed;
  for (int i = 0; i < POINTS; i++) {
    struct sl_point p = product(noise);
    works[i] = sl_point_work(&p);
    seconds[i] = i < outliers ? 3.1 * p.median_s : p.median_s;
    spread[i] = 0.01;
  }
  assert_int_equal(sl_fit_entry(&cost, works, seconds, spread, POINTS), SL_OK);
  return cost;
}

static void known_parameters_come_back(void **unused) {
  (void)unused;
  const struct sl_op_cost cost = fit_world(4711, 0.04, 0);
  for (int t = 0; t < SL_TERM_COUNT; t++) {
    if (truth[t] == 0) {
      assert_true(cost.seconds[t] == 0);
      continue;
    }
    const double off = log(cost.seconds[t] / truth[t]);
    if (!(fabs(off) < 3.5 * cost.relative_stderr[t]) || !(cost.relative_stderr[t] < 0.3))
      fail_msg("%s off by %.1f %%, standard error %.1f %%", sl_term_key((enum sl_term)t), 100 * off,
               100 * cost.relative_stderr[t]);
  }
  assert_true(cost.relative_stderr[SL_TERM_FLOPS] < 0.03);
  assert_true(fabs(cost.scatter / 0.04 - 1) < 0.35);
}

/* Of 60 repetitions with 5 parameters each, 90 % intervals should hold the truth in about 270 of 300. */
static void standard_errors_cover(void **unused) {
  (void)unused;
  int inside = 0, all = 0;
  for (uint64_t seed = 1; seed <= WORLDS; seed++) {
    const struct sl_op_cost cost = fit_world(seed * 7919, 0.05, 0);
    for (int t = 0; t < SL_TERM_COUNT; t++) {
      if (truth[t] == 0 || cost.seconds[t] == 0) continue;
      inside += fabs(log(cost.seconds[t] / truth[t])) < 1.645 * cost.relative_stderr[t];
      all++;
    }
  }
  assert_true(all > WORLDS * 4);
  if (inside < 0.78 * all || inside > 0.97 * all) fail_msg("%d of %d inside 90 %% intervals", inside, all);
}

static void outliers_count_little(void **unused) {
  (void)unused;
  const struct sl_op_cost clean = fit_world(31, 0.03, 0), dirty = fit_world(31, 0.03, 5);
  assert_true(fabs(log(dirty.seconds[SL_TERM_FLOPS] / clean.seconds[SL_TERM_FLOPS])) < 0.03);
}

static void noiseless_points_are_exact(void **unused) {
  (void)unused;
  const struct sl_op_cost cost = fit_world(5, 0, 0);
  for (int t = 0; t < SL_TERM_COUNT; t++)
    if (truth[t] > 0 && !(fabs(cost.seconds[t] / truth[t] - 1) < 1e-4))
      fail_msg("%s is %.9g, expected %.9g", sl_term_key((enum sl_term)t), cost.seconds[t], truth[t]);
}

/* Two copies below the cache and one beyond: neither rate can go, for some copy would take no time and the errors would
 * not be numbers. The constant can. Of one copy each the constant is all that can be told. */
static void no_point_is_left_without_a_term(void **unused) {
  (void)unused;
  enum { LAUNCH = SL_TERM_LAUNCH, CACHED = SL_TERM_CACHED, BYTES = SL_TERM_BYTES };
  const struct sl_work works[] = {{.terms = {[LAUNCH] = 1, [CACHED] = 8e3}},
                                  {.terms = {[LAUNCH] = 1, [CACHED] = 1e5}},
                                  {.terms = {[LAUNCH] = 1, [BYTES] = 3e7}}};
  const double seconds[] = {1.1e-6, 1e-5, 4e-3}, spread[] = {0.01, 0.01, 0.01};
  struct sl_op_cost cost = {.kind = SL_OP_COPY, .dtype = SL_BF16, .ranks = 2};
  assert_int_equal(sl_fit_entry(&cost, works, seconds, spread, 3), SL_OK);
  assert_true(cost.seconds[LAUNCH] == 0 && cost.seconds[CACHED] > 0 && cost.seconds[BYTES] > 0);
  for (int i = 0; i < 3; i++) assert_true(fabs(log(sl_op_cost_seconds(&cost, &works[i]) / seconds[i])) < 0.2);
  assert_true(isfinite(cost.scatter) && isfinite(cost.relative_stderr[CACHED]) && cost.relative_stderr[BYTES] < 1);
  assert_int_equal(sl_fit_entry(&cost, works + 1, seconds + 1, spread, 2), SL_OK);
  assert_true(cost.seconds[LAUNCH] > 0 && cost.seconds[CACHED] == 0 && cost.seconds[BYTES] == 0);
  const struct sl_work nothing[2] = {{.terms = {[CACHED] = 1}}};
  assert_int_equal(sl_fit_entry(&cost, nothing, seconds, spread, 2), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "no term says anything"));
}

static void too_few_points(void **unused) {
  (void)unused;
  struct sl_op_cost cost = {0};
  const struct sl_work works[1] = {{.terms = {1}}};
  const double seconds[1] = {1}, spread[1] = {0};
  assert_int_equal(sl_fit_entry(&cost, works, seconds, spread, 1), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "2 points"));
  sl_error_clear();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_parameters_come_back),      cmocka_unit_test(standard_errors_cover),
      cmocka_unit_test(outliers_count_little),           cmocka_unit_test(noiseless_points_are_exact),
      cmocka_unit_test(no_point_is_left_without_a_term), cmocka_unit_test(too_few_points),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
