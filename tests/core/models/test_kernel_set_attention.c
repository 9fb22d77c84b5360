/* label: unit
 * Attention of Llama 3 8B in the kernel sets: room for what our backward sums by parts, what selective recomputation
 * repeats, and what context parallelism gathers, repeats and exchanges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/op/operands.h"
#include "core/op/workspace.h"
#include "tests/support/job_fixture.h"

static int64_t scratch_of(const struct sl_program *p, const struct sl_op *op) {
  return p->slices[op->slice + sl_op_at(op, SL_AT_SCRATCH)].bytes;
}

static void open_flash(struct fixture *f, int world, const char *words) {
  char config[512];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 1, \"bf16\": {\"enabled\": true}, \"optimizer\": {\"type\": "
           "\"AdamW\"}, \"shardlab\": {\"attention\": \"flash\", \"seq_len\": 1024, %s}}",
           words);
  if (fixture_open(f, "llama3-8b", config, "dgx-a100-80g", world, NULL) != SL_OK) fail_msg("%s", sl_error_message());
}

/* The sums of the parts into which our kernel divides the query heads of a key head, which is ours and a GPU's. */
static void flash_backward_has_room_for_its_parts(void **state) {
  (void)state;
  const char *const kernels[] = {"\"kernels\": \"shardlab\"", "\"kernels\": \"torch-eager\""};
  for (int i = 0; i < 2; i++) {
    struct fixture f;
    open_flash(&f, 1, kernels[i]);
    const struct sl_program *p = fixture_step(&f);
    int found = 0;
    for (size_t k = 0; k < p->op_count; k++) {
      const struct sl_op *op = &p->ops[k];
      if (op->kind != SL_OP_FLASH_BWD) continue;
      assert_int_equal(sl_op_attention_parts(op->dim), 4);
      assert_int_equal(scratch_of(p, op),
                       i == 0 ? sl_op_attention_parts_bytes(op->dim) : sl_op_workspace(op, f.plan.threads));
      found++;
    }
    assert_int_equal(found, 32);
    fixture_close(&f);
  }
}

/* Ops of a kind whose first dimension is `size`; 0: all of the kind. */
static int count_of_size(const struct fixture *f, enum sl_op_kind kind, int64_t size) {
  const struct sl_program *p = fixture_step(f);
  int found = 0;
  for (size_t k = 0; k < p->op_count; k++) found += p->ops[k].kind == kind && (size == 0 || p->ops[k].dim[0] == size);
  return found;
}

/* Megatron-LM checkpoints what computes attention, whatever that is, unless other modules were chosen; our own kernels
 * have nothing to gain from it. */
static void selective_recomputation_repeats_flash_where_the_framework_does(void **state) {
  (void)state;
  static const struct {
    const char *words;
    int forwards;
  } cases[] = {{"\"kernels\": \"megatron-fused\", \"recompute\": \"selective\"", 64},
               {"\"kernels\": \"megatron-unfused\", \"recompute\": \"selective\"", 64},
               {"\"kernels\": \"megatron-fused\", \"recompute\": \"selective\", \"recompute_modules\": "
                "[\"layernorm\"]",
                32},
               {"\"kernels\": \"megatron-fused\"", 32},
               {"\"kernels\": \"shardlab\", \"recompute\": \"selective\"", 32}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    open_flash(&f, 1, cases[i].words);
    assert_int_equal(count_of_size(&f, SL_OP_FLASH_FWD, 0), cases[i].forwards);
    assert_int_equal(count_of_size(&f, SL_OP_FLASH_BWD, 0), 32);
    fixture_close(&f);
  }
}

/* Of 512 tokens a rank, 32 query heads and 8 key heads of 128: our kernels gather k and v as they are, torch's repeat
 * them for every query head first and merge the block of the other rank; exchanged heads are a half of all. */
static void context_parallelism_is_the_frameworks(void **state) {
  (void)state;
  enum { BLOCKS = 32, Q = 512 * 32 * 128, K = 512 * 8 * 128 };
  static const int64_t ring[] = {40, 20, 58, 84}; /* bytes a number of q: blocks and own, forward and backward */
  struct fixture f;
  open_flash(&f, 2, "\"cp\": 2, \"kernels\": \"shardlab\"");
  assert_int_equal(count_of_size(&f, SL_OP_ALL_GATHER, 2 * 2 * K), 2 * BLOCKS); /* again in the backward */
  assert_int_equal(count_of_size(&f, SL_OP_REDUCE_SCATTER, 2 * 2 * K), BLOCKS);
  assert_int_equal(count_of_size(&f, SL_OP_PASS, 0), 0);
  fixture_close(&f);
  open_flash(&f, 2, "\"cp\": 2, \"kernels\": \"torch-compile\"");
  assert_int_equal(count_of_size(&f, SL_OP_ALL_GATHER, 2 * 2 * Q), 2 * BLOCKS);
  assert_int_equal(count_of_size(&f, SL_OP_REDUCE_SCATTER, 2 * 2 * Q), BLOCKS);
  for (int i = 0; i < 4; i++) assert_int_equal(count_of_size(&f, SL_OP_PASS, ring[i] * Q), BLOCKS);
  assert_int_equal(count_of_size(&f, SL_OP_PASS, 2 * (Q + K)),
                   4 * BLOCKS); /* k and v repeated, their gradients summed */
  fixture_close(&f);
  open_flash(&f, 2, "\"cp\": 2, \"kernels\": \"shardlab\", \"cp_comm_type\": \"a2a\"");
  assert_int_equal(count_of_size(&f, SL_OP_ALL_TO_ALL, Q), 4 * BLOCKS); /* q and out, and their gradients */
  assert_int_equal(count_of_size(&f, SL_OP_ALL_TO_ALL, K), 4 * BLOCKS);
  for (size_t k = 0; k < fixture_step(&f)->op_count; k++) {
    const struct sl_op *op = &fixture_step(&f)->ops[k];
    if (op->kind == SL_OP_FLASH_FWD)
      assert_true(op->dim[1] == 1024 && op->dim[2] == 16 && op->dim[4] == 4 && sl_op_cp(op) == 1);
  }
  fixture_close(&f);
}

