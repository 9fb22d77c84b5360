/* label: unit
   libs: refit
 * Fitted numbers in the files of profiles: who gets which, what is said of them, and that all else stays. */
#include "core/cluster/provenance.h"
#include "refit/numbers.h"
#include "refit/timer.h"
#include "refit/write.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];

static void path_of(char *out, size_t size, const char *name) {
  snprintf(out, size, "%s/%s", folder, name);
}

static void put_file(const char *name, const char *text) {
  char path[256];
  path_of(path, sizeof path, name);
  FILE *out = fopen(path, "w");
  assert_non_null(out);
  fputs(text, out);
  fclose(out);
}

static json_t *get_file(const char *name) {
  char path[256];
  path_of(path, sizeof path, name);
  json_t *root = json_load_file(path, 0, NULL);
  assert_non_null(root);
  return root;
}

static int open_folder(void **unused) {
  char path[256];
  (void)unused;
  snprintf(folder, sizeof folder, "/tmp/refit_XXXXXX");
  assert_non_null(mkdtemp(folder));
  path_of(path, sizeof path, "devices");
  mkdir(path, 0700);
  path_of(path, sizeof path, "kernels");
  return mkdir(path, 0700);
}

static int close_folder(void **unused) {
  static const char *const names[] = {"devices/a.json", "devices/b.json", "devices/p.json", "kernels/k.json",
                                      "c.json",         "devices",        "kernels",        "."};
  char path[256];
  (void)unused;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) path_of(path, sizeof path, names[i]), remove(path);
  return rmdir(folder) == 0 || access(folder, F_OK) != 0 ? 0 : -1;
}

static double number(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  return value != NULL ? json_number_value(value) : NAN;
}

/* A cluster of two links with a kernel set, and numbers of its own. */
struct subject {
  struct sl_cluster cluster;
  struct sl_kernel_costs costs;
};

static struct sl_refit_subject subject_of(struct subject *s) {
  *s = (struct subject){.cluster = {.name = "c", .n_link = 2, .device = {.kind = SL_DEVICE_GPU, .sm_count = 108}}};
  s->cluster.device.compute_capability = 8;
  return (struct sl_refit_subject){&s->cluster, &s->costs, "k"};
}

static size_t find(const struct sl_refit_numbers *n, const char *key, size_t nth) {
  for (size_t i = 0; i < n->count; i++)
    if (strcmp(n->items[i].key->key, key) == 0 && nth-- == 0) return i;
  fail_msg("no number %s", key);
  return 0;
}

/* Every key of the table is a place of its own, in the unit of its file, and keeps what is put there. */
static void each_number_has_its_own_place(void **unused) {
  (void)unused;
  struct subject s;
  const struct sl_refit_subject subject = subject_of(&s);
  struct sl_refit_numbers numbers = {0};
  struct sl_refit_reach reach;
  assert_int_equal(sl_refit_numbers_add(&numbers, &subject, &reach), SL_OK);
  assert_int_equal((size_t)reach.count, numbers.count);
  for (size_t i = 0; i < numbers.count; i++) sl_refit_put(&numbers.items[i], &subject, (double)(3 + i));
  for (size_t i = 0; i < numbers.count; i++)
    assert_true(fabs(sl_refit_get(&numbers.items[i], &subject) / (double)(3 + i) - 1) < 1e-12);
  assert_true(s.cluster.device.gemm_efficiency == (double)(3 + find(&numbers, "gemm_efficiency", 0)));
  assert_true(s.cluster.device.flash_efficiency[SL_FLASH_2][1] ==
              (double)(3 + find(&numbers, "flash2_backward_efficiency", 0)));
  assert_true(s.cluster.link[0].bandwidth_share == (double)(3 + find(&numbers, "bandwidth_share", 0)));
  assert_true(s.cluster.link[1].bandwidth_share == (double)(3 + find(&numbers, "bandwidth_share", 1)));
  assert_true(s.cluster.link[1].bandwidth_decay == (double)(3 + find(&numbers, "bandwidth_decay", 0)));
  assert_true(s.costs.elementwise_factor == (double)(3 + find(&numbers, "elementwise_factor", 0)));
  const double us = (double)(3 + find(&numbers, "host_launch_us", 0));
  assert_true(fabs(s.costs.host_launch / (us * 1e-6) - 1) < 1e-12);
  sl_refit_numbers_free(&numbers);
}

