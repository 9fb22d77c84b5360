/* label: cli
 * What `measure` refuses before it trains: too large a model, a GPU that is not there, plans of a GPU, one rank
 * alone. */
#include "tests/support/cli_run.h"

/* 175 billion parameters in fp32: more than any machine that runs this test has. */
static void too_large_to_measure(void **state) {
  (void)state;
  assert_int_equal(shardlab(scratch, "measure --model gpt3-175b --preset ddp --world 4 --seq 8 --data " SL_SOURCE_DIR
                                     "/examples/corpus.txt --json r.json"),
                   2);
  if (strstr(err, "--world: 4 ranks of this model need 12.") == NULL ||
      strstr(err, " TiB of memory in all; expected at most the ") == NULL)
    fail_msg("%s", err);
  assert_int_equal(lines_with(err, "error: "), 1);
  assert_int_equal(files_in(scratch), 0);
}

/* A machine without a GPU: one line that says so, whatever the world, and no file; with one the test has nothing to
 * ask. */
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

/* Open MPI has 26 lines about a component that it does not find, and ends the process itself. */
static void an_mpi_that_does_not_start_is_one_line(void **state) {
  (void)state;
  static const char job[] =
      "measure --model gpt2-tiny --preset ddp --data " SL_SOURCE_DIR "/examples/corpus.txt --seq 8 --steps 1 --world 1";
  setenv("OMPI_MCA_btl", "nothing", 1);
  assert_int_equal(shardlab(scratch, job), 1);
  assert_string_equal(err, "shardlab: error: MPI does not start: A requested component was not found, or was unable to "
                           "be opened (Framework: btl, Component: nothing)\n");
  setenv("PMI_RANK", "0", 1); /* a rank of srun or MPICH's launcher, whose output nobody of ours reads */
  setenv("PMI_SIZE", "1", 1);
  assert_int_equal(shardlab(scratch, job), 1);
  assert_string_equal(err, "shardlab: error: MPI does not start: A requested component was not found, or was unable to "
                           "be opened (Framework: btl, Component: nothing)\n");
  unsetenv("PMI_RANK");
  unsetenv("PMI_SIZE");
  unsetenv("OMPI_MCA_btl");
}

