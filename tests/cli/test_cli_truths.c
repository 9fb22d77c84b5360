/* label: cli
 * What a command says holds, and harms nobody: warnings come once, rows of traffic can be told apart, the record has no
 * key that its preset does not read, no byte that a terminal acts on leaves raw, and too little address space is an
 * error. */
#include "tests/support/cli_run.h"

#include <jansson.h>

static void write_config(const char *text) {
  char path[600];
  snprintf(path, sizeof path, "%s/ds.json", scratch);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  assert_int_equal(fclose(file), 0);
}

/* validate reads the configuration three times, once of them in a process of its own. */
static void each_warning_once(void **state) {
  (void)state;
  if (access(SL_BINARY_DIR "/lib/libshardlab_host.so", R_OK) != 0) skip();
  write_config("{\"train_micro_batch_size_per_gpu\": 1, \"memory_breakdown\": true, \"no_such\": 1}");
  for (int world = 1; world <= 2; world++) {
    const int status = shardlab(scratch,
                                "validate --model gpt2-tiny --config ds.json --seq 16 --steps 2 --world %d --data "
                                "%s/examples/corpus.txt",
                                world, SL_SOURCE_DIR);
    assert_true(status == 0 || status == 1); /* a time out of tolerance is not the matter here */
    assert_int_equal(lines_with(err, "no_such: unknown key"), 1);
    assert_int_equal(lines_with(err, "no optimizer is given"), 1);
    assert_int_equal(lines_with(err, "memory_breakdown"), 1);
  }
}

/* Sequence parallelism under bf16 reduces fp32 statistics and 16-bit gradients in one group. */
static void rows_of_traffic_differ(void **state) {
  (void)state;
  char *line[64], *rest = out;
  int lines = 0;
  write_config("{\"train_micro_batch_size_per_gpu\": 1, \"bf16\": {\"enabled\": true}, \"shardlab\": {\"tp\": 2, "
               "\"sequence_parallel\": true}}");
  assert_int_equal(shardlab(scratch, "predict --model gpt2-tiny --config ds.json --world 4"), 0);
  for (char *at; (at = strsep(&rest, "\n")) != NULL;)
    if (strstr(at, "  traffic ") == at && lines < 64) line[lines++] = at;
  assert_true(lines > 4);
  for (int i = 0; i < lines; i++)
    for (int k = 0; k < i; k++) {
      const size_t a = strcspn(line[i], ":"), b = strcspn(line[k], ":");
      if (a == b && strncmp(line[i], line[k], a) == 0) fail_msg("twice: %s", line[i]);
    }
}

/* Which keys the record's configuration has under a preset. */
static void keys_of(const char *preset, const char *extra, bool *stage, bool *reuse, bool *limit) {
  char text[256];
  snprintf(text, sizeof text, "{\"train_micro_batch_size_per_gpu\": 1, \"shardlab\": {\"preset\": \"%s\"%s}}", preset,
           extra);
  write_config(text);
  assert_int_equal(shardlab(scratch, "predict --model gpt2-tiny --config ds.json --world 4 --json -"), 0);
  json_t *record = json_loads(out, 0, NULL);
  assert_non_null(record);
  const json_t *config = json_object_get(record, "config"), *zero = json_object_get(config, "zero_optimization");
  *stage = json_object_get(zero, "stage") != NULL;
  *reuse = json_object_get(zero, "stage3_max_reuse_distance") != NULL;
  *limit = json_object_get(json_object_get(config, "shardlab"), "limit_all_gathers") != NULL;
  assert_non_null(json_object_get(zero, "overlap_comm"));
  json_decref(record);
}

static void the_record_has_what_was_read(void **state) {
  (void)state;
  bool stage, reuse, limit;
  keys_of("fsdp", "", &stage, &reuse, &limit);
  assert_true(!stage && !reuse && limit);
  keys_of("ddp", "", &stage, &reuse, &limit);
  assert_true(!stage && !reuse && !limit);
  keys_of("deepspeed-0", "", &stage, &reuse, &limit);
  assert_true(stage && reuse && !limit);
  keys_of("ddp", ", \"limit_all_gathers\": false", &stage, &reuse, &limit);
  if (strstr(err, "shardlab.limit_all_gathers: is false, which has no effect: preset ddp") == NULL) fail_msg("%s", err);
}

