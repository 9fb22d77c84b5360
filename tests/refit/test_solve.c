/* label: unit
   libs: refit
 * The fit's sum of squares and its minimum: a clock of known numbers is found again, bounds and priors hold, outliers do not. */
#include "refit/solve.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 40, NUMBERS = 3 };

/* A rate of the first number's, a latency of the second's, and of some rows the third's, which runs beside the two. */
struct toy {
  double work[ROWS], calls[ROWS], beside[ROWS], measured[ROWS], weight[ROWS];
  int asked;
};

static double seconds_of(const struct toy *t, int i, const double *v) {
  return fmax(t->work[i] / v[0] + t->calls[i] * v[1], t->beside[i] / v[2]);
}

static enum sl_status toy_clock(void *context, const double *values, double *seconds, double *slope) {
  struct toy *t = context;
  double v[NUMBERS];
  t->asked++;
  for (int i = 0; i < ROWS; i++) {
    seconds[i] = seconds_of(t, i, values);
    for (int j = 0; slope != NULL && j < NUMBERS; j++) {
      memcpy(v, values, sizeof v);
      v[j] *= exp(0.01);
      slope[i * NUMBERS + j] = sl_refit_slope(seconds[i], seconds_of(t, i, v), 0.01);
    }
  }
  return SL_OK;
}

static const double truth[NUMBERS] = {0.71, 3e-4, 0.23};
static struct sl_refit_prior priors[NUMBERS] = {{0.9, 0.5, 0.1, 1}, {1e-3, 2, 1e-6, 1e-1}, {0.4, 0.7, 0.05, 1}};

static struct sl_refit_problem pose(struct toy *t) {
  uint64_t state = 7;
  for (int i = 0; i < ROWS; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    t->work[i] = 0.3 + (double)(state >> 40) / 1e7;
    t->calls[i] = (double)(i % 7) * 211;
    t->beside[i] = i % 3 == 0 ? 2.5 * t->work[i] : 0.01;
    t->measured[i] = seconds_of(t, i, truth);
    t->weight[i] = 1;
  }
  return (struct sl_refit_problem){.rows = ROWS,
                                   .numbers = NUMBERS,
                                   .measured = t->measured,
                                   .weight = t->weight,
                                   .priors = priors,
                                   .clock = toy_clock,
                                   .context = t};
}

static void solve(const struct sl_refit_problem *q, struct sl_refit_solution *s) {
  const double start[NUMBERS] = {0.4, 5e-3, 0.6};
  assert_int_equal(sl_refit_solve(q, start, 30, s), SL_OK);
}

static void a_slope_is_of_a_latency_or_of_a_rate(void **unused) {
  (void)unused;
  assert_true(fabs(sl_refit_slope(2, 2 + 0.6 * expm1(0.01), 0.01) - 0.3) < 1e-12);
  assert_true(fabs(sl_refit_slope(2, 2 + 0.6 * expm1(-0.01), -0.01) - 0.3) < 1e-12);
  assert_true(fabs(sl_refit_slope(2, 2 + 0.6 * expm1(-0.01), 0.01) + 0.3) < 1e-12);
  assert_true(fabs(sl_refit_slope(2, 2 + 0.6 * expm1(0.01), -0.01) + 0.3) < 1e-12);
}

/* Sums of terms are the model's own, so that it is exact however far the numbers move. */
static void the_local_model_is_exact_for_sums(void **unused) {
  (void)unused;
  struct toy t = {.asked = 0};
  struct sl_refit_problem q = pose(&t);
  struct sl_refit_local local;
  const double at[NUMBERS] = {0.5, 1e-3, 0.9}, far[NUMBERS] = {0.8, 3e-3, 0.9};
  for (int i = 0; i < ROWS; i++) t.beside[i] = 0;
  assert_int_equal(sl_refit_local_alloc(&local, ROWS, NUMBERS), SL_OK);
  memcpy(local.at, at, sizeof at);
  assert_int_equal(q.clock(&t, at, local.seconds, local.slope), SL_OK);
  for (int i = 0; i < ROWS; i++)
    assert_true(fabs(sl_refit_local_seconds(&local, (size_t)i, far) / seconds_of(&t, i, far) - 1) < 1e-9);
  sl_refit_local_free(&local);
}

static void known_numbers_are_found_again(void **unused) {
  (void)unused;
  struct toy t = {.asked = 0};
  struct sl_refit_problem q = pose(&t);
  struct sl_refit_solution s;
  solve(&q, &s);
  for (int j = 0; j < NUMBERS; j++) assert_true(fabs(s.values[j] / truth[j] - 1) < 0.01);
  assert_true(t.asked < 40);
  sl_refit_solution_free(&s);
}