/* The variable by which a launcher tells its ranks of a terminal is none of a user's. */
static void only_a_terminal_gets_a_line_that_overwrites_itself(void **state) {
  (void)state;
  setenv("SHARDLAB_TERMINAL", "1", 1);
  assert_int_equal(shardlab(scratch, "measure --model gpt2-tiny --preset ddp --data " SL_SOURCE_DIR
                                     "/examples/corpus.txt --seq 8 --steps 1 --world 1"),
                   0);
  assert_string_equal(err, "");
  unsetenv("SHARDLAB_TERMINAL");
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

/* A loss that is no number is said as such, with the step where it began, and is no success. */
static void a_lost_loss_is_a_failure(void **state) {
  (void)state;
  static const char job[] = "--model gpt2-tiny --config lost.json --seq 32 --steps 4 --data " SL_SOURCE_DIR
                            "/examples/corpus.txt --json r.json";
  char path[600];
  snprintf(path, sizeof path, "%s/lost.json", scratch);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs("{\"train_batch_size\": 2, \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 1e30}}}\n", file);
  fclose(file);
  for (int world = 1; world <= 2; world++) {
    assert_int_equal(shardlab(scratch, "measure %s --world %d", job, world), 1);
    if (strstr(out, "nan at step 4") == NULL || strstr(out, "loss of 3 steps, of step 2 first") == NULL)
      fail_msg("%s", out);
    if (strstr(err, "the loss is no finite number from step 2 on") == NULL) fail_msg("%s", err);
    assert_int_equal(lines_with(err, "error: "), 1);
    assert_int_equal(shardlab(scratch, "measure %s --world %d --allow-nonfinite --quiet", job, world), 0);
  }
  unlink(path);
  snprintf(path, sizeof path, "%s/r.json", scratch);
  unlink(path);
}

/* --detect-anomaly ends at the first op whose result is not finite, with one line, on any plan; what fp16 training
 * skips is none. */
static void the_first_number_that_is_not_finite_is_named(void **state) {
  (void)state;
  static const char *const plans[] = {"--world 1", "--world 2", "--world 4 --tp 2 --pp 2"};
  char path[600];
  snprintf(path, sizeof path, "%s/lost.json", scratch);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs("{\"train_batch_size\": 4, \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 1e30}}}\n", file);
  fclose(file);
  static const char job[] = "--model gpt2-tiny --seq 32 --steps 12 --data " SL_SOURCE_DIR
                            "/examples/corpus.txt --detect-anomaly --json r.json";
  for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
    assert_int_equal(shardlab(scratch, "measure %s --config lost.json %s", job, plans[i]), 1);
    const char *line = strstr(err, "shardlab: error: step 2, on rank ");
    if (line == NULL ||
        strstr(line, ": gemm of tensor h.0.attn.c_attn.weight in layer 0, action 0F0: element ") == NULL)
      fail_msg("%s", err);
    assert_int_equal(lines_with(err, "error: "), 1);
  }
  assert_int_equal(shardlab(scratch, "measure %s --config lost.json --poison", job), 2);
  write_file("lost.json",
             "{\"train_batch_size\": 4, \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 1e300}}}\n");
  assert_int_equal(shardlab(scratch, "measure %s --config lost.json", job), 1);
  if (strstr(err, "step 1, on rank 0: adamw, action 0STEP: element 0 of its ") == NULL) fail_msg("%s", err);
  file = fopen(path, "w");
  assert_non_null(file);
  fputs("{\"train_batch_size\": 4, \"fp16\": {\"enabled\": true, \"initial_scale_power\": 24}}\n", file);
  fclose(file);
  assert_int_equal(shardlab(scratch, "measure %s --config lost.json --world 2", job), 0);
  if (strstr(out, "steps, whose gradients overflowed") == NULL) fail_msg("%s", out);
  unlink(path);
  snprintf(path, sizeof path, "%s/r.json", scratch);
  unlink(path);
}

/* Of lines of JSON the bytes are trained on without a tokenizer: braces and names of keys among them. */
static void bytes_of_json_are_noticed(void **state) {
  (void)state;
  static const char line[] = "{\"text\": \"To be, or not to be, that is the question\"}\n";
  static const char job[] = "measure --model gpt2-tiny --zero-stage 0 --seq 16 --steps 1";
  if (!has_host()) skip();
  write_file("lines.jsonl", line), write_file("lines.txt", line);
  if (shardlab(scratch, "%s --data lines.jsonl", job) != 0) fail_msg("%s", err);
  assert_int_equal(lines_with(err, "--data: lines.jsonl: every byte is a token, those of the JSON, too"), 1);
  if (shardlab(scratch, "%s --data lines.txt --val-data lines.jsonl --eval-interval 1", job) != 0) fail_msg("%s", err);
  assert_int_equal(lines_with(err, "--val-data: lines.jsonl: every byte"), 1);
  assert_int_equal(lines_with(err, "every byte"), 1);
  char command[600];
  snprintf(command, sizeof command, "cd '%s' && rm lines.jsonl lines.txt", scratch);
  assert_int_equal(system(command), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(too_large_to_measure),
      cmocka_unit_test(bytes_of_json_are_noticed),
      cmocka_unit_test(a_machine_without_a_gpu_says_so_once),
      cmocka_unit_test(the_host_refuses_16_bit_products_of_a_gpu),
      cmocka_unit_test(an_mpi_that_does_not_start_is_one_line),
      cmocka_unit_test(only_a_terminal_gets_a_line_that_overwrites_itself),
      cmocka_unit_test(one_rank_alone_needs_its_world_and_a_gpu),
      cmocka_unit_test(a_lost_loss_is_a_failure),
      cmocka_unit_test(the_first_number_that_is_not_finite_is_named),
  };
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
