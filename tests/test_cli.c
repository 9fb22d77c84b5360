/* label: cli
 * The shardlab command from outside: every broken request is one error line and leaves nothing behind; help, records,
 * traces and comparisons are what they claim to be. */
#include "core/record/compare.h"
#include "core/record/record.h"
#include "tests/cli_run.h"

#include <sys/stat.h>

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
  static const char *const names[] = {"predict", "measure", "compare",  "validate",
                                      "show",    "check",   "backends", "calibrate"};
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
  assert_null(strstr(out, "--data"));
}

/* The examples of the README that no machine changes: every line that they print (with `mark` in it) stands there. */
static void the_readme_shows_what_is_printed(void **state) {
  static const char *const examples[][2] = {
      {"predict --model gpt2-xl --config " SL_SOURCE_DIR "/examples/ds_zero2.json --cluster dgx-a100-80g --world 64",
       ""},
      {"show memory --model gpt2-tiny --config " SL_SOURCE_DIR "/examples/ds_zero2.json --world 2 --seq 64", "|"},
      {"show schedule --pp 4 --schedule zb-h1 --grad-accum 5", ""}};
  static char readme[1 << 17];
  FILE *file = fopen(SL_SOURCE_DIR "/README.md", "r");
  (void)state;
  assert_non_null(file);
  assert_true(fread(readme, 1, sizeof readme - 1, file) > 0);
  fclose(file);
  for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
    int lines = 0;
    assert_int_equal(shardlab(scratch, "%s", examples[i][0]), 0);
    for (char *line = strtok(out, "\n"); line != NULL; line = strtok(NULL, "\n")) {
      size_t n = strlen(line);
      while (n > 0 && line[n - 1] == ' ') line[--n] = '\0';
      if (strstr(line, examples[i][1]) == NULL) continue;
      if (strstr(readme, line) == NULL) fail_msg("README.md has no line \"%s\" of %s", line, examples[i][0]);
      lines++;
    }
    assert_true(lines > 5);
  }
}

/* 175 billion parameters in fp32: more than any machine that runs this test has. */
static void too_large_to_measure(void **state) {
  (void)state;
  assert_int_equal(shardlab(scratch, "measure --model gpt3-175b --preset ddp --world 4 --seq 8 --data " SL_SOURCE_DIR
                                     "/examples/corpus.txt --json r.json"),
                   2);
  if (strstr(err, "--world: 4 ranks of this model need 10.") == NULL ||
      strstr(err, " TiB of memory in all; expected at most the ") == NULL)
    fail_msg("%s", err);
  assert_int_equal(lines_with(err, "error: "), 1);
  assert_int_equal(files_in(scratch), 0);
}