/* Without a word of the configuration: flash on GPUs, but Transformer Engine takes cuDNN's where it is faster. */
static void attention_is_the_frameworks_choice(void **state) {
  (void)state;
  const struct {
    const char *kernels, *said, *cluster;
    enum sl_attention attention;
  } cases[] = {{"megatron-core", "", "dgx-a100-80g", SL_ATTENTION_FLASH},
               {"megatron-core", "", "dgx-h100", SL_ATTENTION_CUDNN},
               {"megatron-core", "", "dgx-b200", SL_ATTENTION_CUDNN},
               {"megatron-core", "", "mi300x-8", SL_ATTENTION_FLASH},
               {"megatron-core", "", "localhost", SL_ATTENTION_MATERIALISED},
               {"megatron-core", ", \"attention\": \"flash\"", "dgx-h100", SL_ATTENTION_FLASH},
               {"megatron-fused", "", "dgx-h100", SL_ATTENTION_FLASH},
               {"shardlab", "", "dgx-h100", SL_ATTENTION_FLASH}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    char config[512];
    snprintf(config, sizeof config,
             "{\"train_micro_batch_size_per_gpu\": 1, \"bf16\": {\"enabled\": true}, \"optimizer\": {\"type\": "
             "\"AdamW\"}, \"shardlab\": {\"seq_len\": 64, \"kernels\": \"%s\"%s}}",
             cases[i].kernels, cases[i].said);
    if (fixture_open(&f, "gpt2", config, cases[i].cluster, 1, NULL) != SL_OK) fail_msg("%s", sl_error_message());
    assert_int_equal(f.plan.config->sl.attention, cases[i].attention);
    fixture_close(&f);
  }
}

/* Products of materialised attention are of the type of all others in PyTorch; our kernel has none in tf32. */
static void materialised_attention_obeys_tf32(void **state) {
  (void)state;
  static const struct {
    const char *words;
    enum sl_dtype type;
  } cases[] = {{"\"tf32\": true, \"kernels\": \"torch-eager\"", SL_TF32},
               {"\"tf32\": false, \"kernels\": \"torch-eager\"", SL_F32},
               {"\"tf32\": true, \"kernels\": \"shardlab\"", SL_F32}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    char config[256];
    int found = 0;
    snprintf(config, sizeof config,
             "{\"train_micro_batch_size_per_gpu\": 1, \"shardlab\": {\"attention\": \"materialised\", \"seq_len\": 64, "
             "%s}}",
             cases[i].words);
    if (fixture_open(&f, "gpt2", config, "dgx-a100-80g", 1, NULL) != SL_OK) fail_msg("%s", sl_error_message());
    const struct sl_program *p = fixture_step(&f);
    for (size_t k = 0; k < p->op_count; k++) {
      if (p->ops[k].kind != SL_OP_ATTENTION_FWD && p->ops[k].kind != SL_OP_ATTENTION_BWD) continue;
      assert_int_equal(p->ops[k].dtype, cases[i].type);
      found++;
    }
    assert_int_equal(found, 24);
    fixture_close(&f);
  }
}

/* DeepSpeed's host waits for every copy of a checkpointed input; ours run beside compute. */
static void copies_of_checkpoints_are_waited_for_where_the_framework_waits(void **state) {
  (void)state;
  static const char *const kernels[] = {"shardlab", "megatron-deepspeed"};
  for (int i = 0; i < 2; i++) {
    struct fixture f;
    char config[320];
    int found = 0;
    snprintf(config, sizeof config,
             "{\"train_micro_batch_size_per_gpu\": 1, \"bf16\": {\"enabled\": true}, \"activation_checkpointing\": "
             "{\"cpu_checkpointing\": true}, \"shardlab\": {\"recompute\": \"full\", \"seq_len\": 64, \"kernels\": "
             "\"%s\"}}",
             kernels[i]);
    if (fixture_open(&f, "gpt2", config, "dgx-a100-80g", 1, NULL) != SL_OK) fail_msg("%s", sl_error_message());
    const struct sl_program *p = fixture_step(&f);
    for (size_t k = 0; k < p->op_count; k++) {
      if (p->ops[k].lane != SL_LANE_D2H && p->ops[k].lane != SL_LANE_H2D) continue;
      assert_int_equal(p->ops[k].flags & SL_OP_BLOCKING, i == 0 ? 0 : SL_OP_BLOCKING);
      found++;
    }
    assert_int_equal(found, 24);
    fixture_close(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(flash_backward_has_room_for_its_parts),
      cmocka_unit_test(selective_recomputation_repeats_flash_where_the_framework_does),
      cmocka_unit_test(context_parallelism_is_the_frameworks),
      cmocka_unit_test(attention_is_the_frameworks_choice),
      cmocka_unit_test(materialised_attention_obeys_tf32),
      cmocka_unit_test(copies_of_checkpoints_are_waited_for_where_the_framework_waits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
