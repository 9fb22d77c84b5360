/* label: unit
 * Names and places of Megatron-LM's arguments: what is misspelt, what is refused by name, what a condition of a script
 * decides, and errors in the words of the script. */
#include "core/interop/reword.h"
#include "tests/core/interop/megatron_reading.h"

/* No name is dropped without a word. */
static void long_lists_are_counted(void **state) {
  (void)state;
  char text[8192] = NEEDED;
  for (int i = 0; i < 100; i++) {
    const size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, " --of-our-own-fork-of-it-%d", i + 100);
  }
  struct sl_megatron_made made;
  assert_int_equal(read_source(text, false, false, &made), SL_OK);
  assert_non_null(strstr(warned, " --of-our-own-fork-of-it-156, and 43 more"));
  assert_null(strstr(warned, "-157"));
  sl_megatron_free(&made);
}

/* Megatron-LM's parser refuses what it does not know. Here it is refused where it can be told what was meant, and
 * with --strict; a real argument is taken for no other. */
static void misspelt_names_are_refused(void **state) {
  (void)state;
#define NO(line, name) "run.sh:" line ": --" name ": is no argument of Megatron-LM's"
  static const char *const cases[][2] = {
      {NEEDED "\n--tensor-model-paralel-size 2",
       NO("2", "tensor-model-paralel-size") "; did you mean --tensor-model-parallel-size?"},
      {NEEDED "--tensor_parallel_size 2",
       NO("1", "tensor-parallel-size") "; did you mean --tensor-model-parallel-size?"},
      {NEEDED "--context-parallel 2", NO("1", "context-parallel") "; did you mean --context-parallel-size?"},
      {"\n--micro-batch-sise 1",
       NO("2", "micro-batch-sise") "; did you mean --micro-batch-size?"}, /* not: is missing */
      {NEEDED "--sav x", NO("1", "sav") "; did you mean --save?"},
      {NEEDED "--num-expert 8", NO("1", "num-expert") "; did you mean --num-experts?"},
      {NEEDED MODEL "--fn-hidden-size 8", NO("1", "fn-hidden-size") "; did you mean --ffn-hidden-size?"}};
  static const char *const taken[][2] = {
      {NEEDED "--sav x --save y", "run.sh: no counterpart, so without effect: --sav"},
      {NEEDED "--frobnicate", "run.sh: no counterpart, so without effect: --frobnicate"},
      {NEEDED "--eval-micro-batch-size 2", "run.sh: no counterpart, so without effect: --eval-micro-batch-size"},
      {"srun --nodes 2 --overlap x\n" NEEDED, "run.sh: no counterpart, so without effect: --nodes --overlap"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) refuses(cases[i][0], true, false, cases[i][1]);
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) warns(taken[i][0], true, false, taken[i][1]);
  refuses(NEEDED "\n\n--frobnicate", true, true, NO("3", "frobnicate"));
  refuses(NEEDED "--frobnicate", false, true, "--from-megatron: --frobnicate: is no argument of Megatron-LM's");
  warns(NEEDED "--no-rope-fusion --standalone --log-interval 9", true, true,
        "run.sh: no counterpart, so without effect: --no-rope-fusion --standalone");
}

