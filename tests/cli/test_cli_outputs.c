/* label: cli
 * Outputs, of whatever flag or key: nothing but a plain file is replaced, all are looked at before the first step, and
 * what standard output does not take is told. */
#include "tests/support/cli_run.h"

/* Runs a program of ours in scratch, as a shell writes it; returns its exit status and fills err. */
static int run(const char *words) {
  char command[4096];
  snprintf(command, sizeof command, "cd '%s' && '%s/bin/'%s 2>err </dev/null", scratch, SL_BINARY_DIR, words);
  const int state = system(command);
  slurp("err", err, sizeof err);
  assert_true(WIFEXITED(state));
  return WEXITSTATUS(state);
}

static void remove_file(const char *name) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", scratch, name);
  unlink(path);
}

static const char profiled[] = "{\"train_micro_batch_size_per_gpu\": 1,\n \"optimizer\": {\"type\": \"AdamW\", "
                               "\"params\": {\"lr\": 0.001}},\n \"flops_profiler\": {\"enabled\": true,\n"
                               "  \"output_file\": \"%s\"}}\n";

/* A configuration whose profile goes to `file`. */
static void write_config(const char *file) {
  char text[600];
  snprintf(text, sizeof text, profiled, file);
  write_file("ds.json", text);
}

static void pipes_stay_pipes(void **state) {
  (void)state;
  static const char says[] = "pipe: is not a plain file; expected a file to write\n";
  static const char *const commands[] = {
      "shardlab predict --model gpt2-tiny --preset fsdp --json pipe --quiet",
      "shardlab predict --model gpt2-tiny --config ds.json --quiet",
      "shardlab measure --model gpt2-tiny --config ds.json --data random:8 --quiet",
      "shardlab calibrate --quick --points pipe",
      "shardlab-analyze goodput record.json --mtbf-hours 1 --save-s 1 --write-s 1 --restart-s 1 --json pipe >out",
      "shardlab-analyze fit points.json --out pipe >out"};
  struct stat info;
  char pipe[600];
  snprintf(pipe, sizeof pipe, "%s/pipe", scratch);
  assert_int_equal(mkfifo(pipe, 0600), 0);
  write_config("pipe");
  write_file("record.json", "{\"step_time_s\": 0.1}");
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    const bool analyzes = strncmp(commands[i], "shardlab-", 9) == 0;
    if (analyzes && access(SL_BINARY_DIR "/bin/shardlab-analyze", X_OK) != 0) continue; /* GSL is absent */
    const int code = run(commands[i]);
    if (code != 2 || strstr(err, says) == NULL) fail_msg("%s: %d: %s", commands[i], code, err);
    if (stat(pipe, &info) != 0 || !S_ISFIFO(info.st_mode)) fail_msg("%s: replaced the pipe", commands[i]);
  }
  remove_file("pipe"), remove_file("ds.json"), remove_file("record.json"), remove_file("out");
  assert_int_equal(files_in(scratch), 0);
}

/* Of the flops profiler, and of a folder of checkpoints that is not there yet. */
static void all_are_looked_at_before_the_first_step(void **state) {
  (void)state;
  static const struct {
    const char *file, *flags, *says;
  } cases[] = {
      {"nowhere/profile", "", "ds.json:4:3: flops_profiler.output_file: nowhere/profile: its folder does not exist"},
      {"/proc/profile", "", "flops_profiler.output_file: /proc/profile: its folder cannot be written to"},
      {".", "", "flops_profiler.output_file: .: is not a plain file; expected a file to write"},
      {"one", "--json one", "flops_profiler.output_file: one: is the file of --json, too; expected another"},
      {"./one", "--trace one", "flops_profiler.output_file: ./one: is the file of --trace, too; expected another"},
      {"ds.json", "", "flops_profiler.output_file: ds.json: is a file that is read, too, as ds.json"},
      {"kept", "--checkpoint kept", "flops_profiler.output_file: kept: is the folder of --checkpoint, too"},
      {"", "--checkpoint zz --json zz", "--json: zz: is the folder of --checkpoint, too; expected another"},
      {"", "--checkpoint zz// --save ./zz", "--save: ./zz: is the folder of --checkpoint, too; expected another"},
      {"", "--checkpoint a/b/c --json a", "--json: a: is the folder of --checkpoint, too; expected another"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char words[512];
    write_config(cases[i].file);
    for (int measured = strstr(cases[i].flags, "--checkpoint") != NULL; measured < 2; measured++) {
      snprintf(words, sizeof words, "shardlab %s --model gpt2-tiny --config ds.json --quiet %s %s",
               measured ? "measure" : "predict", measured ? "--data random:8" : "", cases[i].flags);
      const int code = run(words);
      if (code != 2 || strstr(err, cases[i].says) == NULL) fail_msg("%s: %d: %s", words, code, err);
      if (files_in(scratch) != 1) fail_msg("%s: left something", words);
    }
  }
  write_config("nowhere/profile"); /* which these do not write */
  assert_int_equal(shardlab(scratch, "show plan --model gpt2-tiny --config ds.json"), 0);
  write_config("profile");
  assert_int_equal(shardlab(scratch, "predict --model gpt2-tiny --config ds.json --quiet --json one"), 0);
  assert_int_equal(files_in(scratch), 3);
  remove_file("ds.json"), remove_file("profile"), remove_file("one");
}

static void a_closed_standard_output_is_told(void **state) {
  (void)state;
  static const char *const commands[] = {"shardlab predict --model gpt2-tiny --preset fsdp --quiet --json - >&-",
                                         "shardlab predict --model gpt2-tiny --preset fsdp --json - >&-",
                                         "shardlab predict --model gpt2-tiny --preset fsdp >&-",
                                         "shardlab --version >&-"};
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    const int code = run(commands[i]);
    if (code != 1 || strstr(err, "error: standard output: Bad file descriptor\n") == NULL)
      fail_msg("%s: %d: %s", commands[i], code, err);
  }
  /* nothing is lost where nothing is written there */
  assert_int_equal(run("shardlab predict --model gpt2-tiny --preset fsdp --quiet --json whole >&-"), 0);
  remove_file("whole");
  assert_int_equal(files_in(scratch), 0);
}

/* Open MPI's mpirun crashes there: of what a pipe does not hold, the losses of many steps among them. */
static void a_reader_that_has_ended_is_told(void **state) {
  (void)state;
  char command[2048], code[16];
  if (!has_host()) skip();
  snprintf(command, sizeof command,
           "cd '%s' && { '%s/bin/shardlab' measure --model %s/examples/mlp.json --config %s/examples/ds_adam_mlp.json "
           "--data random:64 --steps 1500 --world 2 --quiet --json - 2>err; echo $? >code; } | head -c 1 >char",
           scratch, SL_BINARY_DIR, SL_SOURCE_DIR, SL_SOURCE_DIR);
  assert_int_equal(system(command), 0);
  slurp("err", err, sizeof err), slurp("code", code, sizeof code);
  if (strcmp(code, "1\n") != 0 || strstr(err, "signal") || !strstr(err, "error: standard output: Broken pipe\n"))
    fail_msg("%s: %s", code, err);
  remove_file("char");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pipes_stay_pipes), cmocka_unit_test(all_are_looked_at_before_the_first_step),
      cmocka_unit_test(a_closed_standard_output_is_told), cmocka_unit_test(a_reader_that_has_ended_is_told)};
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
