/* label: cli
 * The shardlab command from outside: every broken request is one error line and leaves nothing behind; help, records
 * and traces are what they claim to be. */
#include "core/record/record.h"
#include "tests/support/cli_run.h"

static void check_case(const char *arguments, const char *message) {
  static const char inputs[] = SL_SOURCE_DIR "/tests/bad_inputs";
  const bool run = strncmp(arguments, "predict ", 8) == 0 || strncmp(arguments, "measure ", 8) == 0;
  const bool last_is_flag = strstr(arguments, "--threads") != NULL; /* whose missing value the case is about */
  const int before = files_in(inputs);
  char extra[1200] = "", want[2048];
  if (run && !last_is_flag && strstr(arguments, "--json") == NULL)
    snprintf(extra, sizeof extra, " --json '%s/x.json' --trace '%s/x.trace'", scratch, scratch);
  const int status = shardlab(inputs, "%s%s", arguments, extra);
  if (status != 2) fail_msg("exit status %d, not 2: %s\n%s", status, arguments, err);
  snprintf(want, sizeof want, "shardlab: error: %s\n", message);
  if (strstr(err, want) == NULL) fail_msg("%s\nsaid: %snot:  %s", arguments, err, want);
  assert_int_equal(lines_with(err, "error: "), 1);
  assert_string_equal(out, "");
  if (files_in(scratch) != 0 || files_in(inputs) != before) fail_msg("something was written: %s", arguments);
}

static void broken_requests(void **state) {
  (void)state;
  char line[4096];
  int cases = 0;
  FILE *file = fopen(SL_SOURCE_DIR "/tests/bad_inputs/cases.tsv", "r");
  assert_non_null(file);
  while (fgets(line, sizeof line, file) != NULL) {
    if (line[0] == '#') continue;
    char *tab = strchr(line, '\t');
    assert_non_null(tab);
    *tab = '\0';
    tab[1 + strcspn(tab + 1, "\n")] = '\0';
    check_case(line, tab + 1);
    cases++;
  }
  fclose(file);
  assert_in_range(cases, 40, 1000);
}

static void help_and_version(void **state) {
  (void)state;
  static const char *const names[] = {"predict", "measure",  "compare",   "validate", "show",
                                      "check",   "backends", "calibrate", "bench",    "checkpoint"};
  assert_int_equal(shardlab(scratch, "--version"), 0);
  assert_string_equal(out, "shardlab 0.1.0\n");
  assert_int_equal(shardlab(scratch, "--help"), 0);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char name[32];
    snprintf(name, sizeof name, "\n  %s ", names[i]);
    assert_non_null(strstr(out, name));
  }
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    assert_int_equal(shardlab(scratch, "help %s", names[i]), 0);
    assert_non_null(strstr(out, "example:\n  shardlab "));
    assert_string_equal(err, "");
    char *first = strdup(out);
    assert_int_equal(shardlab(scratch, "%s --help", names[i]), 0);
    assert_string_equal(out, first);
    free(first);
  }
  assert_int_equal(shardlab(scratch, "help validate"), 0);
  assert_non_null(strstr(out, "--time-tolerance X"));
  assert_non_null(strstr(out, "[0.5]"));
  assert_int_equal(shardlab(scratch, "help predict"), 0);
  assert_non_null(
      strstr(out, " tp-dp-pp|tp-pp-dp|dp-tp-pp|dp-pp-tp|pp-tp-dp|pp-dp-tp\n                             axes of"));
  assert_null(strstr(out, "--data"));
}

/* Output that is lost is an error, said in one line, also where it is text. */
static void a_full_disk_is_said(void **state) {
  (void)state;
  static const char *const commands[] = {"predict --model gpt2-tiny --preset fsdp --world 3", "--help", "help show",
                                         "show presets", "predict --model gpt2-tiny --preset fsdp --json -"};
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    char command[2048];
    snprintf(command, sizeof command, "'%s/bin/shardlab' %s >/dev/full 2>'%s/err'", SL_BINARY_DIR, commands[i],
             scratch);
    const int state_of = system(command);
    slurp("err", err, sizeof err);
    assert_int_equal(WEXITSTATUS(state_of), 1);
    if (lines_with(err, "shardlab: error: standard output: No space left on device") != 1)
      fail_msg("%s: %s", commands[i], err);
  }
}

static const char job[] = "--model gpt2-tiny --config " SL_SOURCE_DIR "/examples/ds_zero1.json --world 3 --seq 37";

