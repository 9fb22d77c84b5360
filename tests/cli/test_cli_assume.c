/* label: cli
 * What a prediction is asked to assume, from outside: noise, stragglers, shared links, NCCL's choice and the order of
 * ranks; the same command writes the same bytes of trace, what was asked stands in the record, and tables and other
 * commands refuse it. */
#include "tests/support/cli_run.h"

#include <jansson.h>

static const char *const job =
    "--model gpt2 --preset deepspeed-1 --cluster selene-a100 --world 16 --tp 2 --pp 2 --grad-accum 4 --seq 64";

/* The step's seconds, or -1; the trace is in `trace`. */
static double predict(const char *flags, const char *trace) {
  if (shardlab(scratch, "predict %s %s --json r.json --trace %s --quiet", job, flags, trace) != 0) fail_msg("%s", err);
  char path[600];
  snprintf(path, sizeof path, "%s/r.json", scratch);
  json_t *record = json_load_file(path, 0, NULL);
  assert_non_null(record);
  const double seconds = json_real_value(json_object_get(record, "step_time_s"));
  json_decref(record);
  return seconds;
}

static bool same_files(const char *a, const char *b) {
  static char x[1 << 24], y[1 << 24];
  slurp(a, x, sizeof x);
  slurp(b, y, sizeof y);
  assert_true(strlen(x) > 1000 && strlen(x) + 1 < sizeof x);
  return strcmp(x, y) == 0;
}

static void one_command_is_one_trace(void **state) {
  (void)state;
  static const char *const flags[] = {"",
                                      "--jitter 0.1 --seed 5",
                                      "--straggler 3:1.5,7:2",
                                      "--share-links",
                                      "--nccl-algo choice",
                                      "--rank-order pp-dp-tp",
                                      "--rank-order dp-tp-pp --jitter 0.1 --share-links --nccl-algo choice"};
  double usual = 0;
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    const double a = predict(flags[i], "a.trace"), b = predict(flags[i], "b.trace");
    assert_true(a > 0 && a == b);
    assert_true(same_files("a.trace", "b.trace"));
    if (i == 0) usual = a;
    if (i > 0 && strcmp(flags[i], "--share-links") != 0) assert_true(a != usual);
  }
  predict("--jitter 0.1 --seed 5", "a.trace");
  predict("--jitter 0.1 --seed 6", "b.trace");
  assert_false(same_files("a.trace", "b.trace"));
  predict("", "a.trace");
  predict("--jitter 0 --straggler 2:1 --nccl-algo ring --rank-order tp-dp-pp", "b.trace");
  assert_true(same_files("a.trace", "b.trace"));
}

static void what_was_asked_stands_in_the_record(void **state) {
  (void)state;
  char path[600];
  if (shardlab(scratch, "predict %s --jitter 0.25 --straggler 1:2 --share-links --rank-order pp-dp-tp --json r.json",
               job) != 0)
    fail_msg("%s", err);
  assert_non_null(strstr(out, "ranks in the order pp-dp-tp"));
  snprintf(path, sizeof path, "%s/r.json", scratch);
  json_t *record = json_load_file(path, 0, NULL);
  const json_t *options = json_object_get(record, "options");
  assert_true(json_real_value(json_object_get(options, "jitter")) == 0.25);
  assert_string_equal(json_string_value(json_object_get(options, "straggler")), "1:2");
  assert_string_equal(json_string_value(json_object_get(options, "nccl-algo")), "ring");
  assert_true(json_is_true(json_object_get(options, "share-links")));
  assert_string_equal(json_string_value(json_object_get(json_object_get(record, "plan"), "rank_order")), "pp-dp-tp");
  json_decref(record);
}

/* As the flags say it, behind the devices; of many stragglers the first. */
static void the_first_line_says_what_is_assumed(void **state) {
  (void)state;
  static const struct {
    const char *flags, *says;
  } cases[] = {{"", " kernels\n"},
               {"--jitter 0", " kernels\n"},
               {"--straggler 0:100", " kernels (assuming --straggler 0:100)\n"},
               {"--share-links", " kernels (assuming --share-links)\n"},
               {"--nccl-algo choice", " kernels (assuming --nccl-algo choice)\n"},
               {"--straggler 5:2,3:1.5 --jitter 0.1 --share-links --nccl-algo choice",
                " kernels (assuming --straggler 5:2,3:1.5, --jitter 0.1, --share-links, --nccl-algo choice)\n"},
               {"--straggler 1:2,2:2,3:2,4:2,5:2,6:2", " kernels (assuming --straggler 1:2,2:2,3:2,4:2 and 2 more)\n"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    if (shardlab(scratch, "predict %s %s", job, cases[i].flags) != 0) fail_msg("%s", err);
    const char *said = strstr(out, cases[i].says);
    if (said == NULL || strchr(out, '\n') < said) fail_msg("%s: %s", cases[i].flags, out);
  }
}

/* Of each kind of calls, by what NCCL would run them: a tensor-parallel group of a node of A100s by rings or trees. */
static void what_nccl_chooses_is_told(void **state) {
  (void)state;
  char path[600];
  if (shardlab(scratch, "predict %s --nccl-algo choice --json r.json", job) != 0) fail_msg("%s", err);
  snprintf(path, sizeof path, "%s/r.json", scratch);
  json_t *record = json_load_file(path, 0, NULL), *row;
  size_t i, told = 0;
  json_array_foreach(json_object_get(record, "traffic"), i, row) {
    const char *by = json_string_value(json_object_get(row, "algorithms"));
    const bool pipeline = strcmp(json_string_value(json_object_get(row, "group")), "pipeline") == 0;
    assert_true((by == NULL) == pipeline);
    if (by == NULL) continue;
    assert_true(strncmp(by, "ring ", 5) == 0 || strncmp(by, "tree ", 5) == 0);
    assert_non_null(strstr(out, by));
    told++;
  }
  assert_true(told >= 3);
  json_decref(record);
}

static void others_refuse_it(void **state) {
  (void)state;
  static const struct {
    const char *command, *says;
  } cases[] = {
      {"predict --table rows.csv --out out.csv --jitter 0.1", "--jitter"},
      {"predict --table rows.csv --out out.csv --share-links", "--share-links"},
      {"measure --model gpt2 --preset ddp --jitter 0.1", "--jitter: is not a flag of 'measure'"},
      {"check --model gpt2 --preset ddp --nccl-algo choice", "--nccl-algo: is not a flag of 'check'"},
      {"predict --model gpt2 --preset ddp --jitter -1", "--jitter: is '-1'"},
      {"predict --model gpt2 --preset ddp --straggler 0:0", "--straggler: is '0:0'"},
      {"predict --model gpt2 --preset ddp --straggler 0:2,", "--straggler: is '0:2,'"},
      {"predict --model gpt2 --preset ddp --nccl-algo choice", "gives no compute_capability"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(shardlab(scratch, "%s", cases[i].command), 2);
    if (strstr(err, cases[i].says) == NULL) fail_msg("%s: %s", cases[i].command, err);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_command_is_one_trace),
      cmocka_unit_test(what_was_asked_stands_in_the_record),
      cmocka_unit_test(the_first_line_says_what_is_assumed),
      cmocka_unit_test(what_nccl_chooses_is_told),
      cmocka_unit_test(others_refuse_it),
  };
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
