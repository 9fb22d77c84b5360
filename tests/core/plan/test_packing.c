/* label: unit
 * Products that a framework computes as one: each kernel set has its products of a block, with one parameter each; the
 * model that was asked for stays as it is. Where q, k and v are needed apart, they are. Passes beside rotary positions
 * and the bytes that these move are the same either way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/op/flops.h"
#include "tests/support/job_fixture.h"

enum { C = 64, HEADS = 4, HEAD = 16, INNER = 96, T = 32 };

static void open_job(struct fixture *f, const char *type, int key_heads, const char *kernels, const char *keys,
                     int world) {
  char model[512], config[512];
  snprintf(model, sizeof model,
           "{\"model_type\": \"%s\", \"num_hidden_layers\": 2, \"hidden_size\": %d, \"num_attention_heads\": %d, "
           "\"num_key_value_heads\": %d, \"head_dim\": %d, \"intermediate_size\": %d, \"vocab_size\": 64, "
           "\"max_position_embeddings\": %d, \"tie_word_embeddings\": false, \"rms_norm_eps\": 1e-5}",
           type, C, HEADS, key_heads, HEAD, INNER, T);
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 1, \"bf16\": {\"enabled\": true}, \"optimizer\": {\"type\": "
           "\"AdamW\"}, \"shardlab\": {\"attention\": \"flash\", \"kernels\": \"%s\"%s}}",
           kernels, keys);
  if (fixture_open(f, model, config, "dgx-a100-80g", world, NULL) != SL_OK) fail_msg("%s", sl_error_message());
}

/* The widths of the products of block 0 in the forward, in their order; returns how many there are. */
static int widths_of(const struct fixture *f, int64_t *widths, int most) {
  const struct sl_program *p = fixture_step(f);
  int count = 0;
  for (size_t i = 0; i < p->op_count; i++) {
    const struct sl_op *op = &p->ops[i];
    if (op->kind != SL_OP_GEMM || op->layer != 0 || op->phase != SL_PHASE_FORWARD) continue;
    assert_true(count < most);
    widths[count++] = op->dim[1];
  }
  return count;
}

static void products_are_those_of_the_framework(void **state) {
  (void)state;
  const char *const apart = "64 32 32 64 96 96 64", *const packed = "128 64 192 64";
  const struct {
    const char *kernels, *type, *keys;
    int key_heads, world;
    const char *widths;
  } cases[] = {{"shardlab", "llama", "", 2, 1, apart},
               {"torch-eager", "llama", "", 2, 1, apart},
               {"torch-compile-blocks", "llama", "", 2, 1, apart},
               {"llm-foundry", "llama", "", 2, 1, apart},
               {"megatron-core", "llama", "", 2, 1, packed},
               {"megatron-fused", "llama", "", 2, 1, packed},
               {"megatron-unfused", "llama", "", 2, 1, packed},
               {"megatron-deepspeed", "llama", "", 2, 1, packed},
               {"nanotron", "llama", "", 2, 1, packed},
               {"aleph-alpha-scaling", "llama", "", 2, 1, apart},
               {"aleph-alpha-scaling", "llama", "", 4, 1, "192 64 96 96 64"},
               {"megatron-core", "llama", ", \"tp\": 2", 2, 2, "64 64 96 64"},
               {"megatron-core", "qwen3", "", 2, 1, "64 32 32 64 192 64"}, /* norms of q and k */
               {"megatron-core", "llama", ", \"cp\": 2", 2, 2, packed},
               {"megatron-fused", "llama", ", \"cp\": 2", 2, 2, "64 32 32 64 192 64"}, /* keys are exchanged */
               {"megatron-core", "llama", ", \"tp\": 2", 1, 2, "32 16 16 64 96 64"}};  /* k and v on every rank */
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    int64_t widths[7];
    char text[64] = "";
    open_job(&f, cases[i].type, cases[i].key_heads, cases[i].kernels, cases[i].keys, cases[i].world);
    const int count = widths_of(&f, widths, 7);
    for (int k = 0, at = 0; k < count; k++)
      at += snprintf(text + at, sizeof text - (size_t)at, "%s%lld", k > 0 ? " " : "", (long long)widths[k]);
    assert_string_equal(text, cases[i].widths);
    const bool norms = f.model.form.qk_norm != SL_QK_NORM_NONE;
    assert_int_equal(f.plan.model->block_tensors, count + 2 + 2 * norms); /* norms beside the products */
    assert_int_equal(f.model.block_tensors, 9 + 2 * norms);
    assert_int_equal(sl_model_numel(f.plan.model), sl_model_numel(&f.model));
    fixture_close(&f);
  }
}

