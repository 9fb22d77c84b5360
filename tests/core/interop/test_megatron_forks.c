/* label: unit
 * What Megatron-DeepSpeed adds to Megatron-LM's arguments; and a seed that only a shell could tell. */
#include "core/base/json_get.h"
#include "tests/core/interop/megatron_reading.h"

#include <stdlib.h>

/* Megatron-DeepSpeed's names of what DeepSpeed does. */
static void the_forks_arguments_are_deepspeeds(void **state) {
  (void)state;
  json_t *config, *model;
  read_as("--micro-batch-size 1 --deepspeed --no-pipeline-parallel --ds-sequence-parallel-size 4 "
          "--checkpoint-activations --partition-activations",
          &config, &model);
  assert_int_equal(integer(config, "shardlab.cp"), 4);
  assert_string_equal(json_string_value(sl_json_at(config, "shardlab.cp_comm_type")), "a2a");
  assert_true(json_is_true(sl_json_at(config, "activation_checkpointing.partition_activations")));
  json_decref(config);
  warns("--micro-batch-size 1 --deepspeed --partition-activations --lr 1", false, false, "");
  warns(NEEDED "--deepspeed --deepspeed_config ds.json", true, false,
        "run.sh: --zero-stage: is missing, so 1 is taken; the file of --deepspeed_config, which is not read, may say "
        "another\nrun.sh: no counterpart, so without effect: --deepspeed-config");
  warns(NEEDED "--deepspeed --deepspeed_config ds.json --zero-stage 0 --no-pipeline-parallel", true, false,
        "run.sh: no counterpart, so without effect: --deepspeed-config");
}

/* Megatron-DeepSpeed's zero bubbles: of one stage a rank, of which one alone has no bubble. */
static void the_forks_schedule_is_zb_h1(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"--pipeline-model-parallel-size 4 --enable-zbh1-pipeline", "zb-h1"},
      {"--enable-zbh1-exact-semantics --enable-zbh1-pipeline --pipeline-model-parallel-size 2", "zb-h1"},
      {"--enable-zbh1-pipeline --pipeline-model-parallel-size 1", NULL},
      {"--pipeline-model-parallel-size 4", NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[256];
    json_t *config, *model;
    snprintf(text, sizeof text, "--micro-batch-size 1 --deepspeed %s", cases[i][0]);
    read_as(text, &config, &model);
    const json_t *schedule = sl_json_at(config, "shardlab.schedule");
    assert_int_equal(schedule != NULL, cases[i][1] != NULL);
    if (schedule != NULL) assert_string_equal(json_string_value(schedule), cases[i][1]);
    assert_string_equal(warned, "");
    json_decref(config);
  }
  warns(NEEDED "--deepspeed --enable-zbh1-pipeline --enable-zbh1-exact-semantics", false, false, "");
  refuses(NEEDED "--enable-zbh1-pipeline", true, false,
          "run.sh:1: --enable-zbh1-pipeline: is given; expected none without --deepspeed");
  refuses(NEEDED "--deepspeed --enable-zbh1-exact-semantics", true, false,
          "run.sh:1: --enable-zbh1-exact-semantics: is given; expected --enable-zbh1-pipeline beside it, of which");
}

/* The blocks of each stage by DeepSpeed's own code (its partition_uniform and partition_balanced, commit edaa7221, run
 * on the layers of GPTModelPipe, BigScience's commit 8387ae17), less what is no block. */