/* Four runs at three times their time pull a number by less than 2 %; least squares would move it by tens. */
static void a_few_runs_gone_wrong_count_little(void **unused) {
  (void)unused;
  struct toy t = {.asked = 0};
  struct sl_refit_problem q = pose(&t);
  struct sl_refit_solution s;
  for (int i = 0; i < ROWS; i += 10) t.measured[i + 1] *= 3;
  solve(&q, &s);
  assert_true(fabs(s.values[0] / truth[0] - 1) < 0.02);
  sl_refit_solution_free(&s);
}

static void a_run_of_no_weight_does_not_count(void **unused) {
  (void)unused;
  struct toy t = {.asked = 0};
  struct sl_refit_problem q = pose(&t);
  struct sl_refit_solution s;
  for (int i = 0; i < ROWS; i++)
    if (i % 2 == 0) t.measured[i] *= 1.5, t.weight[i] = 0;
  solve(&q, &s);
  assert_true(fabs(s.values[0] / truth[0] - 1) < 0.01);
  sl_refit_solution_free(&s);
}

static void bounds_hold(void **unused) {
  (void)unused;
  struct toy t = {.asked = 0};
  struct sl_refit_problem q = pose(&t);
  struct sl_refit_solution s;
  struct sl_refit_prior narrow[NUMBERS];
  memcpy(narrow, priors, sizeof narrow);
  narrow[0].low = 0.8;
  q.priors = narrow;
  solve(&q, &s);
  assert_true(s.values[0] >= 0.8 && s.values[0] < 0.81);
  sl_refit_solution_free(&s);
}

/* A number that no run tells of stays at its prior, and its standard error is the prior's. */
static void what_no_run_tells_stays_at_its_prior(void **unused) {
  (void)unused;
  struct toy t = {.asked = 0};
  struct sl_refit_problem q = pose(&t);
  struct sl_refit_solution s;
  for (int i = 0; i < ROWS; i++) t.beside[i] = 0, t.measured[i] = seconds_of(&t, i, truth);
  solve(&q, &s);
  assert_true(fabs(s.values[2] / priors[2].prior - 1) < 1e-3);
  assert_true(fabs(sqrt(s.covariance[NUMBERS * 2 + 2]) / priors[2].sd - 1) < 1e-6);
  assert_true(sqrt(s.covariance[0]) < 0.01);
  sl_refit_solution_free(&s);
}

/* Of one row and one number all is known in closed form: 1 / (J^2 + 1 / sd^2), J = slope / 0.02 where the row is
 * met. */
static void the_covariance_is_the_inverse_of_the_squares(void **unused) {
  (void)unused;
  struct toy t = {.asked = 0};
  struct sl_refit_problem q = pose(&t);
  struct sl_refit_local local;
  double covariance[NUMBERS * NUMBERS], weight[ROWS] = {[1] = 1};
  assert_int_equal(sl_refit_local_alloc(&local, ROWS, NUMBERS), SL_OK);
  memcpy(local.at, truth, sizeof truth);
  for (int i = 0; i < ROWS; i++) local.seconds[i] = t.measured[i];
  local.slope[1 * NUMBERS] = -0.4;
  assert_int_equal(sl_refit_covariance(&q, weight, &local, covariance), SL_OK);
  assert_true(fabs(covariance[0] * (0.4 * 0.4 / (0.02 * 0.02) + 1 / (0.5 * 0.5)) - 1) < 1e-9);
  assert_true(fabs(covariance[NUMBERS + 1] / (2 * 2) - 1) < 1e-9);
  /* Missed by e = 5 scales: rho^2 = 2 (sqrt(26) - 1), its root's derivative e / (sqrt(1 + e^2) rho), and the row tells
   * 1 / rho^2. */
  local.seconds[1] = t.measured[1] * exp(5 * 0.02);
  const double rho2 = 2 * (sqrt(26) - 1), slope = 5 / sqrt(26 * rho2) * 0.4 / 0.02;
  assert_int_equal(sl_refit_covariance(&q, weight, &local, covariance), SL_OK);
  assert_true(fabs(covariance[0] * (slope * slope / rho2 + 1 / (0.5 * 0.5)) - 1) < 1e-9);
  sl_refit_local_free(&local);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_slope_is_of_a_latency_or_of_a_rate),
      cmocka_unit_test(the_local_model_is_exact_for_sums),
      cmocka_unit_test(known_numbers_are_found_again),
      cmocka_unit_test(a_few_runs_gone_wrong_count_little),
      cmocka_unit_test(a_run_of_no_weight_does_not_count),
      cmocka_unit_test(bounds_hold),
      cmocka_unit_test(what_no_run_tells_stays_at_its_prior),
      cmocka_unit_test(the_covariance_is_the_inverse_of_the_squares),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