/* The arena of a ZeRO-3 step that reduces in fp32, of so many micro-batches. */
static long long arena_of(int micro_batches) {
  char flags[256];
  write_file("c3.json",
             "{\"train_micro_batch_size_per_gpu\": 1, \"bf16\": {\"enabled\": true}, \"communication_data_type\": "
             "\"fp32\", \"optimizer\": {\"type\": \"AdamW\"}, \"zero_optimization\": {\"stage\": 3}}");
  snprintf(
      flags, sizeof flags,
      "predict --model llama3-8b --config c3.json --cluster dgx-a100-80g --world 8 --seq 2048 --grad-accum %d --quiet "
      "--json -",
      micro_batches);
  assert_int_equal(shardlab(scratch, flags), 0);
  json_t *record = json_loads(out, 0, NULL);
  assert_non_null(record);
  const json_t *device = json_object_get(json_object_get(record, "memory"), "device");
  const long long peak = json_integer_value(json_object_get(device, "peak_bytes"));
  json_decref(record);
  return peak;
}

/* Reduced gradients go on to their own type call by call, in the only backward of a step as in any. */
static void one_micro_batch_needs_no_more_than_two(void **state) {
  (void)state;
  const long long one = arena_of(1), two = arena_of(2);
  if (one > two) fail_msg("%lld bytes for one micro-batch, %lld for two", one, two);
}

/* A model of numbers has no sequences, attention or vocabulary. */
static void what_an_mlp_has_not_is_named(void **state) {
  (void)state;
#define MLP "predict --model " SL_SOURCE_DIR "/examples/mlp.json --config " SL_SOURCE_DIR "/examples/ds_adam_mlp.json"
  assert_int_equal(shardlab(scratch, MLP), 0);
  assert_null(strstr(err, "reads no sequences"));
  assert_int_equal(shardlab(scratch, MLP " --seq 64 --attention flash"), 0);
  if (strstr(err, "--seq: has no effect: the model reads no sequences") == NULL ||
      strstr(err, "--attention: has no effect: the model reads no sequences") == NULL)
    fail_msg("%s", err);
}

/* Bytes that a terminal would act on. */
static bool has_control(const char *text) {
  for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++)
    if ((*at < ' ' && *at != '\n' && *at != '\t') || *at == 0x7f || (*at == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f))
      return true;
  return false;
}

static void save(const char *name, const json_t *root) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", scratch, name);
  assert_int_equal(json_dump_file(root, path, 0), 0);
}

/* ESC, DEL and CSI (U+009B) in the names of a cluster, which are refused, and in the sources of its numbers and the keys
 * and texts of records. */
static void nothing_acts_on_a_terminal(void **state) {
  (void)state;
  static const char evil[] = "\033[31mX\177\302\2331mY";
  write_file("c.json", "{\"name\": \"\\u001b[31mX\\u007f\\u009b1mY\"}");
  assert_int_equal(shardlab(scratch, "show cluster --cluster c.json"), 2);
  assert_non_null(strstr(err, "expected text without control characters"));
  assert_false(has_control(out) || has_control(err));
  json_error_t error;
  json_t *cluster = json_pack_ex(&error, 0, "{s:s, s:{s:s, s:s, s:i, s:f, s:s, s:f, s:{s:f}}, s:[{s:f, s:f}]}", "name",
                                 "c", "device", "kind", "cpu", "name", "d", "cores", 2, "memory_GiB", 1.0,
                                 "memory_GiB_source", evil, "memory_bandwidth_GBps", 7.0, "peak_TFLOPS", "fp32", 0.1,
                                 "links", "bandwidth_GBps", 1.0, "latency_us", 2.0);
  if (cluster == NULL) fail_msg("%s", error.text);
  save("c.json", cluster);
  json_decref(cluster);
  assert_int_equal(shardlab(scratch, "show cluster --cluster c.json"), 0);
  assert_non_null(strstr(out, "X\\u007f\\u009b1mY"));
  assert_false(has_control(out) || has_control(err));
  assert_int_equal(shardlab(scratch, "predict --model gpt2-tiny --preset ddp --world 2 --cluster c.json --json -"), 0);
  assert_false(has_control(out) || has_control(err));
  json_t *record = json_loads(out, 0, NULL), *rank;
  size_t i;
  assert_non_null(record);
  json_object_set_new(json_object_get(record, "breakdown_s"), evil, json_real(0.1));
  json_array_foreach(json_object_get(record, "ranks"), i, rank)
      json_object_set_new(rank, "call_hash", json_string(evil));
  save("p.json", record);
  json_object_set_new(record, "kind", json_string("measured"));
  json_object_set_new(record, "step_time_low_s", json_real(0.1));
  json_object_set_new(record, "step_time_high_s", json_real(0.3));
  json_object_set_new(record, "losses", json_pack("[f]", 5.5));
  json_object_set_new(record, "grad_norms", json_pack("[f]", 1.5));
  json_object_set_new(record, "skipped_steps", json_integer(0));
  save("m.json", record);
  json_decref(record);
  const int status = shardlab(scratch, "compare p.json m.json");
  if (status > 1) fail_msg("%s", err);
  assert_non_null(strstr(out, "\\u001b[31mX\\u007f\\u009b1mY"));
  assert_false(has_control(out) || has_control(err));
}