/* A profile with standard errors gives an interval, in the record and in the text, that holds the step time. */
static void calibrated_predictions_carry_an_interval(void **state) {
  (void)state;
  char path[600];
  snprintf(path, sizeof path, "%s/p.json", scratch);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs("{\"device\":{\"kind\":\"cpu\",\"cores\":2,\"memory_GiB\":1,\"memory_bandwidth_GBps\":7,\"peak_TFLOPS\":{"
        "\"fp32\":"
        "0.1},\"run_noise\":0.2,\"calibration_rounds\":5},\"links\":[{\"bandwidth_GBps\":1,\"latency_us\":2}],\"op_"
        "costs\":[{\"op\":\"gemm\",\"ranks\":1,"
        "\"GFLOPS\":50,\"GFLOPS_stderr\":5,\"scatter\":0.07}]}",
        file);
  fclose(file);
  assert_int_equal(shardlab(scratch, "predict --model gpt2-tiny --preset ddp --cluster p.json --json -"), 0);
  json_t *root = json_loads(out, 0, NULL);
  const double low = json_number_value(json_object_get(root, "step_time_low_s")),
               step = json_number_value(json_object_get(root, "step_time_s")),
               high = json_number_value(json_object_get(root, "step_time_high_s"));
  assert_true(0.5 * step < low && low < 0.99 * step && step * step / low < high * 1.000001);
  assert_non_null(strstr(err, " (90 % interval "));
  json_decref(root);
  /* the median of several runs is known better than one */
  assert_int_equal(shardlab(scratch, "predict --model gpt2-tiny --preset ddp --cluster p.json --runs 5 --json -"), 0);
  root = json_loads(out, 0, NULL);
  assert_true(1.05 * low < json_number_value(json_object_get(root, "step_time_low_s")));
  assert_true(json_number_value(json_object_get(root, "step_time_s")) == step);
  json_decref(root);
  assert_int_equal(shardlab(scratch, "predict --model gpt2-tiny --preset ddp"), 0);
  assert_null(strstr(out, "interval")); /* a guess has none */
  unlink(path);
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

/* What calibrate refuses it refuses before it measures, and before its folder is made. */
static void calibrate_asks_first(void **state) {
  (void)state;
  static const struct {
    const char *flags, *says;
  } bad[] = {
      {"", "--out: is missing; expected the profile to write"},
      {"--out -", "--out: is '-'; expected a file (--json alone goes to standard output)"},
      {"--out absent/p.json", "--out: absent/p.json: its folder does not exist"},
      {"--out p.json --world 4096", "--world: is 4096; expected at most the cores of this machine, "},
      {"--out p.json --world 0", "--world: is '0'; expected an integer from 1 to 4096"},
      {"--out p.json --rounds 0", "--rounds: is '0'; expected an integer from 1 to 1000"},
      {"--out p.json --backend cpu", "--backend: is 'cpu'; expected one of host|cuda"},
      {"p.json", "'p.json': is one argument too many; usage: shardlab calibrate [flags]"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(shardlab(scratch, "calibrate %s", bad[i].flags), 2);
    if (strstr(err, bad[i].says) == NULL) fail_msg("calibrate %s said %s", bad[i].flags, err);
    assert_int_equal(lines_with(err, "error: "), 1);
    assert_string_equal(out, "");
    assert_int_equal(files_in(scratch), 0);
  }
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1); /* as mpirun does */
  assert_int_equal(shardlab(scratch, "calibrate --out p.json"), 2);
  unsetenv("OMPI_COMM_WORLD_SIZE");
  assert_non_null(strstr(err, "calibrate starts its own ranks; start it without mpirun or srun"));
  assert_int_equal(files_in(scratch), 0);
}

/* Rounds can be added only to those of this machine. */
static void calibrate_adds_to_its_own_machine(void **state) {
  (void)state;
  assert_int_equal(shardlab(scratch, "calibrate --out p.json --add --rounds 2"), 2);
  assert_non_null(strstr(err, "p.fit/points.json: cannot be opened"));
  assert_int_equal(lines_with(err, "error: "), 1);
  assert_int_equal(files_in(scratch), 0);
  char path[600];
  snprintf(path, sizeof path, "%s/p.fit", scratch);
  assert_int_equal(mkdir(path, 0777), 0);
  snprintf(path, sizeof path, "%s/p.fit/points.json", scratch);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs("{\"schema\":1,\"machine\":\"abacus\",\"points\":[{\"op\":\"gemm\",\"ranks\":1,\"shape\":[1,2,3],"
        "\"median_s\":1}]}",
        file);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(shardlab(scratch, "calibrate --out p.json --add"), 2);
  assert_non_null(strstr(err, "p.fit/points.json: was measured on 'abacus'; expected this machine, '"));
  assert_int_equal(lines_with(err, "error: "), 1);
  unlink(path);
  *strrchr(path, '/') = '\0';
  rmdir(path);
}

static const char job[] = "--model gpt2-tiny --config " SL_SOURCE_DIR "/examples/ds_zero1.json --world 3 --seq 37";

/* Offloaded states are predicted, in both memories; measuring them is refused (bad_inputs). */
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
  assert_null(json_object_get(doc.root, "step_time_low_s"));
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
    assert_true(json_real_value(json_object_get(event, "dur")) >= 0);
  }
  assert_in_range(slices, 100, 100000);
  json_decref(trace);
  assert_int_equal(shardlab(scratch, "predict %s --trace u.json --quiet", job), 0);
  snprintf(path, sizeof path, "cd '%s' && cmp -s t.json u.json && rm t.json u.json r.json", scratch);
  assert_int_equal(system(path), 0);
}