/* What changes memory, computation or traffic is refused, but not Megatron-LM's own default. */
static void what_changes_something_is_refused(void **state) {
  (void)state;
#define PIPE NEEDED MODEL "--pipeline-model-parallel-size 2 "
#define PIECES PIPE "--num-layers-per-virtual-pipeline-stage 2 "
  static const char *const cases[][2] = {
      {NEEDED "--fp32-residual-connection", "--fp32-residual-connection: is given; expected none: it is not modelled"},
      {NEEDED "--exp-avg-dtype bf16", "--exp-avg-dtype: is 'bf16'; expected fp32: nothing else is modelled"},
      {NEEDED "--main-params-dtype fp16", "--main-params-dtype: is 'fp16'; expected fp32: nothing else is modelled"},
      {NEEDED "--bf16 --params-dtype fp16", "--params-dtype: is 'fp16'; expected none"},
      {NEEDED "--ddp-bucket-size 9", "--ddp-bucket-size: is '9'; expected none"},
      {NEEDED "--standalone-embedding-stage", "--standalone-embedding-stage: is given; expected none"},
      {NEEDED MODEL "--glu-activation geglu",
       "--glu-activation: is 'geglu'; expected swiglu: no other one is modelled"},
      {NEEDED MODEL "--attention-head-type multiple",
       "--attention-head-type: is 'multiple'; expected multihead or multiquery"},
      {NEEDED "--num-experts 1 --num-experts 4", "--num-experts: is '4'; expected 1: nothing else is modelled"},
      {PIECES "--no-overlap-p2p-communication",
       "--no-overlap-p2p-communication: is given; expected none beside several"},
      {PIECES "--microbatch-group-size-per-virtual-pipeline-stage 4",
       "stage: is '4'; expected --pipeline-model-parallel-size"},
      {NEEDED "--transformer-impl inference_optimized",
       "--transformer-impl: is 'inference_optimized'; expected local or"},
      {NEEDED "--transformer-impl locale", "--transformer-impl: is 'locale'; expected local or transformer_engine"},
      {NEEDED "--context-parallel-size 2 --cp-comm-type a2a p2p p2p",
       "--cp-comm-type: is 'a2a'; expected one type for"}};
  static const char *const taken[] = {NEEDED "--exp-avg-dtype fp32 --main-params-dtype fp32 --mtp-num-layers 0",
                                      NEEDED "--bf16 --params-dtype bf16",
                                      NEEDED "--params-dtype fp32",
                                      NEEDED "--num-experts 4 --num-experts 1",
                                      NEEDED "--cp-comm-type a2a p2p",
                                      PIPE "--no-overlap-p2p-communication",
                                      PIECES "--microbatch-group-size-per-virtual-pipeline-stage 2",
                                      NEEDED "--context-parallel-size 2 --cp-comm-type a2a a2a"};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    refuses(cases[i][0], false, false, cases[i][1]);
    refuses(cases[i][0], true, false, cases[i][1]);
  }
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) warns(taken[i], false, false, "");
  warns(NEEDED "--context-parallel-size 2 --cp-comm-type a2a\ncd p2p", true, false, ""); /* words of another command */
}

/* Where a condition decides what a value is, a warning has both lines. */
static void conditions_are_named(void **state) {
  (void)state;
#define USE "\nrun --micro-batch-size 1 --seq-length $N\n"
#define DOUBT(now, line, other, before)                                                                                \
  "run.sh: a condition decides, so the last value is taken: N is " now " as in line " line ", not " other              \
  " as in line " before
  static const char *const cases[][2] = {
      {"N=1\nN=2" USE, ""},
      {"N=1\n[[ -n \"$X\" ]] && N=2" USE, DOUBT("2", "2", "1", "1")},
      {"N=1\n[[ -n \"$X\" ]] &&\n  export N=2" USE, DOUBT("2", "3", "1", "1")},
      {"N=1\ntest $X || N=2" USE, DOUBT("2", "2", "1", "1")},
      {"N=1\ntest $X || { cd y; N=2; }" USE, DOUBT("2", "2", "1", "1")},
      {"N=1\nif test $X; then\n  N=2\nfi" USE, DOUBT("2", "3", "1", "1")},
      {"if test $X; then\n  N=2\nelse\n  N=3\nfi" USE, DOUBT("3", "4", "2", "2")},
      {"case $X in\n  a) N=2;;\n  b) N=3;;\nesac" USE, DOUBT("3", "3", "2", "2")},
      {"N=1\nif test $X; then\n  N=2\nfi\nN=3" USE, ""},
      {"N=2\nif test $X; then\n  N=2\nfi" USE, ""},
      {"N=1\nif test $X; then cd y; fi\necho \"if\" if; cd x && cd y; M=1\nN=2" USE, ""},
      {"if test $X; then\n  N=2\nfi" USE, ""},
      {"K=1\nif a; then K=2; fi\nrun --save $K --micro-batch-size 1", ""}, /* no matter */
      {"A=\"--seq-length 1\"\nif a; then A=\"$A --seq-length 2\"; fi\nrun --micro-batch-size 1 $A",
       "run.sh: a condition decides, so the last value is taken: --seq-length is 2 as in line 2, not 1 as in line 1"},
      {"N=1\nif a; then N=2; fi\nM=$((N * 4)) L=x$M\nrun --micro-batch-size $M", DOUBT("2", "2", "1", "1")}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) warns(cases[i][0], true, false, cases[i][1]);
}