/* ESC in the names of files that are read and written. */
static void names_of_files_do_not_either(void **state) {
  (void)state;
  write_file("\033[2J.csv", "0F0,0B0\n1F0,1B0\n");
  assert_int_equal(shardlab(scratch, "show schedule --pp 2 --schedule '\033[2J.csv'"), 0);
  assert_int_equal(strncmp(out, "\\u001b[2J.csv: 2 ranks", 22), 0);
  assert_false(has_control(out) || has_control(err));
  if (access(SL_BINARY_DIR "/lib/libshardlab_host.so", R_OK) != 0) return;
  assert_int_equal(shardlab(scratch,
                            "measure --model gpt2-tiny --preset ddp --seq 8 --steps 1 --quiet --data " SL_SOURCE_DIR
                            "/examples/corpus.txt --checkpoint '\033c'"),
                   0);
  static const char *const verbs[] = {"show", "verify", "export --out '\033e'"};
  for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
    assert_int_equal(shardlab(scratch, "checkpoint %.*s '\033c' %s", (int)strcspn(verbs[i], " "), verbs[i],
                              verbs[i] + strcspn(verbs[i], " ")),
                     0);
    assert_non_null(strstr(out, "\\u001bc/step-"));
    assert_false(has_control(out) || has_control(err));
  }
  assert_int_equal(shardlab(scratch, "tokenize " SL_SOURCE_DIR "/examples/corpus.txt --tokenizer " SL_SOURCE_DIR
                                     "/tests/golden/tokenizers/gpt2.json --out '\033t'"),
                   0);
  assert_int_equal(strncmp(out, "\\u001bt: ", 9), 0);
}

/* libgomp would complain in lines of its own, once a process, and go on without the variable. */
static void environment_of_openmp_is_read(void **state) {
  (void)state;
  static const char *const bad[][2] = {
      {"OMP_NUM_THREADS", "abc"}, {"OMP_NUM_THREADS", "-1"},       {"OMP_NUM_THREADS", "0"},
      {"OMP_NUM_THREADS", "4x"},  {"OMP_NUM_THREADS", "1,,2"},     {"OPENBLAS_NUM_THREADS", "abc"},
      {"OMP_SCHEDULE", "abc"},    {"OMP_PLACES", "{0:9999}"},      {"OMP_STACKSIZE", "\033[31m"},
      {"GOMP_CPU_AFFINITY", "x"}, {"OMP_STACKSIZE", "100000000G"}, {"GOMP_STACKSIZE", "90000g"}};
  static const char *const good[][2] = {{"OMP_SCHEDULE", "static,4"}, {"OMP_STACKSIZE", "4M"}, {"OMP_DYNAMIC", "true"}};
  static const char run[] =
      "measure --model gpt2-tiny --preset ddp --micro-batch 1 --steps 1 --quiet --seq 8 --data " SL_SOURCE_DIR
      "/examples/corpus.txt --world 2";
  if (access(SL_BINARY_DIR "/lib/libshardlab_host.so", R_OK) != 0) skip();
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char says[64];
    setenv(bad[i][0], bad[i][1], 1);
    assert_int_equal(shardlab(scratch, run), 2);
    assert_int_equal(lines_with(err, "\n"), 1);
    snprintf(says, sizeof says, "error: %s: is '", bad[i][0]);
    assert_non_null(strstr(err, says));
    assert_false(has_control(err));
    unsetenv(bad[i][0]);
  }
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    setenv(good[i][0], good[i][1], 1);
    assert_int_equal(shardlab(scratch, run), 0);
    assert_string_equal(err, "");
    unsetenv(good[i][0]);
  }
  setenv("OMP_SCHEDULE", "abc", 1); /* whatever the backend, as its module loads libgomp */
  if (access(SL_BINARY_DIR "/lib/libshardlab_cuda.so", R_OK) == 0) {
    assert_int_equal(shardlab(scratch, "%s --backend cuda", run), 2);
    assert_int_equal(lines_with(err, "\n"), 1);
    assert_non_null(strstr(err, "error: OMP_SCHEDULE: is 'abc'"));
  }
  unsetenv("OMP_SCHEDULE");
  setenv("OMP_DISPLAY_ENV", "true", 1); /* what was asked for is not lost */
  assert_int_equal(shardlab(scratch, "backends"), 0);
  assert_non_null(strstr(err, "_OPENMP = "));
  unsetenv("OMP_DISPLAY_ENV");
}