static void json_on_standard_output(void **state) {
  (void)state;
  static const char *const subjects[] = {"plan", "memory", "config", "model", "cluster", "presets", "estimator"};
  for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
    assert_int_equal(shardlab(scratch, "show %s %s --json -", subjects[i], job), 0);
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

/* Flags act as if they stood in the file: the default that follows from the stage moves with it. */
static void flags_override_the_config(void **state) {
  (void)state;
  static const char config[] = SL_SOURCE_DIR "/tests/bad_inputs/ok.json";
  assert_int_equal(shardlab(scratch, "show config --model gpt2-tiny --config %s --zero-stage 3 --json -", config), 0);
  json_t *root = json_loads(out, 0, NULL);
  const json_t *zero = json_object_get(root, "zero_optimization");
  assert_int_equal(json_integer_value(json_object_get(zero, "stage")), 3);
  assert_true(json_is_true(json_object_get(zero, "overlap_comm")));
  json_decref(root);
  assert_int_equal(
      shardlab(scratch, "show config --model gpt2-tiny --config %s --grad-accum 5 --world 3 --json -", config), 0);
  root = json_loads(out, 0, NULL);
  assert_int_equal(json_integer_value(json_object_get(root, "train_batch_size")), 15);
  json_decref(root);
}

/* A flag takes the place of DeepSpeed's own key for the same thing too, which would contradict it. */
static void flags_take_the_place_of_deepspeeds_keys(void **state) {
  (void)state;
  char path[600];
  snprintf(path, sizeof path, "%s/twins.json", scratch);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs("{\"train_micro_batch_size_per_gpu\": 1, \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 0.001}},\n"
        " \"tensor_parallel\": {\"autotp_size\": 4, \"tp\": {\"tp_size\": 4}},\n"
        " \"pipeline\": {\"stages\": 4, \"partition\": \"parameters\", \"partition_method\": \"parameters\"},\n"
        " \"zero_optimization\": {\"stage\": 3, \"mics_shard_size\": 4}}\n",
        file);
  fclose(file);
  static const struct {
    const char *flags, *refused; /* NULL: taken */
  } cases[] = {{"--tp 2 --pp 2 --stages 2,2 --shard-size 2", NULL},
               {"--tp 2 --pp 2 --stages 2,2", NULL},
               {"--tp 2 --pp 2", NULL},
               {"--tp 2 --pp 4 --stages 1,1,1,1 --shard-size 2", NULL},
               {"--pp 2 --stages 1,3,1", "shardlab.stages"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const int code = shardlab(
        scratch, "show config --model gpt2-tiny --cluster dgx-h100 --world 32 --config twins.json %s", cases[i].flags);
    if (code != (cases[i].refused == NULL ? 0 : 2)) fail_msg("%s: %d: %s", cases[i].flags, code, err);
    if (cases[i].refused != NULL) assert_non_null(strstr(err, cases[i].refused));
  }
  unlink(path);
}

/* What a preset's name needs beside it: the size of its groups, for those that are about groups. */
static void preset_flags(const char *name, char *flags, size_t size) {
  const bool groups = strstr(name, "hybrid") != NULL || strcmp(name, "mics") == 0;
  char config[1024];
  snprintf(config, sizeof config, "--config %s/tests/bad_inputs/ok_hpz.json", SL_SOURCE_DIR);
  snprintf(flags, size, "--model gpt2-tiny --preset %s --world 3 %s", name,
           groups                        ? "--shard-size 3"
           : strcmp(name, "zero++") == 0 ? config
                                         : "");
}

/* A framework's name alone is a job, for each of the names that are listed. */
static void presets_need_no_config(void **state) {
  (void)state;
  assert_int_equal(shardlab(scratch, "show presets --json -"), 0);
  json_t *root = json_loads(out, 0, NULL), *preset;
  size_t i;
  json_array_foreach(json_object_get(root, "strategies"), i, preset) {
    const char *name = json_string_value(json_object_get(preset, "name"));
    char flags[2048];
    preset_flags(name, flags, sizeof flags);
    if (shardlab(scratch, "check %s", flags) != 0) fail_msg("%s: %s", name, err);
    assert_int_equal(shardlab(scratch, "show config %s --json -", flags), 0);
    json_t *config = json_loads(out, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(json_object_get(config, "shardlab"), "preset")), name);
    const json_t *zero = json_object_get(config, "zero_optimization");
    assert_int_equal(json_integer_value(json_object_get(zero, "stage")),
                     strncmp(name, "deepspeed-", 10) == 0 && name[10] < '4'     ? name[10] - '0'
                     : strcmp(name, "mics") == 0 || strcmp(name, "zero++") == 0 ? 3
                                                                                : 0);
    json_decref(config);
  }
  assert_true(i >= 21);
  json_decref(root);
  assert_int_equal(shardlab(scratch, "show config --model gpt2-tiny --preset ddp --train-batch 12 --world 3 --json -"),
                   0);
  root = json_loads(out, 0, NULL);
  assert_int_equal(json_integer_value(json_object_get(root, "train_micro_batch_size_per_gpu")), 4);
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

/* --- comparisons of records with planted differences --- */

/* A predicted record, and a measured one like it. */
static void make_pair(struct sl_json *predicted, struct sl_json *measured) {
  assert_int_equal(shardlab(scratch, "predict %s --no-fold --json -", job), 0);
  assert_int_equal(sl_json_parse(predicted, "p.json", out, strlen(out)), SL_OK);
  json_t *copy = json_loads(out, 0, NULL);
  assert_non_null(copy);
  json_object_set_new(copy, "kind", json_string("measured"));
  json_object_set_new(copy, "step_time_low_s", json_real(0.1));
  json_object_set_new(copy, "step_time_high_s", json_real(0.3));
  json_object_set_new(copy, "losses", json_pack("[f, f]", 5.5, 4.25));
  json_object_set_new(copy, "grad_norms", json_pack("[f, f]", 1.5, 1.25));
  json_object_set_new(copy, "skipped_steps", json_integer(0));
  char *text = json_dumps(copy, 0);
  assert_int_equal(sl_json_parse(measured, "m.json", text, strlen(text)), SL_OK);
  free(text);
  json_decref(copy);
  assert_int_equal(sl_record_check(predicted), SL_OK);
  assert_int_equal(sl_record_check(measured), SL_OK);
}

static json_t *deep(json_t *root, const char *a, const char *b) {
  return json_object_get(json_object_get(root, a), b);
}

/* How many rows fail when `measured` is as it is now. */
static int failed(const struct sl_json *predicted, const struct sl_json *measured, double time_tolerance) {
  struct sl_comparison comparison;
  assert_int_equal(sl_compare_records(&comparison, predicted, measured, time_tolerance), SL_OK);
  const int n = comparison.failed;
  sl_comparison_free(&comparison);
  return n;
}

static void add_to(json_t *object, const char *key, json_int_t more) {
  json_object_set_new(object, key, json_integer(json_integer_value(json_object_get(object, key)) + more));
}

static void planted_differences(void **state) {
  (void)state;
  struct sl_json p, m;
  make_pair(&p, &m);
  assert_int_equal(failed(&p, &m, 0.5), 0);
  json_t *device = deep(m.root, "memory", "device"), *row = json_array_get(json_object_get(m.root, "traffic"), 0);
  json_t *rank = json_array_get(json_object_get(m.root, "ranks"), 2);
  add_to(device, "peak_bytes", 256); /* one alignment unit of the arena */
  assert_int_equal(failed(&p, &m, 0.5), 1);
  add_to(device, "peak_bytes", -256);
  add_to(json_object_get(device, "by_phase"), "backward", 1);
  assert_int_equal(failed(&p, &m, 0.5), 1);
  add_to(json_object_get(device, "by_phase"), "backward", -1);
  add_to(device, "process_bytes", 47000000);
  assert_int_equal(failed(&p, &m, 0.5), 0);
  add_to(device, "process_bytes", 2000000); /* beyond 48 MB, and beyond 2 % of so small a run */
  assert_int_equal(failed(&p, &m, 0.5), 1);
  add_to(device, "process_bytes", -49000000);
  add_to(row, "calls", 1);
  assert_int_equal(failed(&p, &m, 0.5), 1);
  add_to(row, "calls", -1);
  json_object_set_new(rank, "call_hash", json_string("0123456789abcdef"));
  assert_int_equal(failed(&p, &m, 0.5), 1);
  json_object_set(rank, "call_hash", json_object_get(json_array_get(json_object_get(p.root, "ranks"), 2), "call_hash"));
  json_array_append_new(json_object_get(m.root, "traffic"),
                        json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:i}", "group", "dp", "op", "broadcast", "payload",
                                  "scalar", "dtype", "fp32", "calls", 1, "bytes", 4, "wire_bytes", 4));
  assert_int_equal(failed(&p, &m, 0.5), 3); /* calls, bytes and wire of a call that was not predicted */
  sl_json_free(&p);
  sl_json_free(&m);
}

