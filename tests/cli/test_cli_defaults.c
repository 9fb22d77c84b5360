/* label: cli
 * What a request leaves open: "auto" by the rules of transformers' Trainer, the number type of a preset without a file,
 * the kind of attention, the schedule of virtual stages, the cluster; and what a measured time says of the machine that
 * it was taken on. */
#include <jansson.h>

#include "tests/support/cli_run.h"

static json_t *predict(const char *flags) {
  if (shardlab(scratch, "predict --json - %s", flags) != 0) fail_msg("%s: %s", flags, err);
  json_t *root = json_loads(out, 0, NULL);
  assert_non_null(root);
  return root;
}

static const json_t *at(const json_t *root, const char *a, const char *b, const char *c) {
  const json_t *found = json_object_get(json_object_get(root, a), b);
  return c != NULL ? json_object_get(found, c) : found;
}

/* gpt2-mini is 256 wide: h^2 = 65536, 0.9 h^2 = 58982.4, 10 h = 2560. */
static void automatic_values_are_the_trainers(void **state) {
  (void)state;
  write_file("auto.json",
             "{\"train_batch_size\": \"auto\", \"train_micro_batch_size_per_gpu\": \"auto\", "
             "\"gradient_accumulation_steps\": \"auto\", \"gradient_clipping\": \"auto\", "
             "\"bf16\": {\"enabled\": \"auto\"}, \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": "
             "\"auto\", \"weight_decay\": \"auto\"}}, \"zero_optimization\": {\"stage\": 3, "
             "\"reduce_bucket_size\": \"auto\", \"stage3_prefetch_bucket_size\": \"auto\", "
             "\"stage3_param_persistence_threshold\": \"auto\"}}");
  json_t *record = predict("--model gpt2-mini --config auto.json --world 2 --grad-accum 3");
  const char *zero = "zero_optimization";
  assert_int_equal(json_integer_value(at(record, "config", zero, "reduce_bucket_size")), 65536);
  assert_int_equal(json_integer_value(at(record, "config", zero, "stage3_prefetch_bucket_size")), 58982);
  assert_int_equal(json_integer_value(at(record, "config", zero, "stage3_param_persistence_threshold")), 2560);
  assert_int_equal(json_integer_value(at(record, "plan", "micro_batch", NULL)), 8); /* per_device_train_batch_size */
  assert_int_equal(json_integer_value(at(record, "plan", "global_batch", NULL)), 2 * 3 * 8);
  assert_float_equal(json_number_value(at(record, "config", "gradient_clipping", NULL)), 1, 0);
  const json_t *params = at(record, "config", "optimizer", "params");
  assert_float_equal(json_number_value(json_object_get(params, "lr")), 5e-5, 1e-12);
  json_decref(record);
  assert_int_equal(lines_with(err, "what transformers' Trainer makes of it: "), 1);
  assert_non_null(strstr(err, "train_micro_batch_size_per_gpu 8"));
  assert_non_null(strstr(err, "zero_optimization.reduce_bucket_size 65536"));
  assert_null(strstr(err, "gradient_accumulation_steps")); /* the flag says that */
  record = predict("--model gpt2-mini --config auto.json --world 2 --dtype bf16 --train-batch 12");
  assert_true(json_is_true(at(record, "config", "bf16", "enabled")));
  assert_int_equal(json_integer_value(at(record, "plan", "micro_batch", NULL)), 6);
  json_decref(record);
}

