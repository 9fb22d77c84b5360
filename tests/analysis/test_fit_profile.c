/* label: unit
   libs: fit
 * A whole profile: what becomes of points and steps, what its file keeps, the device's peak and the link's two numbers. */
#include "core/cluster/provenance.h"
#include "cost/compute.h"
#include "tests/support/fit_points.h"

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

/* Plain products at 53 GFLOPS, those with b transposed half as fast again: the peak is no less than the fastest of
 * them, and what the formula makes of a plain product stays 53. */
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

/* Reads at 2.3 GB/s and 70 us, writes at 1.1 and 200, whatever their sizes, blocks and queues, by one rank or two; each
 * eighth was held up for milliseconds. They make no entry of their own, nor do they change that of other copies. */
static void nvme_is_a_rate_and_a_latency(void **unused) {
  (void)unused;
  static const double latency[] = {70e-6, 200e-6}, rate[] = {2.3e9, 1.1e9};
  static struct sl_fit fit;
  struct sl_points points;
  open_points(&points);
  state = 5;
  for (int i = 0; i < 2 * POINTS; i++) {
    struct sl_point p = {
        .kind = SL_OP_COPY, .dtype = SL_F32, .ranks = 1 + i / 2 % 2, .parts = 1, .repeats = 3, .count = 1};
    p.variant = i % 2 ? SL_VARIANT_NVME_WRITE : SL_VARIANT_NVME_READ;
    p.dim[0] = (int64_t)exp(5 + 10 * uniform());
    p.dim[1] = INT64_C(4096) << (int)(9 * uniform());
    p.dim[2] = 1 + (int64_t)(20 * uniform());
    p.bytes = 8 * (double)p.dim[0];
    p.median_s =
        sl_cost_nvme(latency[i % 2], rate[i % 2] / p.ranks, 4 * (double)p.dim[0], (double)p.dim[1], (double)p.dim[2]) *
        (1 + 0.04 * (uniform() - 0.5));
    if (i % 16 == 6) p.median_s += 3e-3;
    p.low_s = p.high_s = p.median_s;
    assert_int_equal(sl_points_add(&points, &p), SL_OK);
    p.variant = SL_VARIANT_PLAIN;
    p.median_s = p.low_s = p.high_s = 1e-6 + p.bytes / 9e9;
    assert_int_equal(sl_points_add(&points, &p), SL_OK);
  }
  assert_int_equal(sl_fit_points(&fit, &points), SL_OK);
  const struct sl_device *d = &fit.profile.device;
  const double found[] = {d->nvme_read_latency / latency[0], d->nvme_read / rate[0], d->nvme_write_latency / latency[1],
                          d->nvme_write / rate[1]};
  for (int i = 0; i < 4; i++)
    if (fabs(found[i] - 1) > 0.02) fail_msg("number %d is %g of what it was", i, found[i]);
  assert_int_equal(fit.profile.op_costs.count, 2);
  for (int i = 0; i < 2; i++) assert_int_equal(fit.profile.op_costs.items[i].variant, SL_VARIANT_PLAIN);
  assert_non_null(strstr(sl_annotation_source(fit.profile.annotations, "device.nvme_write_us"), "shardlab calibrate"));
  sl_fit_free(&fit);
  sl_points_free(&points);
}

/* A GPU's copies at 24 GB/s, and updates by its CPU at 180 of a node, of one rank or two; what takes hardly more than a
 * launch says nothing, and each eighth was held up. They make no entry. */
static void host_memory_beside_a_gpu_has_rates(void **unused) {
  (void)unused;
  static const double link = 24e9, memory = 180e9, launch = 10e-6;
  static struct sl_fit fit;
  struct sl_points points;
  open_points(&points);
  for (int i = 0; i < 2; i++) {
    const struct sl_point_step s = {
        .name = "m", .ranks = 1, .ops = 90, .compute_s = 3e-3, .repeats = 9, .median_s = 3e-3 + 90 * launch};
    assert_int_equal(sl_points_add_step(&points, &s), SL_OK);
  }
  state = 6;
  for (int i = 0; i < 2 * POINTS; i++) {
    struct sl_point p = {.dtype = SL_F32, .ranks = 1 + i / 2 % 2, .parts = 1, .repeats = 3, .count = 1};
    p.kind = i % 2 ? SL_OP_ADAMW : SL_OP_COPY;
    p.variant = i % 2 ? SL_VARIANT_ON_HOST : SL_VARIANT_HOST_LINK;
    p.dim[0] = (int64_t)exp(16 + 3 * uniform());
    p.bytes = (i % 2 ? 28 : 8) * (double)p.dim[0];
    p.median_s = i % 2 ? p.bytes * p.ranks / memory : 4 * (double)p.dim[0] / link;
    p.median_s = launch + p.median_s * (i % 16 == 6 ? 3 : 1 + 0.04 * (uniform() - 0.5));
    p.low_s = p.high_s = p.median_s;
    assert_int_equal(sl_points_add(&points, &p), SL_OK);
    p.dim[0] = 1 + i;
    p.bytes = 8 * (double)p.dim[0];
    p.low_s = p.high_s = p.median_s = 3 * launch;
    assert_int_equal(sl_points_add(&points, &p), SL_OK);
  }
  assert_int_equal(sl_fit_points(&fit, &points), SL_OK);
  const struct sl_device *d = &fit.profile.device;
  assert_true(fabs(d->host_link / link - 1) < 0.02);
  assert_true(fabs(d->host_bandwidth / memory - 1) < 0.02);
  assert_int_equal(fit.profile.op_costs.count, 0);
  assert_non_null(strstr(sl_annotation_source(fit.profile.annotations, "device.host_link_GBps"), "shardlab calibrate"));
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(profile_survives_its_file),    cmocka_unit_test(the_peak_is_what_the_fastest_product_reaches),
      cmocka_unit_test(nvme_is_a_rate_and_a_latency), cmocka_unit_test(the_link_has_standard_errors),
      cmocka_unit_test(any_number_of_entries),        cmocka_unit_test(host_memory_beside_a_gpu_has_rates),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