static void times_are_judged_only_where_they_mean_something(void **state) {
  (void)state;
  struct sl_json p, m;
  make_pair(&p, &m);
  const double predicted = json_real_value(json_object_get(p.root, "step_time_s"));
  json_object_set_new(m.root, "step_time_s", json_real(predicted / 1.3));
  assert_int_equal(failed(&p, &m, 0.31), 0);
  assert_int_equal(failed(&p, &m, 0.29), 1);
  assert_int_equal(failed(&p, &m, -1), 0);
  json_object_set_new(m.root, "functional", json_true());
  assert_int_equal(failed(&p, &m, 0.29), 0);
  sl_json_free(&p);
  sl_json_free(&m);
}

static void records_of_different_plans(void **state) {
  (void)state;
  struct sl_json p, m;
  struct sl_comparison comparison;
  make_pair(&p, &m);
  json_object_set_new(json_object_get(m.root, "plan"), "zero_stage", json_integer(2));
  assert_int_equal(sl_compare_records(&comparison, &p, &m, -1), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "plan.zero_stage: is 2, but 1 in p.json"));
  sl_error_clear();
  sl_json_free(&p);
  sl_json_free(&m);
}

static void records_are_validated(void **state) {
  (void)state;
  struct sl_json p, m;
  make_pair(&p, &m);
  add_to(json_object_get(deep(m.root, "memory", "device"), "by_category"), "gradient", 8);
  assert_int_equal(sl_record_check(&m), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "memory.device.by_category: sums to"));
  sl_error_clear();
  json_object_del(m.root, "losses");
  assert_int_equal(sl_record_check(&m), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "losses: is absent; expected a list"));
  sl_error_clear();
  json_object_set_new(json_array_get(json_object_get(p.root, "traffic"), 1), "calls", json_string("three"));
  assert_int_equal(sl_record_check(&p), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "traffic[1].calls: is absent or of another type"));
  sl_error_clear();
  sl_json_free(&p);
  sl_json_free(&m);
}

