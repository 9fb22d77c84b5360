/* label: cli
 * A limit of device memory: what needs no more of it passes, what needs a byte more is refused before it starts, and
 * what the refusal says would fit does. */
#include <jansson.h>

#include "core/base/units.h"
#include "tests/support/cli_run.h"

#define JOB "--model gpt2-tiny --config job.json --world 2"

/* offloaded.json is the same with the optimizer's states in host memory. */
static void write_config(const char *name, const char *more_zero) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s.json", scratch, name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file,
          "{\"train_batch_size\": 16, \"train_micro_batch_size_per_gpu\": 4, \"optimizer\": {\"type\": \"AdamW\"},"
          " \"zero_optimization\": {\"stage\": 1%s}}",
          more_zero);
  fclose(file);
}

static void write_job(const char *cluster_memory) {
  char path[600];
  write_config("job", "");
  write_config("offloaded", ", \"offload_optimizer\": {\"device\": \"cpu\"}");
  if (cluster_memory == NULL) return;
  snprintf(path, sizeof path, "%s/cluster.json", scratch);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file,
          "{\"devices_per_node\": 2, \"device\": {\"name\": \"a\", \"kind\": \"cpu\", \"memory_GiB\": 4, "
          "\"device_memory_GiB\": %s, \"peak_TFLOPS\": {\"fp32\": 0.1}, \"memory_bandwidth_GBps\": 20, \"cores\": 2}, "
          "\"links\": [{\"bandwidth_GBps\": 4, \"latency_us\": 2}]}",
          cluster_memory);
  fclose(file);
}

static long long peak(const char *more) {
  assert_int_equal(shardlab(scratch, "predict " JOB " --quiet --json - %s", more), 0);
  json_t *root = json_loads(out, 0, NULL);
  const json_t *device = json_object_get(json_object_get(root, "memory"), "device");
  const long long bytes = json_integer_value(json_object_get(device, "peak_bytes"));
  assert_true(bytes > 0);
  json_decref(root);
  return bytes;
}

static void a_byte_too_little_is_refused(void **state) {
  (void)state;
  static const char *const commands[] = {"predict", "check", "measure", "validate"};
  write_job(NULL);
  const long long bytes = peak("");
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    const char *data = i < 2 ? "" : "--steps 1 --data " SL_SOURCE_DIR "/examples/corpus.txt";
    assert_int_equal(shardlab(scratch, "%s " JOB " %s --device-memory %lld", commands[i], data, bytes - 1), 2);
    assert_string_equal(out, "");
    if (strstr(err, "--device-memory: rank 0 needs ") == NULL ||
        strstr(err, " of device memory, 1 B more than") == NULL)
      fail_msg("%s: %s", commands[i], err);
    assert_int_equal(lines_with(err, "\n"), 1);
    if (i < 2) assert_int_equal(shardlab(scratch, "%s " JOB " --device-memory %lldB", commands[i], bytes), 0);
  }
}

static char refusal[1 << 12];

static void refuse(double limit) {
  assert_int_equal(shardlab(scratch, "predict " JOB " --device-memory %.0f", limit), 2);
  snprintf(refusal, sizeof refusal, "%.4000s", err);
}

/* The bytes that stand behind `name` in what fits; -1: it is not named. */
static double said(const char *name) {
  char text[64];
  double bytes;
  const char *at = strstr(refusal, name);
  if (at == NULL) return -1;
  at = strchr(at, '(');
  assert_non_null(at);
  snprintf(text, sizeof text, "%.*s", (int)strcspn(at + 1, ")"), at + 1);
  assert_true(sl_parse_bytes(text, &bytes));
  return bytes;
}

static void expect_said(const char *name, double limit, const char *flags) {
  const double bytes = said(name), really = (double)peak(flags);
  if (bytes < 0 || bytes > limit || bytes < 0.999 * really || bytes > 1.001 * really)
    fail_msg("%s: said to need %.0f bytes and needs %.0f, the limit is %.0f: %s", name, bytes, really, limit, refusal);
}

static void what_is_said_to_fit_fits(void **state) {
  (void)state;
  write_job(NULL);
  const double all = (double)peak(""), half = (double)peak("--micro-batch 2 --grad-accum 4");
  refuse(all - 1e6);
  expect_said("--offload-optimizer cpu", all - 1e6, "--config offloaded.json");
  expect_said("--micro-batch 2 --grad-accum 4", all - 1e6, "--micro-batch 2 --grad-accum 4");
  refuse(half - 1);
  assert_true(said("--micro-batch 2 ") < 0); /* no longer */
  expect_said("--micro-batch 1 --grad-accum 8", half, "--micro-batch 1 --grad-accum 8");
  refuse(1e6);
  static const char nothing[] = "nothing that was tried fits: the least takes ";
  const char *at = strstr(refusal, nothing);
  double least;
  assert_non_null(at);
  assert_true(sl_parse_bytes(strtok(strdupa(at + strlen(nothing)), "\n"), &least));
  refuse(0.999 * least);
  assert_non_null(strstr(refusal, nothing));
  refuse(1.001 * least); /* a limit on the arena: no context counts */
  assert_non_null(strstr(refusal, "what fits: "));
}

static void a_cluster_may_give_the_limit(void **state) {
  (void)state;
  write_job("0.001");
  assert_int_equal(shardlab(scratch, "check " JOB " --cluster cluster.json"), 2);
  assert_non_null(strstr(err, "device.device_memory_GiB: rank 0 needs "));
  assert_int_equal(shardlab(scratch, "check " JOB " --cluster cluster.json --device-memory 4GB"), 0);
  write_job("3");
  assert_int_equal(shardlab(scratch, "check " JOB " --cluster cluster.json"), 0);
}

static void sizes_have_units(void **state) {
  (void)state;
  static const struct {
    const char *text;
    double bytes; /* -1: it is none */
  } cases[] = {{"4096", 4096}, {"512MiB", 0x1p29}, {"1.5 GiB", 1.5 * 0x1p30},
               {"16GB", 16e9}, {"2k", -1},         {"7kb", 7000},
               {"3 TB", 3e12}, {"1e3", 1000},      {"12 B", 12},
               {"", -1},       {"MiB", -1},        {"0x10", -1},
               {"-1", -1},     {"1 QiB", -1},      {"1MiBB", -1},
               {"inf", -1},    {"nan", -1},        {"1Mi", -1},
               {"0.5", 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double bytes = -1;
    const bool good = sl_parse_bytes(cases[i].text, &bytes);
    if (good != (cases[i].bytes >= 0) || (good && bytes != cases[i].bytes))
      fail_msg("'%s': %d, %.17g bytes", cases[i].text, good, bytes);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_byte_too_little_is_refused),
      cmocka_unit_test(what_is_said_to_fit_fits),
      cmocka_unit_test(a_cluster_may_give_the_limit),
      cmocka_unit_test(sizes_have_units),
  };
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
