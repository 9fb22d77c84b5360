/* label: cli
 * Flags and presets from outside: a flag acts as if it stood in the file, and the name of a framework alone is a
 * job. */
#include <jansson.h>

#include "tests/support/cli_run.h"

static void read_all(const char *path, char *text, size_t size) {
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  const size_t n = fread(text, 1, size - 1, file);
  fclose(file);
  text[n] = '\0';
}

static void copy_file(const char *from, const char *to) {
  char text[8192];
  read_all(from, text, sizeof text);
  FILE *file = fopen(to, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static void assert_same_file(const char *a, const char *b) {
  char first[8192], second[8192];
  read_all(a, first, sizeof first);
  read_all(b, second, sizeof second);
  assert_string_equal(first, second);
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

/* Threads are a CPU's: what they need is in no GPU's memory, and none of its seconds. */
static void threads_change_no_gpu(void **state) {
  (void)state;
  static const struct {
    const char *cluster;
    bool same;
  } cases[] = {{"dgx-h100", true}, {"localhost", false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double seconds[2], bytes[2];
    for (int k = 0; k < 2; k++) {
      assert_int_equal(shardlab(scratch,
                                "predict --model gpt2-tiny --zero-stage 1 --world 1 --cluster %s --threads %d --json -",
                                cases[i].cluster, k == 0 ? 1 : 64),
                       0);
      json_t *root = json_loads(out, 0, NULL);
      seconds[k] = json_number_value(json_object_get(root, "step_time_s"));
      bytes[k] =
          json_number_value(json_object_get(json_object_get(json_object_get(root, "memory"), "device"), "peak_bytes"));
      json_decref(root);
      assert_true(seconds[k] > 0 && bytes[k] > 0);
    }
    assert_int_equal(seconds[0] == seconds[1] && bytes[0] == bytes[1], cases[i].same);
  }
}

/* A switch may be off, whatever the file says; what it may be else is said. */
static void switches_can_be_off(void **state) {
  (void)state;
  static const char job[] = "show config --model gpt2-tiny --world 4 --tp 2 --preset megatron-lm --json - ";
  static const struct {
    const char *flags;
    bool on;
  } cases[] = {{"--sequence-parallel", true}, {"--sequence-parallel=on", true}, {"--sequence-parallel=off", false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(shardlab(scratch,
                              "%s --config '{\"train_micro_batch_size_per_gpu\": 1, \"optimizer\": {\"type\": "
                              "\"AdamW\"}, \"shardlab\": {\"sequence_parallel\": true}}' %s",
                              job, cases[i].flags),
                     0);
    json_t *root = json_loads(out, 0, NULL);
    const json_t *value = json_object_get(json_object_get(root, "shardlab"), "sequence_parallel");
    assert_int_equal(json_is_true(value), cases[i].on);
    json_decref(root);
  }
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
               {"--pp 2 --stages 1,3,1", "--stages: has 3 entries"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const int code = shardlab(
        scratch, "show config --model gpt2-tiny --cluster dgx-h100 --world 32 --config twins.json %s", cases[i].flags);
    if (code != (cases[i].refused == NULL ? 0 : 2)) fail_msg("%s: %d: %s", cases[i].flags, code, err);
    if (cases[i].refused != NULL) assert_non_null(strstr(err, cases[i].refused));
    if (cases[i].refused == NULL) assert_non_null(strstr(out, "\"tp_vocab\": \"autotp\"")); /* of another degree */
  }
  assert_int_equal(shardlab(scratch,
                            "show config --model gpt2-tiny --cluster dgx-h100 --world 32 --config twins.json --tp 2 "
                            "--tp-vocab parallel --pp 2"),
                   0);
  assert_non_null(strstr(out, "\"tp_vocab\": \"parallel\""));
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

/* The built-in names are in one list, which a search for clusters is led to. */
static void presets_are_listed(void **state) {
  (void)state;
  assert_int_equal(shardlab(scratch, "show presets"), 0);
  assert_non_null(strstr(out, "\n  dgx-h100                       8 x H100-SXM5-80GB\n"));
  assert_non_null(strstr(out, "\n  gb200-nvl72                    4 x GB200-186GB\n"));
  assert_non_null(strstr(out, "\n  localhost                      this machine\n"));
  assert_int_equal(shardlab(scratch, "show clusters"), 2);
  assert_non_null(strstr(err, "the built-in clusters are in 'shardlab show presets'"));
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

static void remove_file(const char *name) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", scratch, name);
  unlink(path);
}

/* Who stops reading (`| head`) ends no command, and a stack that is too small is an error. */
static void streams_and_stacks_are_no_signals(void **state) {
  (void)state;
  char command[4096], path[600], code[64];
  snprintf(command, sizeof command,
           "cd '%s' && { sleep 0.1; '%s/bin/shardlab' help predict; echo $? >code; } | true; "
           "(ulimit -s 64; '%s/bin/shardlab' help predict >text 2>&1; echo $? >>code)",
           scratch, SL_BINARY_DIR, SL_BINARY_DIR);
  assert_int_equal(system(command), 0);
  snprintf(path, sizeof path, "%s/code", scratch);
  read_all(path, code, sizeof code);
  assert_string_equal(code, "0\n1\n");
  remove_file("code");
  remove_file("text");
}

/* A file that is written is none that is read, nor written under another flag: by inode, whatever it is called. */
static void outputs_are_files_of_their_own(void **state) {
  (void)state;
  char path[600], link_path[600];
  static const char ok[] = SL_SOURCE_DIR "/tests/bad_inputs/ok.json";
  snprintf(path, sizeof path, "%s/own.json", scratch);
  snprintf(link_path, sizeof link_path, "%s/link.json", scratch);
  static const struct {
    const char *flags, *refused; /* NULL: taken */
  } cases[] = {
      {"predict --config own.json --json own.json", "is the file that --config reads"},
      {"predict --config own.json --json ./link.json", "is the file that --config reads"},
      {"predict --config own.json --cluster own.json --trace own.json", "--trace: own.json"},
      {"predict --config own.json --json new.json --trace ./new.json", "is the file of --json, too"},
      {"measure --config own.json --data random:8 --save new --save-grads new", "is the file of --save, too"},
      {"predict --config own.json --hostfile hosts --world 2 --json hosts",
       "--json: hosts: is a file that is read, too"},
      {"predict --from-accelerate own.yaml --trace own.json", "--trace: own.json: is a file that is read, too"},
      {"predict --config own.json --json new.json --trace other.json", NULL},
  };
  write_file("hosts", "worker-0 slots=2\n");
  write_file("own.yaml", "distributed_type: DEEPSPEED\nnum_processes: 2\nmixed_precision: 'no'\n"
                         "deepspeed_config: {deepspeed_config_file: own.json, zero3_init_flag: false}\n");
  copy_file(ok, path);
  assert_int_equal(symlink("own.json", link_path), 0);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const int code = shardlab(scratch, "%s --model gpt2-tiny", cases[i].flags);
    if (code != (cases[i].refused == NULL ? 0 : 2)) fail_msg("%s: %d: %s", cases[i].flags, code, err);
    if (cases[i].refused != NULL && strstr(err, cases[i].refused) == NULL) fail_msg("%s: %s", cases[i].flags, err);
  }
  assert_same_file(ok, path);
  char command[4096], record[64];
  snprintf(command, sizeof command,
           "cd '%s' && '%s/bin/shardlab' predict --config own.json --model gpt2-tiny --quiet "
           "--json new.json <&- >&- 2>&-",
           scratch, SL_BINARY_DIR); /* no file of ours becomes a standard stream */
  assert_int_equal(system(command), 0);
  snprintf(path, sizeof path, "%s/new.json", scratch);
  read_all(path, record, sizeof record);
  assert_int_equal(record[0], '{');
  snprintf(path, sizeof path, "%s/own.json", scratch);
  unlink(path), unlink(link_path);
  remove_file("hosts"), remove_file("own.yaml");
  snprintf(path, sizeof path, "%s/new.json", scratch), unlink(path);
  snprintf(path, sizeof path, "%s/other.json", scratch), unlink(path);
}

/* A configuration from a pipe, as <(jq ...) makes one, is read once and used by all that a command predicts: the
 * combinations of a sweep and a search in children of their own, and what is tried where nothing fits. */
static void a_configuration_comes_from_a_pipe(void **state) {
  (void)state;
  static const struct {
    const char *flags, *says;
  } cases[] = {{"", "micro-batch 3 x 1"},
               {"--sweep grad-accum=11,12,13,14,15,16,17,18 --jobs 4 --model gpt2 --world 64 --tp 4 --pp 4",
                "8 fit, 0 do not, 0 are no plan"},
               {"--max-micro-batch", "largest micro-batch that fits: "},
               {"--micro-batch 128 --model gpt2", "  fits with  --micro-batch "}};
  write_file("piped.json", "# as DeepSpeed reads it\ntrain_micro_batch_size_per_gpu: 3\n");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const int status =
        shardlab(scratch,
                 "--version >/dev/null && rm -f pipe && mkfifo pipe && (cat piped.json >pipe &) && '%s/bin/shardlab' "
                 "predict --model gpt2-tiny --cluster dgx-h100 --config pipe %s",
                 SL_BINARY_DIR, cases[i].flags);
    if (status != 0 || strstr(out, cases[i].says) == NULL) fail_msg("%s: %s%s", cases[i].flags, out, err);
  }
  write_file("mlp.json", "{\"model_type\": \"mlp\", \"dims\": [8, 8]}");
  assert_int_equal(shardlab(scratch, "measure --model mlp.json --config pipe --world 2 --data random:100 --steps 1"),
                   2);
  assert_string_equal(err, "shardlab: error: --config: is pipe, and several processes read it; expected a file\n");
  assert_int_equal(shardlab(scratch, "--version >/dev/null; rm pipe; true"), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(outputs_are_files_of_their_own),
      cmocka_unit_test(streams_and_stacks_are_no_signals),
      cmocka_unit_test(flags_override_the_config),
      cmocka_unit_test(threads_change_no_gpu),
      cmocka_unit_test(switches_can_be_off),
      cmocka_unit_test(flags_take_the_place_of_deepspeeds_keys),
      cmocka_unit_test(presets_are_listed),
      cmocka_unit_test(presets_need_no_config),
      cmocka_unit_test(a_configuration_comes_from_a_pipe),
  };
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
