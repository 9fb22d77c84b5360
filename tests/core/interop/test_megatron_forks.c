/* label: unit
 * What Megatron-DeepSpeed adds to Megatron-LM's arguments; and a seed that only a shell could tell. */
#include "tests/core/interop/megatron_reading.h"

/* Megatron-DeepSpeed's names of what DeepSpeed does. */
static void the_forks_arguments_are_deepspeeds(void **state) {
  (void)state;
  json_t *config, *model;
  read_as("--micro-batch-size 1 --deepspeed --no-pipeline-parallel --ds-sequence-parallel-size 4 "
          "--checkpoint-activations --partition-activations",
          &config, &model);
  assert_int_equal(integer(config, "shardlab.cp"), 4);
  assert_string_equal(json_string_value(sl_interop_get(config, "shardlab.cp_comm_type")), "a2a");
  assert_true(json_is_true(sl_interop_get(config, "activation_checkpointing.partition_activations")));
  json_decref(config);
  warns("--micro-batch-size 1 --deepspeed --partition-activations --lr 1", false, false, "");
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
    const json_t *schedule = sl_interop_get(config, "shardlab.schedule");
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
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_forks_arguments_are_deepspeeds),
                                     cmocka_unit_test(the_forks_schedule_is_zb_h1),
                                     cmocka_unit_test(a_shells_seed_is_not_needed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
