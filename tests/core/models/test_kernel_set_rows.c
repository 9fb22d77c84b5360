/* label: unit
 * Kernel sets, continued: Megatron-LM's products add to sums of either type, its loss is fused on demand, what losses
 * hold beside the logits, and transformers' GELU is many kernels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/check/rendezvous.h"
#include "core/plan/kernels.h"
#include "tests/support/job_fixture.h"

/* A small GPT-2: 3 layers, 4 heads of 16, inner width 96, 2 sequences of 32 tokens, vocabulary 80. */
enum { LAYERS = 3, HEADS = 4, HEAD = 16, INNER = 96, B = 2, T = 32, V = 80, C = HEADS * HEAD, R = B * T };

static int count_kind(const struct fixture *f, enum sl_op_kind kind) {
  const struct sl_program *p = fixture_step(f);
  int count = 0;
  for (size_t i = 0; i < p->op_count; i++) count += p->ops[i].kind == kind;
  return count;
}

/* Gradients kept in bf16 (--grad-reduce-in-bf16): since wgrad_gemm_accum_fp16 products add to those, too. */
static void products_add_to_bf16_sums(void **state) {
  (void)state;
  static const char *const kernels[] = {"megatron-fused", "megatron-core"};
  for (int i = 0; i < 2; i++) {
    struct fixture f;
    char config[512];
    snprintf(
        config, sizeof config,
        "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 2, \"bf16\": {\"enabled\": true}, "
        "\"communication_data_type\": \"bf16\", \"data_types\": {\"grad_accum_dtype\": \"bf16\"}, "
        "\"optimizer\": {\"type\": \"AdamW\"}, \"shardlab\": {\"kernels\": \"%s\", \"preset\": \"megatron-lm\", "
        "\"attention\": \"flash\"}}",
        kernels[i]);
    if (fixture_open(&f, SL_SOURCE_DIR "/tests/mpi/grid_llama.json", config, "dgx-a100-80g", 2, NULL) != SL_OK)
      fail_msg("%s", sl_error_message());
    if (sl_check(&f.job) != SL_OK) fail_msg("%s", sl_error_message());
    assert_int_equal(count_kind(&f, SL_OP_ADD), (i == 0 ? 4 * 4 + 1 : 0) + 4 * 2 + 1 + 1);
    fixture_close(&f);
  }
}

/* Bytes of the passes of a small GPT-2 with an activation and these keys of the section "shardlab". */
static int64_t bytes_with(const char *activation, const char *keys) {
  struct fixture f;
  char model[256], config[512];
  int64_t bytes = 0;
  snprintf(model, sizeof model,
           "{\"model_type\": \"gpt2\", \"n_layer\": %d, \"n_embd\": %d, \"n_head\": %d, \"n_inner\": %d, "
           "\"vocab_size\": %d, "
           "\"n_positions\": %d, \"activation_function\": \"%s\"}",
           LAYERS, C, HEADS, INNER, V, T, activation);
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 2, \"bf16\": {\"enabled\": true}, \"optimizer\": {\"type\": "
           "\"AdamW\"}, \"shardlab\": {\"attention\": \"flash\", %s}}",
           keys);
  if (fixture_open(&f, model, config, "dgx-a100-80g", 1, NULL) != SL_OK) fail_msg("%s", sl_error_message());
  const struct sl_program *p = fixture_step(&f);
  for (size_t i = 0; i < p->op_count; i++)
    bytes += p->ops[i].kind == SL_OP_PASS && p->ops[i].phase != SL_PHASE_STEP ? p->ops[i].dim[0] : 0;
  fixture_close(&f);
  return bytes;
}

/* gelu_new is written in Python, gelu is one kernel of torch. */
static void gelu_new_is_many_kernels(void **state) {
  (void)state;
  const char *keys = "\"kernels\": \"torch-eager\"";
  assert_int_equal(bytes_with("gelu_new", keys) - bytes_with("gelu", keys), LAYERS * (int64_t)R * INNER * (32 + 50));
}

/* The loss of Megatron-LM moves 48 bytes a logit beside ours, by its compiled functions 24. */
static void a_loss_is_fused_on_demand(void **state) {
  (void)state;
  const int64_t plain = bytes_with("gelu", "\"kernels\": \"megatron-core\""),
                fused = bytes_with("gelu", "\"kernels\": \"megatron-core\", \"cross_entropy_loss_fusion\": true");
  assert_int_equal(plain - fused, 24 * R * V);
}

/* Bytes a logit that a kernel set's loss has for itself while it runs. */
static int scratch_of_loss(const char *kernels, const char *keys) {
  struct fixture f;
  char config[512];
  int bytes = 0;
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 2, \"bf16\": {\"enabled\": true}, \"optimizer\": {\"type\": "
           "\"AdamW\"}, \"shardlab\": {\"seq_len\": 32, \"kernels\": \"%s\"%s}}",
           kernels, keys);
  if (fixture_open(&f, "gpt2-tiny", config, "dgx-a100-80g", 1, NULL) != SL_OK) fail_msg("%s", sl_error_message());
  const struct sl_program *p = fixture_step(&f);
  for (size_t i = 0; i < p->op_count; i++) {
    if (p->ops[i].kind != SL_OP_CLASSIFIER) continue;
    for (const struct sl_kernel_row *row = NULL;
         (row = sl_kernel_row(f.plan.config, &f.model, &p->ops[i], row)) != NULL;)
      bytes += row->scratch;
  }
  fixture_close(&f);
  return bytes;
}

/* A logit's bytes. Megatron-LM: an fp32 copy; compiled, two; under DeepSpeed's pipeline the fp32 logits of the two
 * micro-batches before, too. */
static void losses_hold_copies_of_the_logits(void **state) {
  (void)state;
  assert_int_equal(scratch_of_loss("megatron-fused", ""), 4);
  assert_int_equal(scratch_of_loss("megatron-core", ""), 4);
  assert_int_equal(scratch_of_loss("megatron-core", ", \"cross_entropy_loss_fusion\": true"), 4 + 4);
  assert_int_equal(scratch_of_loss("megatron-deepspeed", ""), 4 + 2 * 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_add_to_bf16_sums),
      cmocka_unit_test(gelu_new_is_many_kernels),
      cmocka_unit_test(a_loss_is_fused_on_demand),
      cmocka_unit_test(losses_hold_copies_of_the_logits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