/* Another cluster with the same kind of GPU and the same kernels brings its own four numbers and no more. */
static void clusters_share_devices_and_kernels(void **unused) {
  (void)unused;
  struct subject a, b;
  const struct sl_refit_subject first = subject_of(&a);
  struct sl_refit_subject second = subject_of(&b);
  struct sl_refit_numbers numbers = {0};
  struct sl_refit_reach one, two;
  snprintf(b.cluster.name, sizeof b.cluster.name, "d");
  assert_int_equal(sl_refit_numbers_add(&numbers, &first, &one), SL_OK);
  const size_t before = numbers.count;
  assert_int_equal(sl_refit_numbers_add(&numbers, &second, &two), SL_OK);
  assert_int_equal(numbers.count - before, 4);
  b.cluster.device.compute_capability = 9;
  assert_int_equal(sl_refit_numbers_add(&numbers, &second, &two), SL_OK);
  assert_true(numbers.count - before > 4 + 8);
  second.kernels = "l";
  const size_t devices = numbers.count;
  assert_int_equal(sl_refit_numbers_add(&numbers, &second, &two), SL_OK);
  assert_int_equal(numbers.count - devices, 4);
  sl_refit_numbers_free(&numbers);
}

static void a_layout_keeps_order_and_numbers(void **unused) {
  (void)unused;
  static const char text[] = "{\n"
                             "  \"name\": \"x\",\n"
                             "  \"a_us\": 0.1, \"a_us_source\": \"guess\", \"a_us_stderr\": 1.5,\n"
                             "  \"b\": 3, \"b_source\": \"said\",\n"
                             "  \"c\": 30.0, \"c_source\": \"guess\",\n"
                             "  \"links\": [\n"
                             "    {\n"
                             "      \"n\": 8\n"
                             "    }\n"
                             "  ]\n"
                             "}\n";
  json_t *root = json_loads(text, 0, NULL);
  char *out = sl_refit_layout(root);
  assert_string_equal(out, text);
  free(out);
  json_decref(root);
}