/* Errors in what was made of the arguments, in the arguments' words. */
static void errors_name_the_arguments(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"run.sh: shardlab.tp: is 0; expected 1", "run.sh:2: --tensor-model-parallel-size: is 0; expected 1"},
      {"run.sh: n_head: is 5; expected a divisor of n_embd, which is 64. See n_head.",
       "run.sh:3: --num-attention-heads: is 5; expected a divisor of --hidden-size, which is 64. See "
       "--num-attention-heads."},
      {"run.sh: n_inner: is 0", "run.sh:4: --ffn-hidden-size: is 0"},
      {"run.sh: shardlab.seq_len: is missing", "run.sh: --seq-length: is missing"},
      {"run.sh: shardlab.virtual_stages: is 3", "run.sh:5: --num-layers-per-virtual-pipeline-stage: is 3"},
      {"run.sh: shardlab.stages: is 3", "run.sh: shardlab.stages: is 3"},
      {"other.sh: shardlab.tp: is 0", "other.sh: shardlab.tp: is 0"}};
  struct sl_megatron_made made;
  const enum sl_status status = read_source(NEEDED "\n--tensor-model-parallel-size 1\n" MODEL
                                                   "\n--ffn-hidden-size 96\n--num-layers-per-virtual-pipeline-stage 8",
                                            true, false, &made);
  if (status != SL_OK) fail_msg("%s", sl_error_message());
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    sl_fail(SL_ERR_INPUT, "%s", cases[i][0]);
    assert_int_equal(sl_interop_reword(SL_ERR_INPUT, "run.sh", made.names), SL_ERR_INPUT);
    assert_string_equal(sl_error_message(), cases[i][1]);
    sl_error_clear();
  }
  sl_megatron_free(&made);
}

/* Read of a script that `start` starts, the warnings are `says`. */
static void started(const char *start, const char *text, const char *says) {
  const struct sl_megatron_source source = {
      .name = "run.sh", .text = text, .is_script = true, .wants_model = true, .start = start};
  struct sl_megatron_made made;
  if (read_as_asked(&source, &made) != SL_OK) fail_msg("%s: %s", start, sl_error_message());
  if (strcmp(warned, says) != 0) fail_msg("%s: %s", start, warned);
  sl_megatron_free(&made);
}

/* Files and words that a script does not tell are named, with --strict refused; a value that nobody needs is not. */
static void what_comes_from_outside_is_named(void **state) {
  (void)state;
#define EMPTY "what nothing in the script tells is taken as empty, the environment is not looked at: "
  static const char *const cases[][2] = {
      {"pretrain_gpt.py --bf16 $PREC " NEEDED "$A ${B[@]} $(cat x) `cat y`",
       EMPTY "run.sh:1: $PREC; run.sh:1: $A; run.sh:1: ${B[@]}; run.sh:1: $(cat x); run.sh:1: `cat y`"},
      {"pretrain_gpt.py \\\n $MODEL \\\n" NEEDED, EMPTY "run.sh:2: $MODEL"},
      {"A=\"--bf16 $B\"\n$HERE/pretrain_gpt.py $A --lr=1 $C " NEEDED, EMPTY "run.sh:1: $B; run.sh:2: $C"},
      {"pretrain_gpt.py --bf16 \"$@\" $1 ${2} ${C:-} " NEEDED "--save $D --data-path $E $F", ""},
      {"source $A/none.sh\npretrain_gpt.py " NEEDED, "what these files set is missing, as they cannot be read here: "
                                                     "run.sh:1: source $A/none.sh (only a shell can tell "
                                                     "its path)"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) warns(cases[i][0], true, false, cases[i][1]);
  /* of a script that is started with words, "$@" in a function is not empty */
  static const char function[] = "main() {\npretrain_gpt.py " NEEDED "\"$@\" ${@:2}\n}\nmain \"$@\"";
  started("run.sh", function, "");
  started("run.sh --bf16", function, EMPTY "run.sh:2: $@; run.sh:2: ${@:2}");
  refuses(cases[0][0], true, true,
          "run.sh:1: $PREC: nothing in the script tells it, and the environment is not looked");
  refuses(cases[4][0], true, true, "run.sh:1: source $A/none.sh (only a shell can tell its path): cannot be read here");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_comes_from_outside_is_named),
                                     cmocka_unit_test(long_lists_are_counted),
                                     cmocka_unit_test(misspelt_names_are_refused),
                                     cmocka_unit_test(what_changes_something_is_refused),
                                     cmocka_unit_test(conditions_are_named),
                                     cmocka_unit_test(errors_name_the_arguments)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