/* A machine without a GPU: one line that says so, whatever the world, and no file; with one the test has nothing to ask. */
static void a_machine_without_a_gpu_says_so_once(void **state) {
  (void)state;
  static const char *const worlds[] = {"--world 1", "--world 2", "--as-rank 1 --of-world 2"};
  if (access("/dev/nvidia0", F_OK) == 0 || access("/dev/dxg", F_OK) == 0) skip();
  for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++) {
    assert_int_equal(shardlab(scratch,
                              "measure --model " SL_SOURCE_DIR
                              "/examples/mlp.json --backend cuda --preset ddp --data random:64 --json record.json %s",
                              worlds[i]),
                     1);
    assert_int_equal(lines_with(err, "\n"), 1);
    assert_non_null(strstr(err, "cuda"));
    assert_true(strstr(err, "no NVIDIA GPU") || strstr(err, "was not built"));
    assert_int_equal(files_in(scratch), 0);
  }
}

/* A plan for a GPU has no memory for what a CPU does to 16-bit factors. */
static void the_host_refuses_16_bit_products_of_a_gpu(void **state) {
  (void)state;
  static const char config[] = "ds_bf16.json";
  char path[4200];
  snprintf(path, sizeof path, "%s/%s", scratch, config);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs("{\"train_micro_batch_size_per_gpu\": 1, \"bf16\": {\"enabled\": true}, \"optimizer\": {\"type\": \"Adam\"}}",
        file);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(shardlab(scratch,
                            "measure --model gpt2-tiny --seq 7 --cluster h200x1 --config %s --data " SL_SOURCE_DIR
                            "/examples/corpus.txt",
                            config),
                   2);
  assert_int_equal(lines_with(err, "\n"), 1);
  if (!strstr(err, "localhost")) fail_msg("%s", err);
  unlink(path);
}

