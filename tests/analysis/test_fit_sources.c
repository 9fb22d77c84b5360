/* label: unit
   libs: fit
 * Where the numbers of a fitted profile come from. */
#include "analysis/fit.h"
#include "core/program/program.h"
#include "tests/support/cluster_sources.h"

#include <math.h>

static const char earlier[] = "an earlier calibration";

/* Adds "_source" and "_stderr" to every number of `part`. */
static void annotate(json_t *part) {
  json_t *copy = json_copy(part), *value;
  const char *key;
  json_object_foreach(copy, key, value) {
    char name[64];
    if (!is_sourced_number(key, value)) continue;
    snprintf(name, sizeof name, "%s_source", key);
    json_object_set_new(part, name, json_string(earlier));
    snprintf(name, sizeof name, "%s_stderr", key);
    json_object_set_new(part, name, json_real(9));
  }
  json_decref(copy);
}

/* Points of a machine of which an earlier calibration is said to have found every number. */
static void open_points(struct sl_points *points, const char *preset) {
  struct sl_cluster cluster;
  const json_t *parts[MAX_PARTS];
  *points = (struct sl_points){.machine = "m"};
  assert_int_equal(sl_cluster_load(&cluster, preset), SL_OK);
  points->cluster = sl_cluster_to_json(&cluster);
  sl_cluster_free(&cluster);
  json_object_set_new(json_object_get(points->cluster, "device"), "comm_cpu_share", json_real(0.375)); /* a GPU's too */
  for (int i = cluster_parts(points->cluster, parts); i-- > 0;) annotate((json_t *)(uintptr_t)parts[i]);
}

enum { PRODUCTS = 1, COPIES = 2, RECEIVES = 4, STEPS = 8, KINDS = 4 };

static void add_point(struct sl_points *points, struct sl_point p, double seconds, int i) {
  p.parts = p.count = 1;
  p.repeats = 3;
  p.median_s = seconds * (1 + 0.01 * (i % 3));
  p.low_s = p.median_s * 0.99;
  p.high_s = p.median_s * 1.01;
  assert_int_equal(sl_points_add(points, &p), SL_OK);
}

/* Products of 53 GFLOPS, copies of 13 GB/s, receives of 7 GB/s, and steps of two rounds with a gap of 10 us an op. */
static void add_points(struct sl_points *points, int kinds) {
  for (int i = 0; i < 30; i++) {
    const int64_t side = 20 + 17 * i, length = 500 + 70000 * i;
    if (kinds & PRODUCTS)
      add_point(points, (struct sl_point){.kind = SL_OP_GEMM, .dtype = SL_F32, .ranks = 1, .dim = {side, side, side}},
                3e-6 + 2 * pow((double)side, 3) / 53e9, i);
    const struct sl_point copy = {
        .kind = SL_OP_COPY, .dtype = SL_F32, .ranks = 1, .dim = {length}, .bytes = 8 * (double)length};
    if (kinds & COPIES) add_point(points, copy, 1e-6 + copy.bytes / 13e9, i);
    const struct sl_point receive = {
        .kind = SL_OP_RECV, .dtype = SL_F32, .ranks = 2, .dim = {length}, .bytes = 4 * (double)length};
    if (kinds & RECEIVES) add_point(points, receive, 5e-6 + receive.bytes / 7e9, i);
  }
  for (int i = 0; i < 10 && kinds & STEPS; i++) {
    struct sl_point_step s = {
        .ranks = 1, .ops = 91, .compute_s = 3e-3 * (1 + i / 2) * (1 + 0.04 * (i % 2)), .repeats = 9};
    snprintf(s.name, sizeof s.name, "m%d", i / 2);
    s.median_s = s.low_s = s.high_s = s.compute_s + 91 * 10e-6;
    assert_int_equal(sl_points_add_step(points, &s), SL_OK);
  }
}

/* A number that changed is not what the earlier calibration found; one that did not may say so. Returns how many are
 * fitted, each of which has a standard error of its own. */
static int compare(const json_t *before, const json_t *after, const char *preset, int kinds) {
  const json_t *old[MAX_PARTS], *new[MAX_PARTS];
  int fitted = 0;
  assert_int_equal(cluster_parts(before, old), cluster_parts(after, new));
  for (int i = cluster_parts(after, new); i-- > 0;) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t) new[i], key, value) {
      if (!is_sourced_number(key, value)) continue;
      const json_t *was = json_object_get(old[i], key), *error = annotation_of(new[i], key, "stderr");
      const char *source = json_string_value(annotation_of(new[i], key, "source"));
      const bool kept = strcmp(source, earlier) == 0, found = strncmp(source, "shardlab calibrate on m", 23) == 0;
      if (kept && fabs(json_number_value(value) - json_number_value(was)) > 1e-9 * fabs(json_number_value(was)))
        fail_msg("%s of %s, points %d, changed and says \"%s\"", key, preset, kinds, source);
      if (kept != (error != NULL && json_number_value(error) == 9))
        fail_msg("%s of %s, points %d, says \"%s\" with a standard error of %g", key, preset, kinds, source,
                 json_number_value(error));
      if (found != (error != NULL && !kept)) fail_msg("%s of %s, points %d, is \"%s\"", key, preset, kinds, source);
      fitted += found;
    }
  }
  return fitted;
}

/* Whatever is measured and whatever is not. */
static void no_source_is_stale(void **unused) {
  (void)unused;
  static const char *const presets[] = {"localhost", "dgx-h100"};
  static struct sl_fit fit;
  for (int p = 0; p < 2; p++) {
    for (int kinds = 1; kinds < 1 << KINDS; kinds++) {
      struct sl_points points;
      if (kinds == STEPS) continue; /* without an op there is nothing to fit */
      open_points(&points, presets[p]);
      add_points(&points, kinds);
      if (sl_fit_points(&fit, &points) != SL_OK) fail_msg("%s", sl_error_message());
      json_t *profile = sl_cluster_to_json(&fit.profile);
      assert_int_equal(every_number_names_its_source(profile), every_number_names_its_source(points.cluster));
      const int fitted = compare(points.cluster, profile, presets[p], kinds);
      const int least = !!(kinds & PRODUCTS) + !!(kinds & COPIES) + 2 * !!(kinds & RECEIVES) + 3 * !!(kinds & STEPS);
      if (fitted < least)
        fail_msg("%s, points %d: %d numbers are fitted, expected %d", presets[p], kinds, fitted, least);
      json_decref(profile);
      sl_fit_free(&fit);
      sl_points_free(&points);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(no_source_is_stale)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