/* Offloaded states are predicted, in both memories. */
static void offload_is_predicted(void **state) {
  (void)state;
  char path[600];
  struct sl_json doc;
  assert_int_equal(shardlab(scratch,
                            "predict --model gpt2-tiny --config %s/examples/ds_zero3_offload.json --world 2 "
                            "--json r.json",
                            SL_SOURCE_DIR),
                   0);
  assert_string_equal(err, "");
  snprintf(path, sizeof path, "%s/r.json", scratch);
  assert_int_equal(sl_record_load(&doc, path), SL_OK);
  const json_t *host = json_object_get(json_object_get(doc.root, "memory"), "host");
  assert_true(json_integer_value(json_object_get(host, "peak_bytes")) > 8000000);
  sl_json_free(&doc);
  unlink(path);
}

static void predicted_record(void **state) {
  (void)state;
  char path[600];
  struct sl_json doc;
  assert_int_equal(shardlab(scratch, "predict %s --json r.json --trace t.json --quiet", job), 0);
  assert_string_equal(out, "");
  snprintf(path, sizeof path, "%s/r.json", scratch);
  assert_int_equal(sl_record_load(&doc, path), SL_OK);
  const json_t *plan = json_object_get(doc.root, "plan");
  assert_int_equal(json_integer_value(json_object_get(plan, "dp")), 3);
  assert_int_equal(json_integer_value(json_object_get(plan, "seq")), 37);
  assert_int_equal(json_array_size(json_object_get(doc.root, "ranks")), 3);
  /* what a prediction cannot know is left out */
  assert_null(json_object_get(doc.root, "losses"));
  assert_true(json_is_false(json_object_get(doc.root, "step_time_calibrated")));
  assert_true(json_real_value(json_object_get(doc.root, "step_time_low_s")) <
              json_real_value(json_object_get(doc.root, "step_time_s")));
  sl_json_free(&doc);
  /* the trace is JSON with a slice for every op, and the same again byte for byte */
  snprintf(path, sizeof path, "%s/t.json", scratch);
  json_t *trace = json_load_file(path, 0, NULL), *event;
  size_t i, slices = 0;
  assert_non_null(trace);
  json_array_foreach(json_object_get(trace, "traceEvents"), i, event) {
    const char *phase = json_string_value(json_object_get(event, "ph"));
    assert_non_null(phase);
    if (strcmp(phase, "X") != 0) continue;
    slices++;
    assert_true(json_is_integer(json_object_get(event, "dur")));
    assert_true(json_integer_value(json_object_get(event, "dur")) >= 0);
  }
  assert_in_range(slices, 100, 100000);
  json_decref(trace);
  assert_int_equal(shardlab(scratch, "predict %s --trace u.json --quiet", job), 0);
  snprintf(path, sizeof path, "cd '%s' && cmp -s t.json u.json && rm t.json u.json r.json", scratch);
  assert_int_equal(system(path), 0);
}

/* A first line of the names that are shown is that of a table. */
static void columns_are_those_of_a_table(void **state) {
  (void)state;
  assert_int_equal(shardlab(scratch, "show columns --json -"), 0);
  json_t *columns = json_loads(out, 0, NULL), *column;
  size_t i, optional = 0;
  char names[2048] = "", last[64] = "";
  json_array_foreach(columns, i, column) {
    const char *name = json_string_value(json_object_get(column, "column"));
    if (json_is_true(json_object_get(column, "optional")) && optional++ == 0) snprintf(last, sizeof last, "%s", name);
    snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i > 0 ? "," : "", name);
  }
  json_decref(columns);
  assert_true(optional > 0);
  strcat(names, "\n");
  write_file("t.csv", names);
  if (shardlab(scratch, "predict --table t.csv --out p.csv --quiet") != 0) fail_msg("%s", err);
  names[strcspn(names, ",")] = '_'; /* without the first, id, it is none */
  write_file("t.csv", names);
  assert_int_equal(shardlab(scratch, "predict --table t.csv --out p.csv --quiet"), 2);
  assert_int_equal(shardlab(scratch, "show columns"), 0);
  assert_non_null(strstr(out, "\nzero_stage                      ZeRO stage that"));
  char text[600];
  snprintf(text, sizeof text, "\n%-20s  optional  ", last);
  assert_non_null(strstr(out, text));
  snprintf(text, sizeof text, "cd '%s' && rm t.csv p.csv", scratch);
  assert_int_equal(system(text), 0);
}