static void numbers_go_to_whom_they_belong(void **unused) {
  (void)unused;
  struct subject s;
  const struct sl_refit_subject subject = subject_of(&s);
  struct sl_refit_run run = {.weight = 1, .input.cluster.device.name = "A"};
  struct sl_refit_timer timer = {.exact = NULL};
  struct sl_refit_clocks clocks = {.runs = &(struct sl_refit_runs){.items = &run, .count = 1}, .timers = &timer};
  struct sl_refit_reach reach;
  char *const free_ones[] = {"sm80x108:gemm_efficiency", "sm80x108:flash2_backward_efficiency", "k:host_launch_us",
                             "c:bandwidth_share", "c:pipeline_stall_us"};
  put_file("devices/a.json", "{\"device\": {\"name\": \"A\", \"sm_count\": 108, \"compute_capability\": 8.0, "
                             "\"gemm_efficiency\": 0.5, \"gemm_efficiency_source\": \"guess\", \"memory_GiB\": 40}}");
  put_file("devices/p.json", "{\"device\": {\"name\": \"A of a kind\", \"sm_count\": 108, \"compute_capability\": 8.0, "
                             "\"gemm_efficiency\": 0.5, "
                             "\"gemm_efficiency_source\": \"its own\", \"flash2_backward_efficiency\": 0.5, "
                             "\"flash2_backward_efficiency_source\": \"these runs\"}}");
  put_file("devices/b.json", "{\"device\": {\"name\": \"B\", \"sm_count\": 132, \"compute_capability\": 9.0, "
                             "\"gemm_efficiency\": 0.5}}");
  put_file("kernels/k.json", "{\"name\": \"k\"}");
  put_file("c.json", "{\"name\": \"c\", \"device\": \"a\", \"links\": [{\"name\": \"n\"}, {\"name\": \"f\"}]}");
  assert_int_equal(sl_refit_numbers_add(&clocks.numbers, &subject, &reach), SL_OK);
  const size_t n = clocks.numbers.count, unreported = find(&clocks.numbers, "launch_us", 0);
  for (int i = 0; i < reach.count; i++) /* all but one */
    if (reach.number[i] != unreported) timer.reach.number[timer.reach.count++] = reach.number[i];
  double *values = calloc(n, sizeof *values), *covariance = calloc(n * n, sizeof *covariance);
  for (size_t i = 0; i < n; i++) values[i] = 0.25 + (double)i, covariance[i * n + i] = 0.01 * 0.01;
  const struct sl_refit_solution solution = {.values = values, .covariance = covariance};
  struct sl_refit_prior *priors = calloc(n, sizeof *priors);
  assert_int_equal(sl_refit_numbers_pin(&clocks.numbers, free_ones, 5, values, priors), SL_OK);
  const struct sl_refit_result result = {&clocks, &solution, NULL, priors};
  assert_int_equal(sl_refit_write_profiles(&result, folder, "these runs"), SL_OK);

  json_t *a = get_file("devices/a.json"), *device = json_object_get(a, "device");
  const double gemm = values[find(&clocks.numbers, "gemm_efficiency", 0)];
  assert_true(number(device, "gemm_efficiency") == gemm);
  assert_true(fabs(number(device, "gemm_efficiency_stderr") - 0.01 * gemm) < 1e-5);
  assert_string_equal(json_string_value(json_object_get(device, "gemm_efficiency_source")), "these runs");
  assert_null(json_object_get(device, "launch_us")); /* no run tells of it */
  assert_true(number(device, "memory_GiB") == 40);
  json_t *p = get_file("devices/p.json"), *alike = json_object_get(p, "device");
  assert_true(number(alike, "gemm_efficiency") == 0.5);
  assert_true(number(alike, "flash2_backward_efficiency") ==
              values[find(&clocks.numbers, "flash2_backward_efficiency", 0)]);
  json_t *b = get_file("devices/b.json");
  assert_true(number(json_object_get(b, "device"), "gemm_efficiency") == 0.5);
  assert_null(json_object_get(json_object_get(b, "device"), "launch_us"));
  json_t *k = get_file("kernels/k.json"), *c = get_file("c.json"), *links = json_object_get(c, "links");
  assert_true(number(k, "host_launch_us") == values[find(&clocks.numbers, "host_launch_us", 0)]);
  assert_true(number(json_array_get(links, 0), "bandwidth_share") ==
              values[find(&clocks.numbers, "bandwidth_share", 0)]);
  assert_true(number(json_array_get(links, 1), "bandwidth_share") ==
              values[find(&clocks.numbers, "bandwidth_share", 1)]);
  assert_true(number(c, "pipeline_stall_us") == values[find(&clocks.numbers, "pipeline_stall_us", 0)]);
  assert_null(json_object_get(k, "host_collective_us")); /* pinned */
  json_decref(a), json_decref(b), json_decref(p), json_decref(k), json_decref(c);
  sl_refit_numbers_free(&clocks.numbers);
  free(values), free(covariance), free(priors);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_number_has_its_own_place),
      cmocka_unit_test(clusters_share_devices_and_kernels),
      cmocka_unit_test(a_layout_keeps_order_and_numbers),
      cmocka_unit_test_setup_teardown(numbers_go_to_whom_they_belong, open_folder, close_folder),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