static void the_forks_stages_are_deepspeeds(void **state) {
  (void)state;
  static const struct {
    int layers, pp;
    const char *rest, *stages; /* NULL: none are put */
  } cases[] = {
      {70, 12, "--bf16 --pp-partition-method 'type:transformer|embedding'", "[5,6,6,6,6,6,6,6,6,6,6,5]"},
      {70, 12, "--bf16 --pp-partition-method 'type:transformer'", "[6,6,6,6,6,6,6,6,6,6,5,5]"},
      {24, 4, "--fp16 --pp-partition-method 'TYPE:Transformer|EMBED:x'", "[6,7,6,5]"},
      {10, 4, "--bf16 --pp-partition-method 'type:float16|transformer'", "[2,3,3,2]"},
      {10, 4, "--pp-partition-method 'type:float16|transformer'", "[2,3,3,2]"},
      {24, 4, "--fp16 --pp-partition-method uniform", "[5,8,8,3]"},
      {25, 4, "--bf16 --pp-partition-method Uniform", "[5,8,8,4]"},
      {25, 4, "--pp-partition-method uniform", "[5,8,8,4]"},
      {24, 1, "--pp-partition-method type:none", NULL},
      {24, 4, "", NULL},
      {8, 4, "--pp-partition-method parameters", "[1,3,3,1]"},
      {8, 4, "--pp-partition-method parameters --vocab-size 300", "[2,2,2,2]"},
      {16, 4, "--bf16 --pp-partition-method parameters --vocab-size 300 --max-position-embeddings 1024", "[3,5,5,3]"},
      {16, 4,
       "--pp-partition-method parameters --vocab-size 300 --max-position-embeddings 1024 "
       "--tensor-model-parallel-size 4",
       "[1,7,7,1]"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[512];
    json_t *config, *model;
    snprintf(text, sizeof text, MODEL NEEDED "--deepspeed --num-layers %d --pipeline-model-parallel-size %d %s",
             cases[i].layers, cases[i].pp, cases[i].rest);
    read_as(text, &config, &model);
    const json_t *stages = sl_json_at(config, "shardlab.stages");
    char *got = stages != NULL ? json_dumps(stages, JSON_COMPACT) : NULL;
    if ((got == NULL) != (cases[i].stages == NULL) || (got != NULL && strcmp(got, cases[i].stages) != 0))
      fail_msg("%s: %s", text, got != NULL ? got : "none");
    assert_string_equal(warned, "");
    free(got);
    json_decref(config);
    json_decref(model);
  }
}

/* Divisions that stages of blocks cannot say, and what DeepSpeed does not have. */
static void the_forks_other_stages_are_refused(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"--pp-partition-method type:embedding", "'type:embedding'; expected a division with the embedding in the first"},
      {"--pp-partition-method type:float16", "'type:float16'; expected a division with the embedding in the first"},
      {"--pp-partition-method 'type:transformer|undo|norm'",
       "expected a division with the embedding in the first stage"},
      {"--num-layers 4 --pp-partition-method parameters --vocab-size 9999", "and a block in each, without which"},
      {"--pp-partition-method type:gpt", "expected a type among _to_float16, EmbeddingPipe, "},
      {"--pp-partition-method 'type:trans('", "expected behind type: a plain regular expression"},
      {"--pp-partition-method 'type:a\\d'", "expected behind type: a plain regular expression"},
      {"--pp-partition-method type:a*?", "expected behind type: a plain regular expression"},
      {"--pp-partition-method type:", "expected behind type: a plain regular expression"},
      {"--pp-partition-method profile", "is 'profile'; expected uniform, parameters or type: and a regular expression"},
      {"--pp-partition-method uniform --num-layers 3",
       "--num-layers: is '3'; expected at least 4, a block for each stage"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[512];
    snprintf(text, sizeof text, MODEL NEEDED "--deepspeed --bf16 --pipeline-model-parallel-size 4 %s", cases[i][0]);
    refuses(text, true, false, cases[i][1]);
  }
  refuses(NEEDED "--pp-partition-method uniform", true, false, "--pp-partition-method: is 'uniform'; expected none");
  struct sl_megatron_made made;
  const struct sl_megatron_source other = {.name = "run.sh",
                                           .text = MODEL NEEDED "--deepspeed --pipeline-model-parallel-size 4 "
                                                                "--pp-partition-method parameters",
                                           .is_script = true}; /* --model is another */
  assert_int_equal(read_as_asked(&other, &made), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "uniform or type:... beside --model: the parameters of another model are "
                                             "not counted"));
  sl_error_clear();
}