static void json_on_standard_output(void **state) {
  (void)state;
  static const char *const subjects[] = {"plan", "memory", "config", "model", "cluster", "presets", "estimator"};
  for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
    const char *flags = strcmp(subjects[i], "presets") == 0 ? "" : job; /* they are of no job */
    assert_int_equal(shardlab(scratch, "show %s %s --json -", subjects[i], flags), 0);
    json_t *root = json_loads(out, 0, NULL);
    assert_non_null(root);
    json_decref(root);
  }
  assert_int_equal(shardlab(scratch, "predict %s --json -", job), 0);
  json_t *root = json_loads(out, 0, NULL); /* the summary went elsewhere */
  assert_non_null(root);
  json_decref(root);
  assert_non_null(strstr(err, "tokens/s"));
  assert_int_equal(shardlab(scratch, "backends --json -"), 0);
  root = json_loads(out, 0, NULL);
  assert_true(json_array_size(root) >= 6);
  json_decref(root);
}

static json_t *ranks_of(const char *more) {
  assert_int_equal(shardlab(scratch,
                            "predict --model gpt2-tiny --preset ddp --micro-batch 1 --cluster dgx-a100-80g --seq 16 %s "
                            "--json -",
                            more),
                   0);
  json_t *root = json_loads(out, 0, NULL), *ranks = json_incref(json_object_get(root, "ranks"));
  json_decref(root);
  return ranks;
}

/* 264 ranks in nodes of 8 do the same; of 256 every one has its row. */
static void a_large_world_is_summarised(void **state) {
  (void)state;
  static const struct {
    const char *more;
    size_t rows;
    json_int_t stands_for;
  } cases[] = {{"--world 264", 1, 264}, {"--world 264 --per-rank", 264, 0}, {"--world 256", 256, 0}};
  for (size_t i = 0; i < 3; i++) {
    json_t *ranks = ranks_of(cases[i].more);
    assert_int_equal(json_array_size(ranks), cases[i].rows);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(ranks, 0), "stands_for")), cases[i].stands_for);
    json_decref(ranks);
  }
}

/* Of a script whose seed the shell draws; what draws numbers refuses it (cases.tsv). */
static void predictions_need_no_seed(void **state) {
  (void)state;
  static const char inputs[] = SL_SOURCE_DIR "/tests/bad_inputs",
                    script[] = "--from-megatron m_seed.sh --model gpt2-tiny --kernels shardlab";
  assert_int_equal(shardlab(inputs, "predict %s", script), 0);
  assert_non_null(strstr(err, "m_seed.sh:3: --seed: is '$RANDOM', which only a shell can tell, so 1234 is taken"));
  assert_int_equal(shardlab(inputs, "predict %s --seed 7 --jitter 0.1", script), 0);
  assert_null(strstr(err, "--seed"));
}

/* What a framework has no words for; a default of the kernels that nobody asked for is no such thing. */
static void what_is_left_out_is_a_list(void **state) {
  (void)state;
  assert_int_equal(shardlab(scratch,
                            "export-config --to torchtitan --model gpt2-mini --preset fsdp2 --dtype bf16 --world 8 "
                            "--cluster dgx-h100 --seq 64"),
                   0);
  assert_string_equal(only_line(), "shardlab: warning: --to torchtitan: no counterpart, so left out: the model, "
                                   "shardlab.kernels\n");
  char *text = strdup(out);
  assert_int_equal(shardlab(scratch,
                            "export-config --to torchtitan --model gpt2-mini --preset fsdp2 --dtype bf16 --world 8 "
                            "--cluster dgx-h100 --seq 64 --kernels torch-compile"),
                   0);
  assert_string_equal(only_line(), "shardlab: warning: --to torchtitan: no counterpart, so left out: the model, "
                                   "shardlab.expandable_segments\n"); /* which run_train.sh turns on */
  assert_int_equal(shardlab(scratch,
                            "export-config --to torchtitan --model gpt2-mini --preset fsdp2 --dtype bf16 --world 8 "
                            "--cluster dgx-h100 --seq 64 --json -"),
                   0);
  json_t *said = json_loads(out, 0, NULL);
  assert_string_equal(json_string_value(json_object_get(said, "to")), "torchtitan");
  assert_string_equal(json_string_value(json_object_get(said, "text")), text);
  const json_t *left_out = json_object_get(said, "left_out");
  assert_int_equal(json_array_size(left_out), 2);
  assert_string_equal(json_string_value(json_array_get(left_out, 1)), "shardlab.kernels");
  json_decref(said);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(broken_requests),
      cmocka_unit_test(help_and_version),
      cmocka_unit_test(a_full_disk_is_said),
      cmocka_unit_test(offload_is_predicted),
      cmocka_unit_test(predicted_record),
      cmocka_unit_test(a_large_world_is_summarised),
      cmocka_unit_test(columns_are_those_of_a_table),
      cmocka_unit_test(json_on_standard_output),
      cmocka_unit_test(predictions_need_no_seed),
      cmocka_unit_test(what_is_left_out_is_a_list),
  };
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