static void one_rank_alone_needs_its_world_and_a_gpu(void **state) {
  (void)state;
  static const char *const wrong[][2] = {{"--backend cuda --as-rank 1", "--of-world"},
                                         {"--backend cuda --of-world 4", "--as-rank"},
                                         {"--backend cuda --as-rank 4 --of-world 4", "below --of-world"},
                                         {"--backend cuda --as-rank 1 --of-world 4 --world 4", "--world"},
                                         {"--as-rank 1 --of-world 4", "--backend cuda"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_int_equal(
        shardlab(scratch, "measure --model " SL_SOURCE_DIR "/examples/mlp.json --preset ddp %s", wrong[i][0]), 2);
    assert_int_equal(lines_with(err, "\n"), 1);
    if (!strstr(err, wrong[i][1])) fail_msg("%s: %s", wrong[i][0], err);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_machine_without_a_gpu_says_so_once),
      cmocka_unit_test(one_rank_alone_needs_its_world_and_a_gpu),
      cmocka_unit_test(the_host_refuses_16_bit_products_of_a_gpu),
      cmocka_unit_test(broken_requests),
      cmocka_unit_test(help_and_version),
      cmocka_unit_test(calibrate_adds_to_its_own_machine),
      cmocka_unit_test(calibrate_asks_first),
      cmocka_unit_test(calibrated_predictions_carry_an_interval),
      cmocka_unit_test(a_full_disk_is_said),
      cmocka_unit_test(the_readme_shows_what_is_printed),
      cmocka_unit_test(too_large_to_measure),
      cmocka_unit_test(offload_is_predicted),
      cmocka_unit_test(predicted_record),
      cmocka_unit_test(a_large_world_is_summarised),
      cmocka_unit_test(json_on_standard_output),
      cmocka_unit_test(flags_override_the_config),
      cmocka_unit_test(flags_take_the_place_of_deepspeeds_keys),
      cmocka_unit_test(presets_need_no_config),
      cmocka_unit_test(planted_differences),
      cmocka_unit_test(times_are_judged_only_where_they_mean_something),
      cmocka_unit_test(records_of_different_plans),
      cmocka_unit_test(records_are_validated),
  };
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
