/* label: cli
 * What Accelerate's file would be read again as depends on the model, the devices and the number type of the plan that
 * is written; and warnings about what is made of a file are in its words. */
#include "tests/support/cli_run.h"

#define SAYS(zero, more) "\"zero_optimization\": {" zero "}, \"shardlab\": {" more "}"
#define OFF "\"overlap_comm\": false"
#define CORE "\"preset\": \"megatron-lm\", \"kernels\": \"megatron-core\""

/* gpt2-mini has 256 rows, which multiples of 64 and 128 leave as they are. */
static void another_plan_is_an_error(void **state) {
  (void)state;
  static const struct {
    const char *config, *cluster, *refused; /* NULL: it is written */
  } cases[] = {
      {"\"communication_data_type\": \"bf16\", " SAYS("\"stage\": 2", ""), "dgx-h100", NULL},
      {"\"communication_data_type\": \"fp32\", " SAYS("\"stage\": 2", ""), "dgx-h100",
       "communication_data_type: is fp32; expected bf16: with distributed_type DEEPSPEED it cannot be expressed"},
      {SAYS(OFF, CORE), "dgx-h100", NULL},
      {SAYS("", CORE), "dgx-h100", "zero_optimization.overlap_comm: is true; expected false: with distributed_type"},
      {SAYS(OFF, CORE ", \"make_vocab_size_divisible_by\": 64"), "dgx-h100", NULL},
      {SAYS(OFF, CORE ", \"make_vocab_size_divisible_by\": 96"), "dgx-h100",
       "shardlab.make_vocab_size_divisible_by: is 96; expected 128: with distributed_type MEGATRON_LM it cannot be"},
      {SAYS(OFF, CORE ", \"attention\": \"cudnn\""), "dgx-h100", NULL},
      {SAYS(OFF, CORE ", \"attention\": \"flash\""), "dgx-h100", "shardlab.attention: is flash; expected cudnn"},
      {SAYS(OFF, CORE ", \"attention\": \"flash\""), "dgx-a100-80g", NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char config[512];
    snprintf(config, sizeof config,
             "{\"train_micro_batch_size_per_gpu\": 1, \"optimizer\": {\"type\": \"AdamW\"}, \"bf16\": {\"enabled\": "
             "true}, %s}",
             cases[i].config);
    write_file("plan.json", config);
    const int code = shardlab(scratch,
                              "export-config --to accelerate --model gpt2-mini --config plan.json --seq 64 "
                              "--world 8 --cluster %s",
                              cases[i].cluster);
    if (cases[i].refused == NULL ? code != 0 : code == 0 || strstr(err, cases[i].refused) == NULL)
      fail_msg("%s: %d: %s", config, code, err);
    if (cases[i].refused != NULL) continue;
    assert_null(strstr(err, "communication_data_type"));
    assert_null(strstr(err, "make_vocab"));
    assert_null(strstr(err, "attention"));
  }
}

static void warnings_name_the_files_keys(void **state) {
  (void)state;
  static const struct {
    const char *file, *text, *flag, *says;
  } cases[] = {
      {"zero2.yaml",
       "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 2\n  offload_param_device: cpu\n"
       "mixed_precision: bf16\nnum_processes: 2\n",
       "--from-accelerate zero2.yaml --model gpt2-mini --micro-batch 1",
       "shardlab: warning: zero2.yaml:4:3: deepspeed_config.offload_param_device: has no effect: parameters are "},
      {"run.sh", "pretrain_gpt.py --micro-batch-size 1 --deepspeed \\\n  --partition-activations",
       "--from-megatron run.sh --model gpt2-mini --world 2",
       "shardlab: warning: run.sh:2: --partition-activations: has no effect: no activation is checkpointed "}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_file(cases[i].file, cases[i].text);
    assert_int_equal(shardlab(scratch, "predict --seq 64 --cluster dgx-h100 %s", cases[i].flag), 0);
    if (strstr(err, cases[i].says) == NULL) fail_msg("%s", err);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(another_plan_is_an_error),
                                     cmocka_unit_test(warnings_name_the_files_keys)};
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
