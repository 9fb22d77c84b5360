/* label: cli
 * shardlab predict --sweep: every combination once, each as it is predicted alone, those that fit first and the
 * quickest of them at the top, whatever the number of processes. */
#include <jansson.h>
#include <math.h>

#include "tests/support/cli_run.h"

#define JOB "predict --model gpt2-mini --config ds.json --cluster small.json --world 4 "
#define SWEEP "--sweep tp=1,2,3 zero-stage=0..2 micro-batch=8,64 recompute=none,full "

static void write_inputs(void) {
  static const char *const files[][2] = {
      {"ds.json", "{\"train_micro_batch_size_per_gpu\": 4, \"optimizer\": {\"type\": \"AdamW\"}}"},
      {"small.json",
       "{\"devices_per_node\": 4, \"device\": {\"name\": \"G\", \"kind\": \"gpu\", \"memory_GiB\": 0.5, "
       "\"peak_TFLOPS\": {\"fp32\": 10}, \"memory_bandwidth_GBps\": 1000}, \"links\": [{\"bandwidth_GBps\": "
       "100, \"latency_us\": 2}]}"}};
  for (int i = 0; i < 2; i++) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s", scratch, files[i][0]);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(files[i][1], file);
    fclose(file);
  }
}

static json_t *sweep(const char *more) {
  if (shardlab(scratch, JOB SWEEP "--quiet --json - %s", more) != 0) fail_msg("%s", err);
  json_t *root = json_loads(out, 0, NULL);
  assert_non_null(root);
  return root;
}

/* `more`: flags of the sweep and of each prediction. */
static void check_combinations(const char *more) {
  json_t *root = sweep(more), *row;
  const json_t *rows = json_object_get(root, "rows");
  int fitting = 0, refused = 0, last = 0;
  double rate = INFINITY;
  size_t i;
  assert_int_equal(json_array_size(rows), 3 * 3 * 2 * 2);
  json_array_foreach(rows, i, row) {
    const json_t *values = json_object_get(row, "values");
    const bool plan = json_object_get(row, "error") == NULL, fits = json_is_true(json_object_get(row, "fits"));
    const int class = fits ? 0 : plan ? 1 : 2;
    assert_true(class >= last);
    if (class > last) rate = INFINITY;
    last = class;
    fitting += fits, refused += !plan;
    assert_int_equal(!plan, strcmp(json_string_value(json_object_get(values, "tp")), "3") == 0);
    if (!plan) continue;
    assert_true(json_real_value(json_object_get(row, "tokens_per_s")) <= rate);
    rate = json_real_value(json_object_get(row, "tokens_per_s"));
    if (i % 5 != 0) continue;
    char flags[256];
    snprintf(flags, sizeof flags, "--tp %s --zero-stage %s --micro-batch %s --recompute %s",
             json_string_value(json_object_get(values, "tp")), json_string_value(json_object_get(values, "zero-stage")),
             json_string_value(json_object_get(values, "micro-batch")),
             json_string_value(json_object_get(values, "recompute")));
    assert_int_equal(shardlab(scratch, JOB "--quiet --json - %s %s", flags, more), 0);
    json_t *alone = json_loads(out, 0, NULL);
    assert_float_equal(json_real_value(json_object_get(alone, "tokens_per_s")), rate, 1e-9 * rate);
    assert_int_equal(json_is_true(json_object_get(json_object_get(alone, "verdict"), "fits")), fits);
    json_decref(alone);
  }
  assert_true(fitting > 3 && refused == 12 && fitting + refused < 36);
  json_decref(root);
}

static void every_combination_as_it_is_alone(void **state) {
  (void)state;
  write_inputs();
  check_combinations("");
  check_combinations("--straggler 0:3 --share-links");
}