static void number_types_are_chosen_and_said(void **state) {
  (void)state;
  static const struct {
    const char *flags, *understood, *warning;
  } cases[] = {{"--preset fsdp --cluster dgx-h100", "gpt2-tiny, bf16, ", "bf16 is taken"},
               {"--preset fsdp --cluster dgx2-v100", "gpt2-tiny, fp16, ", "fp16 is taken"},
               {"--preset fsdp --cluster dgx-h100 --dtype fp32", "gpt2-tiny, fp32, ", NULL},
               {"--preset fsdp", "gpt2-tiny, fp32, ", NULL},
               {"--preset fsdp --dtype bf16", "gpt2-tiny, bf16, ", NULL},
               {"--zero-stage 3 --cluster dgx-h100 --world 2", "gpt2-tiny, bf16, ", "bf16 is taken"},
               {"--micro-batch 2", "gpt2-tiny, fp32, ", NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(shardlab(scratch, "predict --model gpt2-tiny %s", cases[i].flags), 0);
    if (strncmp(out, cases[i].understood, strlen(cases[i].understood)) != 0) fail_msg("%s: %s", cases[i].flags, out);
    if ((strstr(err, "is taken") != NULL) != (cases[i].warning != NULL)) fail_msg("%s: %s", cases[i].flags, err);
    if (cases[i].warning != NULL) assert_non_null(strstr(err, cases[i].warning));
  }
}

/* Of each setting: the first line with it, and nothing of it without; and what an mfu is a share of. */
static void the_first_line_names_what_changes_the_answer(void **state) {
  (void)state;
  static const struct {
    const char *settings, *flags, *says, *peak;
  } cases[] = {
      {"{}", "--kernels torch-compile --dtype bf16", "gpt2-tiny, bf16, seq ", NULL},
      {"{\"fp8\": true}", "--kernels torch-compile --dtype bf16", "gpt2-tiny, bf16 with fp8 products (tensorwise), ",
       " of the fp8 peak"},
      {"{\"fp8\": true, \"fp8_recipe\": \"rowwise\"}", "--kernels torch-compile --dtype bf16",
       " with fp8 products (rowwise), ", " of the fp8 peak"},
      {"{\"fp8\": true}", "--dtype bf16", " with fp8 products (delayed scaling), ", " of the fp8 peak"},
      {"{\"tf32\": true}", "--dtype fp32", "gpt2-tiny, fp32 with tf32 products, ", " of the tf32 peak"},
      {"{}", "--dtype fp32", "gpt2-tiny, fp32, seq ", " of the fp32 peak"},
      {"{\"async_tp\": true}", "--kernels torch-compile --dtype bf16 --sequence-parallel",
       ", tp 2 with sequence parallelism, async_tp, ", NULL},
      {"{\"no_sync\": true}", "--kernels torch-compile --dtype bf16 --grad-accum 2", "fsdp2, no_sync on 4 x ", NULL},
      {"{\"no_sync\": true}", "--kernels torch-compile --dtype bf16", "fsdp2 on 4 x ", NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[256];
    snprintf(text, sizeof text, "{\"train_micro_batch_size_per_gpu\": 2, \"shardlab\": %s}", cases[i].settings);
    write_file("said.json", text);
    if (shardlab(scratch,
                 "predict --model gpt2-tiny --preset fsdp2 --cluster dgx-h100 --world 4 --tp 2 --config said.json %s",
                 cases[i].flags) != 0)
      fail_msg("%s", err);
    const char *end = strchr(out, '\n'), *said = strstr(out, cases[i].says), *mfu = strstr(out, " % of the ");
    if (said == NULL || said > end) fail_msg("%s: %s", cases[i].says, out);
    assert_non_null(strstr(out, ", mfu "));
    if (cases[i].peak == NULL ? mfu != NULL
                              : mfu == NULL || strncmp(mfu + 2, cases[i].peak, strlen(cases[i].peak)) != 0)
      fail_msg("%s: %s", cases[i].says, out);
  }
}

static void attention_goes_by_the_device(void **state) {
  (void)state;
  assert_int_equal(shardlab(scratch, "predict --model gpt2-tiny --preset ddp"), 0);
  assert_non_null(strstr(out, ", materialised attention, "));
  assert_non_null(strstr(out, " of this machine, cluster localhost, as no --cluster is given\n"));
  assert_int_equal(shardlab(scratch, "predict --model gpt2-tiny --preset ddp --cluster dgx-h100"), 0);
  assert_non_null(strstr(out, ", flash, "));
  assert_null(strstr(out, "as no --cluster is given"));
}

/* On every built-in GPU, of long sequences. */
static void flash_is_the_faster_one(void **state) {
  (void)state;
  static const char *const clusters[] = {"dgx2-v100", "dgx-a100-40g", "dgx-a100-80g", "dgx-h100",    "dgx-h200",
                                         "dgx-b200",  "gb200-nvl72",  "mi300x-8",     "h100-pcie-8", "a100-pcie-8",
                                         "dgx1-v100", "dgx-b300",     "gb300-nvl72"};
  for (size_t i = 0; i < sizeof clusters / sizeof *clusters; i++) {
    double seconds[2];
    for (int flash = 0; flash < 2; flash++) {
      char flags[256];
      snprintf(flags, sizeof flags, "--model gpt2 --preset ddp --cluster %s --quiet --attention %s", clusters[i],
               flash ? "flash" : "materialised");
      json_t *record = predict(flags);
      seconds[flash] = json_real_value(json_object_get(record, "step_time_s"));
      json_decref(record);
    }
    if (!(seconds[1] < seconds[0])) fail_msg("%s: flash %g s, else %g s", clusters[i], seconds[1], seconds[0]);
  }
}

static void virtual_stages_are_interleaved(void **state) {
  (void)state;
  json_t *record = predict("--model gpt2 --preset megatron-distributed-optimizer --world 2 --pp 2 --virtual-stages 2 "
                           "--grad-accum 4");
  assert_string_equal(json_string_value(at(record, "plan", "schedule", NULL)), "interleaved");
  json_decref(record);
}

static const char job[] =
    "--model gpt2-tiny --preset ddp --seq 16 --steps 2 --data " SL_SOURCE_DIR "/examples/corpus.txt";

static void processes_of_torchrun_are_refused(void **state) {
  (void)state;
  setenv("RANK", "1", 1);
  setenv("WORLD_SIZE", "2", 1);
  const int status = shardlab(scratch, "measure %s --world 2", job);
  unsetenv("RANK");
  unsetenv("WORLD_SIZE");
  assert_int_equal(status, 2);
  assert_non_null(
      strstr(err, "shardlab: error: RANK: is 1 of WORLD_SIZE 2, as torchrun sets them; expected mpirun or srun"));
}

/* In the script of a job Slurm has set the tasks of the job, and what the script starts is none of them. */
static void the_script_of_a_job_is_no_rank(void **state) {
  (void)state;
  if (!has_host()) skip();
  setenv("SLURM_PROCID", "0", 1);
  setenv("SLURM_NTASKS", "2", 1);
  const int of_script = shardlab(scratch, "measure %s --world 2 --quiet", job);
  if (of_script != 0) fail_msg("%s", err);
  setenv("SLURM_STEP_ID", "0", 1); /* a task of srun, whose other one is missing here */
  const int of_step = shardlab(scratch, "measure %s --world 2 --quiet", job);
  unsetenv("SLURM_PROCID"), unsetenv("SLURM_NTASKS"), unsetenv("SLURM_STEP_ID");
  assert_int_equal(of_step, 2);
  if (!strstr(err, "the plan has 2 ranks, but MPI started 1")) fail_msg("%s", err);
}

/* mpirun binds two ranks to a core each: together they have two. */
static void ranks_that_mpirun_binds_share_nothing(void **state) {
  (void)state;
  char command[2048];
  if (!has_host() || sysconf(_SC_NPROCESSORS_ONLN) < 2) skip();
  snprintf(command, sizeof command,
           "cd '%s' && timeout 100 mpirun --allow-run-as-root -np 2 '%s/bin/shardlab' measure %s --world 2 --quiet "
           "--json r.json >out 2>err",
           scratch, SL_BINARY_DIR, job);
  if (system(command) != 0) {
    slurp("err", err, sizeof err);
    fail_msg("%s", err);
  }
  slurp("r.json", out, sizeof out);
  json_t *record = json_loads(out, 0, NULL);
  assert_true(json_is_false(json_object_get(record, "functional")));
  assert_true(json_is_number(at(record, "environment", "load_average", NULL)));
  json_decref(record);
  unlink("out");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(automatic_values_are_the_trainers),
      cmocka_unit_test(number_types_are_chosen_and_said),
      cmocka_unit_test(the_first_line_names_what_changes_the_answer),
      cmocka_unit_test(attention_goes_by_the_device),
      cmocka_unit_test(flash_is_the_faster_one),
      cmocka_unit_test(virtual_stages_are_interleaved),
      cmocka_unit_test(processes_of_torchrun_are_refused),
      cmocka_unit_test(the_script_of_a_job_is_no_rank),
      cmocka_unit_test(ranks_that_mpirun_binds_share_nothing),
  };
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
