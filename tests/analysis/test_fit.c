/* label: unit
   libs: fit
 * The fit of measured costs: known parameters come back from noisy points, with standard errors that cover them. */
#include "analysis/fit.h"
#include "core/program/program.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef SL_HAVE_GSL

enum { POINTS = 64, WORLDS = 60 };

static uint64_t state;

static double uniform(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return ((double)(state >> 11) + 0.5) * 0x1p-53;
}

static double normal(void) {
  return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

/* seconds per unit of launch, flop, a, b, c: a core of 53 GFLOPS */
static const double truth[SL_TERM_COUNT] = {[SL_TERM_LAUNCH] = 7e-6,
                                            [SL_TERM_FLOPS] = 1 / 53e9,
                                            [SL_TERM_A] = 1 / 3.7e9,
                                            [SL_TERM_B] = 1 / 11e9,
                                            [SL_TERM_C] = 1 / 5.3e9};

static void open_points(struct sl_points *points) {
  struct sl_cluster local;
  memset(points, 0, sizeof *points);
  assert_int_equal(sl_cluster_load(&local, "localhost"), SL_OK);
  points->cluster = sl_cluster_to_json(&local);
  sl_cluster_free(&local);
}

static struct sl_point product(double noise) {
  struct sl_point p = {.kind = SL_OP_GEMM, .dtype = SL_F32, .ranks = 1, .parts = 1, .repeats = 9};
  double seconds = 0;
  for (int i = 0; i < 3; i++) p.dim[i] = (int64_t)exp(2 + 5.5 * uniform());
  const struct sl_work work = sl_point_work(&p);
  for (int t = 0; t < SL_TERM_COUNT; t++) seconds += truth[t] * work.terms[t];
  p.median_s = seconds * exp(noise * normal());
  p.low_s = p.median_s * 0.98;
  p.high_s = p.median_s * 1.02;
  return p;
}

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

/* The whole way: points, steps, profile, and the profile read back. */
static void profile_survives_its_file(void **unused) {
  (void)unused;
  static struct sl_fit fit;
  static struct sl_cluster local, again;
  struct sl_points points;
  open_points(&points);
  assert_int_equal(sl_cluster_load(&local, "localhost"), SL_OK);
  snprintf(points.machine, sizeof points.machine, "a machine");
  state = 99;
  for (int i = 0; i < POINTS; i++) {
    struct sl_point p = product(0.02);
    assert_int_equal(sl_points_add(&points, &p), SL_OK);
  }
  for (int i = 0; i < 2; i++) { /* 3 ms of ops, 10 us between each of 91; run to run 4 % */
    struct sl_point_step s = {.name = "m", .ranks = 1, .ops = 91, .compute_s = 3e-3 * (1 + 0.04 * i), .repeats = 9};
    s.median_s = s.compute_s + 91 * 10e-6;
    assert_int_equal(sl_points_add_step(&points, &s), SL_OK);
  }
  assert_int_equal(sl_fit_points(&fit, &points), SL_OK);
  assert_true(fabs(fit.profile.device.launch_latency / 10e-6 - 1) < 1e-6);
  assert_true(fit.profile.device.comm_cpu_share ==
              local.device.comm_cpu_share); /* steps of one rank say nothing of it */
  assert_true(fabs(fit.profile.device.run_noise / (log(1 + 0.04 * 3 / 3.91) / 0.6745 / sqrt(2)) - 1) < 0.01);
  json_t *json = sl_cluster_to_json(&fit.profile);
  char *text = json_dumps(json, JSON_REAL_PRECISION(17));
  struct sl_json doc;
  assert_int_equal(sl_json_parse(&doc, "profile.json", text, strlen(text)), SL_OK);
  if (sl_cluster_from_json(&again, &doc) != SL_OK) fail_msg("%s", sl_error_message());
  assert_int_equal(again.op_costs.count, 1);
  for (int t = 0; t < SL_TERM_COUNT; t++) {
    const double a = again.op_costs.items[0].seconds[t], b = fit.profile.op_costs.items[0].seconds[t];
    assert_true(fabs(a - b) <= 1e-12 * b);
    assert_true(fabs(again.op_costs.items[0].relative_stderr[t] - fit.profile.op_costs.items[0].relative_stderr[t]) <
                1e-9);
    for (int u = 0; u < SL_TERM_COUNT; u++)
      assert_true(fabs(again.op_costs.items[0].correlation[t][u] - fit.profile.op_costs.items[0].correlation[t][u]) <
                  1e-9);
  }
  assert_true(again.device.run_noise > 0.01);
  assert_true(again.device.run_noise_slope == 0);
  sl_json_free(&doc);
  free(text);
  json_decref(json);
  sl_cluster_free(&again);
  sl_cluster_free(&local);
  sl_fit_free(&fit);
  sl_points_free(&points);
}

/* --- rounds --- */

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

/* Seven lengths of a step, each in three rounds that differ by 6 % (0.1 s / length)^slope, so that the middle one of the
 * three differences is that. */
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

/* --- models held out --- */

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

/* Plain products at 53 GFLOPS, those with b transposed half as fast again: the peak is no less than the fastest of them,
 * and what the formula makes of a plain product stays 53. */
static void the_peak_is_what_the_fastest_product_reaches(void **unused) {
  (void)unused;
  static struct sl_fit fit;
  struct sl_points points;
  double fastest = 0;
  open_points(&points);
  state = 77;
  for (int i = 0; i < 2 * POINTS; i++) {
    struct sl_point p = product(0);
    p.variant = i % 2 ? SL_VARIANT_TRANS_B : SL_VARIANT_PLAIN;
    if (i % 2) p.median_s /= 1.5, p.low_s /= 1.5, p.high_s /= 1.5;
    fastest = fmax(fastest, 2.0 * (double)(p.dim[0] * p.dim[1] * p.dim[2]) / p.median_s);
    assert_int_equal(sl_points_add(&points, &p), SL_OK);
  }
  assert_true(fastest > 1.1 * 53e9);
  assert_int_equal(sl_fit_points(&fit, &points), SL_OK);
  const struct sl_device *d = &fit.profile.device;
  assert_true(fabs(d->peak[SL_F32] * d->cores / fastest - 1) < 1e-9);
  assert_true(fabs(d->peak[SL_F32] * d->cores * d->gemm_efficiency / 53e9 - 1) < 1e-3);
  sl_fit_free(&fit);
  sl_points_free(&points);
}

/* Receives of 5 us and 7 GB/s: the link's two numbers come with their standard errors. */
static void the_link_has_standard_errors(void **unused) {
  (void)unused;
  static struct sl_fit fit;
  struct sl_points points;
  open_points(&points);
  state = 3;
  for (int i = 0; i < 40; i++) {
    struct sl_point p = {.kind = SL_OP_RECV, .dtype = SL_F32, .ranks = 2, .parts = 1, .repeats = 3, .count = 1};
    p.dim[0] = (int64_t)exp(6 + 9 * uniform());
    p.bytes = 4 * (double)p.dim[0];
    p.median_s = (5e-6 + p.bytes / 7e9) * exp(0.02 * normal());
    p.low_s = p.high_s = p.median_s;
    assert_int_equal(sl_points_add(&points, &p), SL_OK);
  }
  assert_int_equal(sl_fit_points(&fit, &points), SL_OK);
  json_t *profile = sl_cluster_to_json(&fit.profile), *link = json_array_get(json_object_get(profile, "links"), 0);
  const double latency = json_number_value(json_object_get(link, "latency_us")),
               latency_error = json_number_value(json_object_get(link, "latency_us_stderr")),
               bandwidth = json_number_value(json_object_get(link, "bandwidth_GBps")),
               bandwidth_error = json_number_value(json_object_get(link, "bandwidth_GBps_stderr"));
  assert_true(latency_error > 0 && latency_error < 0.1 && fabs(latency - 5) < 4 * latency_error);
  assert_true(bandwidth_error > 0 && bandwidth_error < 0.2 && fabs(bandwidth - 7) < 4 * bandwidth_error);
  json_decref(profile);
  sl_fit_free(&fit);
  sl_points_free(&points);
}

/* A node of many cores is measured with 1, 2, 4, ... ranks, a hundred entries each. */
static void any_number_of_entries(void **unused) {
  (void)unused;
  enum { ENTRIES = 1103 };
  static struct sl_fit fit;
  struct sl_points points;
  struct sl_cluster again;
  struct sl_json doc;
  open_points(&points);
  for (int i = 0; i < 2 * ENTRIES; i++) {
    struct sl_point p = {.kind = SL_OP_COPY, .dtype = SL_F32, .ranks = 1 + i / 2, .parts = 1, .repeats = 3, .count = 1};
    p.dim[0] = i % 2 ? 1000 : 7000;
    p.bytes = 8 * (double)p.dim[0];
    p.median_s = p.low_s = p.high_s = 1e-6 + p.bytes / 3e9;
    assert_int_equal(sl_points_add(&points, &p), SL_OK);
  }
  if (sl_fit_points(&fit, &points) != SL_OK) fail_msg("%s", sl_error_message());
  assert_int_equal(fit.profile.op_costs.count, ENTRIES);
  assert_int_equal(fit.profile.op_costs.items[ENTRIES - 1].points, 2);
  json_t *json = sl_cluster_to_json(&fit.profile);
  char *text = json_dumps(json, JSON_REAL_PRECISION(17));
  assert_int_equal(sl_json_parse(&doc, "profile.json", text, strlen(text)), SL_OK);
  if (sl_cluster_from_json(&again, &doc) != SL_OK) fail_msg("%s", sl_error_message());
  assert_int_equal(again.op_costs.count, ENTRIES);
  assert_int_equal(again.op_costs.items[ENTRIES - 1].ranks, ENTRIES);
  assert_int_equal(again.op_costs.items[ENTRIES - 1].points, 2);
  assert_string_equal(again.op_costs.items[ENTRIES - 1].source, "shardlab calibrate");
  sl_cluster_free(&again);
  sl_json_free(&doc);
  free(text);
  json_decref(json);
  sl_fit_free(&fit);
  sl_points_free(&points);
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
      cmocka_unit_test(known_parameters_come_back),
      cmocka_unit_test(standard_errors_cover),
      cmocka_unit_test(outliers_count_little),
      cmocka_unit_test(noiseless_points_are_exact),
      cmocka_unit_test(profile_survives_its_file),
      cmocka_unit_test(the_peak_is_what_the_fastest_product_reaches),
      cmocka_unit_test(the_link_has_standard_errors),
      cmocka_unit_test(any_number_of_entries),
      cmocka_unit_test(no_point_is_left_without_a_term),
      cmocka_unit_test(too_few_points),
      cmocka_unit_test(rounds_become_one_point),
      cmocka_unit_test(two_slow_rounds_of_five_do_not_count),
      cmocka_unit_test(models_outweigh_programs),
      cmocka_unit_test(noise_falls_with_the_length_of_a_step),

      cmocka_unit_test(held_out_models_show_what_is_common),
      cmocka_unit_test(error_bars_grow_where_steps_miss_more),
      cmocka_unit_test(profiles_can_be_read_again),
      cmocka_unit_test(noise_of_short_steps_hides_no_error_of_a_long_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) {
  print_message("GSL is absent: nothing to fit with\n");
  return 0;
}

#endif
