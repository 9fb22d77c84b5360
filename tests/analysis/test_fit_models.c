/* label: unit
   libs: fit
 * Models in a fit: their ops outweigh programs, and each held out in turn shows how far the error bars have to reach. */
#include "tests/support/fit_points.h"

/* Programs of cold operands take 1.6 times as long; the models' ops, as many, say what counts. */
static void models_outweigh_programs(void **unused) {
  (void)unused;
  static struct sl_fit fit;
  struct sl_points points;
  open_points(&points);
  state = 808;
  for (int i = 0; i < 2 * POINTS; i++) {
    struct sl_point p = product(0.03);
    if (i % 2 == 0) p.median_s *= 1.6;
    p.low_s = p.high_s = p.median_s;
    if (i % 2 == 0)
      snprintf(p.source, sizeof p.source, "program");
    else
      snprintf(p.source, sizeof p.source, "m%d", i % 5);
    assert_int_equal(sl_points_add(&points, &p), SL_OK);
  }
  assert_int_equal(sl_fit_points(&fit, &points), SL_OK);
  const double off = log(fit.profile.op_costs.items[0].seconds[SL_TERM_FLOPS] / truth[SL_TERM_FLOPS]);
  if (!(fabs(off) < 0.12)) fail_msg("off by %.3f", off);
  sl_fit_free(&fit);
  sl_points_free(&points);
}

/* Six models of nine products each. The ops of model i take exp(+-off) of what the form says, all of them alike: only
 * holding a model out can show that. Its step is its ops'. */
static void add_models(struct sl_points *points, double off, double step_off) {
  state = 2027;
  for (int model = 0; model < 6; model++) {
    const double factor = exp(model % 2 ? off : -off);
    struct sl_point_step s = {.ranks = 1, .ops = 18, .repeats = 9};
    snprintf(s.name, sizeof s.name, "m%d", model);
    for (int i = 0; i < 9; i++) {
      struct sl_point p = product(0);
      p.median_s *= factor, p.low_s *= factor, p.high_s *= factor;
      p.count = 2;
      snprintf(p.source, sizeof p.source, "m%d", model);
      assert_int_equal(sl_points_add(points, &p), SL_OK);
      s.compute_s += p.count * p.median_s;
    }
    s.median_s = s.compute_s * exp(model % 2 ? step_off : -step_off);
    assert_int_equal(sl_points_add_step(points, &s), SL_OK);
  }
}

static void fit_models(struct sl_fit *fit, double off, double step_off) {
  struct sl_points points;
  open_points(&points);
  add_models(&points, off, step_off);
  if (sl_fit_points(fit, &points) != SL_OK) fail_msg("%s", sl_error_message());
  sl_points_free(&points);
}

static void held_out_models_show_what_is_common(void **unused) {
  (void)unused;
  static struct sl_fit fit;
  fit_models(&fit, 0.1, 0);
  const double holdout = fit.profile.op_costs.items[0].holdout;
  if (holdout < 0.09 || holdout > 0.16) fail_msg("held out: %.3f, expected 0.1 and what five models know", holdout);
  assert_true(fit.profile.device.error_scale < 1.2);
  sl_fit_free(&fit);
  fit_models(&fit, 0, 0);
  assert_true(fit.profile.op_costs.items[0].holdout < 1e-3);
  sl_fit_free(&fit);
}

/* Steps that miss by 30 % where their ops miss by 10: every error bar has to grow. */
static void error_bars_grow_where_steps_miss_more(void **unused) {
  (void)unused;
  static struct sl_fit fit;
  fit_models(&fit, 0.1, 0.2);
  const double scale = fit.profile.device.error_scale;
  if (scale < 2 || scale > 3.5) fail_msg("error_scale %.2f, expected about 3", scale);
  sl_fit_free(&fit);
}

/* The same where short steps differ by 30 % from round to round: a long one, which does not, tells it still. */
static void noise_of_short_steps_hides_no_error_of_a_long_one(void **unused) {
  (void)unused;
  static struct sl_fit fit;
  struct sl_points points;
  open_points(&points);
  add_models(&points, 0.1, 0.2);
  const size_t models = points.step_count;
  for (size_t i = 0; i < points.count; i++) /* the last model is 10,000 times as long */
    if (points.items[i].source[1] == '5') points.items[i].count *= 10000;
  for (int round = 1; round < 5; round++) {
    for (size_t i = 0; i < models; i++) {
      struct sl_point_step s = points.steps[i];
      if (i == 5) s.compute_s *= 1e4, s.median_s *= 1e4;
      s.median_s *= exp((i < 5 ? 0.3 : 0.003) * (round - 2.5));
      assert_int_equal(sl_points_add_step(&points, &s), SL_OK);
    }
  }
  points.step_count -= models; /* without the round that add_models made */
  memmove(points.steps, points.steps + models, points.step_count * sizeof *points.steps);
  if (sl_fit_points(&fit, &points) != SL_OK) fail_msg("%s", sl_error_message());
  const double scale = fit.profile.device.error_scale;
  if (scale < 2 || scale > 3.5) fail_msg("error_scale %.2f, expected about 3", scale);
  sl_fit_free(&fit);
  sl_points_free(&points);
}

/* A profile is read before it is written: a number that predict would refuse ends the fit. */
static void profiles_can_be_read_again(void **unused) {
  (void)unused;
  static struct sl_fit fit;
  fit_models(&fit, 0.1, 0);
  json_t *profile = sl_cluster_to_json(&fit.profile);
  if (sl_fit_check(profile, "p.json") != SL_OK) fail_msg("%s", sl_error_message());
  json_object_set_new(json_object_get(profile, "device"), "run_noise", json_real(11));
  assert_int_equal(sl_fit_check(profile, "p.json"), SL_ERR_INPUT);
  if (strstr(sl_error_message(), "p.json:") == NULL || strstr(sl_error_message(), "run_noise") == NULL)
    fail_msg("\"%s\"", sl_error_message());
  sl_error_clear();
  json_decref(profile);
  sl_fit_free(&fit);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(models_outweigh_programs),
      cmocka_unit_test(held_out_models_show_what_is_common),
      cmocka_unit_test(error_bars_grow_where_steps_miss_more),
      cmocka_unit_test(noise_of_short_steps_hides_no_error_of_a_long_one),
      cmocka_unit_test(profiles_can_be_read_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