/* "off" is what a user says who wants it off, whatever the configuration has. */
static void off_overrides_the_config(void **state) {
  (void)state;
  write_inputs();
  write_file("sp.json", "{\"train_micro_batch_size_per_gpu\": 4, \"optimizer\": {\"type\": \"AdamW\"}, "
                        "\"shardlab\": {\"sequence_parallel\": true}}");
  assert_int_equal(shardlab(scratch, "predict --model gpt2-mini --config sp.json --cluster small.json --world 4 --tp 2 "
                                     "--sweep sequence-parallel=on,off --quiet --json -"),
                   0);
  json_t *root = json_loads(out, 0, NULL), *row;
  double need[2];
  size_t i;
  assert_int_equal(json_array_size(json_object_get(root, "rows")), 2);
  json_array_foreach(json_object_get(root, "rows"), i, row) {
    const char *word = json_string_value(json_object_get(json_object_get(row, "values"), "sequence-parallel"));
    need[strcmp(word, "on") == 0] = (double)json_integer_value(json_object_get(row, "need_bytes"));
  }
  assert_true(need[1] < need[0]); /* norms are split along the sequence */
  json_decref(root);
}

/* Layers of stages have commas. */
static void lists_are_separated_by_semicolons(void **state) {
  (void)state;
  write_inputs();
  assert_int_equal(
      shardlab(scratch, JOB "--pp 2 --grad-accum 4 --sweep 'stages=3,3;2,4' --out lists.csv --quiet --json -"), 0);
  json_t *root = json_loads(out, 0, NULL), *row;
  size_t i, plans = 0;
  json_array_foreach(json_object_get(root, "rows"), i, row) plans += json_object_get(row, "error") == NULL;
  assert_int_equal(plans, 2);
  json_decref(root);
  char text[1024];
  slurp("lists.csv", text, sizeof text);
  assert_non_null(strstr(text, "\n\"3,3\",1,")); /* one cell of the table */
  assert_non_null(strstr(text, "\n\"2,4\",1,"));
}

/* What says how one prediction is told is not taken and then forgotten. */
static void what_is_of_one_prediction_is_refused(void **state) {
  (void)state;
  static const char *const flags[] = {"--steps 3", "--runs 7", "--save-every 2", "--per-rank", "--max-seq"};
  write_inputs();
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    assert_int_equal(shardlab(scratch, JOB "%s --sweep tp=1,2", flags[i]), 2);
    if (strstr(err, ": is of one prediction; expected it without --sweep") == NULL) fail_msg("%s: %s", flags[i], err);
  }
}

static void any_number_of_processes(void **state) {
  (void)state;
  static char first[1 << 16], second[1 << 16];
  write_inputs();
  json_decref(sweep("--jobs 1 --out a.csv"));
  json_decref(sweep("--jobs 3 --out b.csv"));
  slurp("a.csv", first, sizeof first);
  slurp("b.csv", second, sizeof second);
  assert_string_equal(first, second);
  assert_int_equal(lines_with(first, "\n"), 37);
  assert_int_equal(strncmp(first, "tp,zero-stage,micro-batch,recompute,fits,tokens_per_s,step_time_s,need_bytes,", 77),
                   0);
  assert_int_equal(shardlab(scratch, JOB SWEEP), 0);
  assert_non_null(strstr(out, "\n36 combinations in "));
  assert_non_null(strstr(out, " 12 are no plan ("));
}

/* JSON has no such text, and a row without a value of its own would say nothing. */
static void values_are_text(void **state) {
  (void)state;
  write_inputs();
  assert_int_equal(shardlab(scratch, "predict --config ds.json --world 4 --sweep model=gpt2-mini,a\xff.json --json -"),
                   2);
  assert_string_equal(only_line(),
                      "shardlab: error: --sweep: model=a\\xff.json is malformed; expected text in UTF-8\n");
  assert_string_equal(out, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_combination_as_it_is_alone),  cmocka_unit_test(off_overrides_the_config),
      cmocka_unit_test(lists_are_separated_by_semicolons), cmocka_unit_test(what_is_of_one_prediction_is_refused),
      cmocka_unit_test(any_number_of_processes),           cmocka_unit_test(values_are_text)};
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