/* Of a fork's own program the arguments are read, if --model says what it trains. */
static void a_forks_program_needs_a_model(void **state) {
  (void)state;
  static const struct {
    const char *program, *refused, *refused_beside_model;
  } cases[] = {{"pretrain_gpt_alcf.py", NULL, NULL},
               {"tools/generate_samples_gpt.py", NULL, NULL},
               {"examples/pretrain_llama.py",
                "run.sh: runs pretrain_llama.py, whose model the arguments alone do not tell; "
                "expected pretrain_gpt.py, or --model",
                NULL},
               {"pretrain_t5_core.py",
                "run.sh: runs pretrain_t5_core.py, which is not modelled; expected pretrain_gpt.py",
                "run.sh: runs pretrain_t5_core.py, which is not modelled; expected pretrain_gpt.py"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[256];
    snprintf(text, sizeof text, "torchrun %s " MODEL NEEDED, cases[i].program);
    for (int beside = 0; beside < 2; beside++) {
      const struct sl_megatron_source source = {
          .name = "run.sh", .text = text, .is_script = true, .wants_model = beside == 0};
      const char *refused = beside ? cases[i].refused_beside_model : cases[i].refused;
      struct sl_megatron_made made;
      assert_int_equal(read_as_asked(&source, &made), refused != NULL ? SL_ERR_INPUT : SL_OK);
      assert_string_equal(sl_error_message(), refused != NULL ? refused : "");
      if (i == 2 && beside) assert_non_null(strstr(warned, "run.sh: runs pretrain_llama.py: its arguments are taken"));
      if (i == 1) assert_non_null(strstr(warned, "run.sh: runs generate_samples_gpt.py: its arguments are taken"));
      if (i == 0 || i == 3) assert_null(strstr(warned, "its arguments are taken"));
      sl_megatron_free(&made);
    }
  }
  sl_error_clear();
}

/* A seed of the shell's: an error where numbers are drawn, else Megatron-LM's default. */
static void a_shells_seed_is_not_needed(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool is_script;
    enum sl_megatron_seed seed;
    long long is; /* 0: refused */
    const char *says;
  } cases[] = {
      {NEEDED "--seed $RANDOM", true, SL_MEGATRON_SEED_NEEDED, 0, "run.sh:1: --seed: is '$RANDOM'; expected a whole"},
      {NEEDED "--seed $RANDOM", true, SL_MEGATRON_SEED_OVERRULED, 1234, ""},
      {"pretrain_gpt.py \\\n" NEEDED "--seed $3", true, SL_MEGATRON_SEED_IDLE, 1234,
       "run.sh:2: --seed: is '$3', which only a shell can tell, so 1234 is taken: nothing here depends on it"},
      {NEEDED "--seed 7", true, SL_MEGATRON_SEED_IDLE, 7, ""},
      {NEEDED "--seed many", true, SL_MEGATRON_SEED_IDLE, 0, "run.sh:1: --seed: is 'many'; expected a whole number"},
      {NEEDED "--seed $3", false, SL_MEGATRON_SEED_IDLE, 0, "--from-megatron: --seed: is '$3'; expected a whole"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct sl_megatron_source source = {.name = cases[i].is_script ? "run.sh" : "--from-megatron",
                                              .text = cases[i].text,
                                              .is_script = cases[i].is_script,
                                              .seed = cases[i].seed};
    struct sl_megatron_made made;
    const enum sl_status status = read_as_asked(&source, &made);
    assert_int_equal(status, cases[i].is > 0 ? SL_OK : SL_ERR_INPUT);
    if (status == SL_OK) assert_int_equal(integer(made.config, "shardlab.seed"), cases[i].is);
    if (strstr(status == SL_OK ? warned : sl_error_message(), cases[i].says) == NULL ||
        (status == SL_OK && strlen(warned) != strlen(cases[i].says)))
      fail_msg("%s: %s%s", cases[i].text, warned, sl_error_message());
    sl_megatron_free(&made);
  }
  sl_error_clear();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_forks_arguments_are_deepspeeds), cmocka_unit_test(the_forks_schedule_is_zb_h1),
      cmocka_unit_test(the_forks_stages_are_deepspeeds),    cmocka_unit_test(the_forks_other_stages_are_refused),
      cmocka_unit_test(a_forks_program_needs_a_model),      cmocka_unit_test(a_shells_seed_is_not_needed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