/* Bytes of rotary positions and of the passes beside them, and launches of these, in a step. */
struct rotary {
  double bytes, passes, launches;
};

static struct rotary rotary_of(const struct fixture *f) {
  const struct sl_program *p = fixture_step(f);
  struct rotary sum = {0};
  bool rotates = false;
  for (size_t i = 0; i < p->op_count; i++) {
    const struct sl_op *op = &p->ops[i];
    if (op->kind == SL_OP_ROPE) sum.bytes += sl_op_bytes(op, sl_op_slices(p, op));
    rotates = op->kind == SL_OP_ROPE || (rotates && op->kind == SL_OP_PASS);
    if (!rotates || op->kind != SL_OP_PASS) continue;
    sum.passes += (double)op->dim[0], sum.launches += (double)op->dim[1];
  }
  return sum;
}

/* Phi-3's own form is packed, Llama's is not; transformers rotates q and k of both one after the other. */
static void rotary_positions_move_the_same(void **state) {
  (void)state;
  struct fixture packed, apart;
  open_job(&packed, "phi3", 2, "torch-eager", "", 1);
  open_job(&apart, "llama", 2, "torch-eager", "", 1);
  const struct rotary a = rotary_of(&packed), b = rotary_of(&apart);
  assert_true(b.bytes > 0 && b.passes > 0);
  assert_true(a.bytes == b.bytes);
  assert_true(a.passes == b.passes);
  assert_true(a.launches == b.launches);
  fixture_close(&packed);
  fixture_close(&apart);
}

/* Megatron-LM's copies out of a packed row and back into it: rows of its kernel set without context parallelism, whose
 * exchange has them in the program. */
static void copies_are_counted_once(void **state) {
  (void)state;
  for (int cp = 1; cp <= 2; cp++) {
    struct fixture f;
    int splits = 0;
    open_job(&f, "llama", 2, "megatron-core", cp > 1 ? ", \"cp\": 2" : "", cp);
    const struct sl_program *p = fixture_step(&f);
    for (size_t i = 0; i < p->op_count; i++) splits += p->ops[i].kind == SL_OP_SPLIT_QKV;
    assert_int_equal(splits, cp > 1 ? 4 : 0); /* 2 layers, there and back */
    assert_true((rotary_of(&f).launches > 0) == (cp == 1));
    fixture_close(&f);
  }
}

/* Bytes of the passes behind gradients of SwiGLU, and their launches, in a step. */
static void sum_beside_swiglu(const struct fixture *f, int64_t *bytes, int64_t *launches) {
  const struct sl_program *p = fixture_step(f);
  bool beside = false;
  *bytes = *launches = 0;
  for (size_t i = 0; i < p->op_count; i++) {
    const struct sl_op *op = &p->ops[i];
    beside = op->kind == SL_OP_SWIGLU_BWD || (beside && op->kind == SL_OP_PASS);
    if (beside && op->kind == SL_OP_PASS) *bytes += op->dim[0], *launches += op->dim[1];
  }
}

/* Beside ours, gradients of both factors and of silu move 8 bytes more an element, in three kernels; where gate and up
 * are halves of one tensor, their gradients are joined by another kernel, 8 more. */
static void gradients_of_halves_are_joined(void **state) {
  (void)state;
  const char *const types[] = {"llama", "phi3"};
  for (int i = 0; i < 2; i++) {
    struct fixture f;
    int64_t bytes, launches;
    open_job(&f, types[i], 2, "torch-eager", "", 1);
    sum_beside_swiglu(&f, &bytes, &launches);
    assert_int_equal(bytes, 2 * (8 + 8 * i) * T * INNER); /* 2 layers */
    assert_int_equal(launches, 2 * (2 + i));
    fixture_close(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_are_those_of_the_framework), cmocka_unit_test(rotary_positions_move_the_same),
      cmocka_unit_test(copies_are_counted_once), cmocka_unit_test(gradients_of_halves_are_joined)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