/* OpenBLAS would ask for its buffers without end: when it starts, and for each thread that calls it then. */
static void too_little_address_space_is_an_error(void **state) {
  (void)state;
  static const struct {
    int kib;
    const char *threads;
  } cases[] = {{60000, ""}, {180000, ""}, {300000, ""}, {490000, "OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1"}};
  char command[4096];
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  skip(); /* sanitizers map terabytes */
#endif
  if (access(SL_BINARY_DIR "/lib/libshardlab_host.so", R_OK) != 0) skip();
  write_config("{\"train_micro_batch_size_per_gpu\": 1, \"optimizer\": {\"type\": \"AdamW\"}}");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    snprintf(
        command, sizeof command,
        "cd '%s' && ulimit -v %d && %s timeout 20 '%s/bin/shardlab' measure --model gpt2-tiny --config ds.json --seq "
        "16 --steps 1 --threads 2 --data %s/examples/corpus.txt >out 2>err",
        scratch, cases[i].kib, cases[i].threads, SL_BINARY_DIR, SL_SOURCE_DIR);
    const int said = system(command);
    slurp("out", out, sizeof out);
    slurp("err", err, sizeof err);
    if (WEXITSTATUS(said) != 1 || strstr(err, "too little address space (ulimit -v, -d)") == NULL)
      fail_msg("%d KiB: status %d: %s", cases[i].kib, WEXITSTATUS(said), err);
    assert_int_equal(lines_with(err, "error: "), 1);
  }
}

/* What looks for the libraries loads them, too. */
static void backends_are_told_in_little_address_space(void **state) {
  (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  skip(); /* sanitizers map terabytes */
#endif
  char command[4096];
  snprintf(command, sizeof command, "cd '%s' && ulimit -v 150000 && timeout 20 '%s/bin/shardlab' backends >out 2>err",
           scratch, SL_BINARY_DIR);
  assert_int_equal(WEXITSTATUS(system(command)), 0);
  slurp("out", out, sizeof out);
  if (access(SL_BINARY_DIR "/lib/libshardlab_host.so", R_OK) != 0) skip();
  assert_int_equal(lines_with(out, "too little address space to load it (ulimit -v, -d)"), 2);
}

/* Where both go to one file, what was said before the error stands before it, and whole. */
static void the_error_is_the_last_line(void **state) {
  (void)state;
  shardlab(scratch, "predict --model gpt3-175b --preset ddp --cluster dgx2-v100 --require-fit >both 2>&1; cat both");
  const char *error = strstr(out, "\nshardlab: error: --require-fit: it does not fit");
  assert_non_null(error);
  assert_string_equal(strchr(error + 1, '\n'), "\n");
  assert_non_null(strstr(out, "does not fit: "));
  assert_true(strstr(out, "does not fit: ") < error);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_warning_once),
      cmocka_unit_test(the_error_is_the_last_line),
      cmocka_unit_test(rows_of_traffic_differ),
      cmocka_unit_test(the_record_has_what_was_read),
      cmocka_unit_test(one_micro_batch_needs_no_more_than_two),
      cmocka_unit_test(what_an_mlp_has_not_is_named),
      cmocka_unit_test(nothing_acts_on_a_terminal),
      cmocka_unit_test(names_of_files_do_not_either),
      cmocka_unit_test(environment_of_openmp_is_read),
      cmocka_unit_test(too_little_address_space_is_an_error),
      cmocka_unit_test(backends_are_told_in_little_address_space),
  };
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
