/* label: unit torch.autocast: what a block keeps for its backward against PyTorch's own count
 * (tests/golden/make_saved.py), to the byte; and by hand: which casts there are, how long those of weights live, and
 * in which types gradients are summed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <jansson.h>

#include "core/op/operands.h"
#include "core/program/memory_report.h"
#include "tests/core/models/small_llama.h"

enum { T = 24, R = B * T };

/* The same job as small_llama_open's, in fp32 under torch.autocast. */
static void open_job(struct fixture *f, int world, int micros, const char *keys) {
  char config[512];
  snprintf(
      config, sizeof config,
      "{\"train_micro_batch_size_per_gpu\": %d, \"gradient_accumulation_steps\": %d, \"torch_autocast\": {\"enabled\": "
      "true, \"dtype\": \"bfloat16\"}, \"optimizer\": {\"type\": \"AdamW\"}, \"shardlab\": {\"attention\": \"flash\", "
      "\"seq_len\": %d%s}}",
      B, micros, T, keys);
  if (fixture_open(f, SL_SOURCE_DIR "/tests/core/models/small_llama.json", config, "dgx-h100", world, NULL) != SL_OK ||
      sl_check(&f->job) != SL_OK)
    fail_msg("%s: %s", keys, sl_error_message());
}

static const struct sl_buffer *buffer_at(const struct fixture *f, const struct sl_op *op, enum sl_at name) {
  return &f->job.classes[0].buffers[sl_op_operand(op, sl_op_slices(fixture_step(f), op), name)->buffer];
}

/* ---- against PyTorch ---- */

static int64_t number(const json_t *doc, const char *key) {
  return json_integer_value(json_object_get(doc, key));
}

/* Activations at the forward's end: `layers` of them, of whatever ends. */
static int64_t activations(const json_t *shape, const char *family, int layers) {
  struct fixture f;
  char model[512];
  const bool gpt2 = strcmp(family, "gpt2") == 0;
  snprintf(
      model, sizeof model,
      gpt2 ? "{\"model_type\": \"gpt2\", \"n_layer\": %d, \"n_embd\": %lld, \"n_head\": %lld, \"n_inner\": %lld, "
             "\"vocab_size\": 61, \"n_positions\": %lld, \"resid_pdrop\": 0, \"embd_pdrop\": 0, \"attn_pdrop\": 0}"
           : "{\"model_type\": \"llama\", \"num_hidden_layers\": %d, \"hidden_size\": %lld, \"num_attention_heads\": "
             "%lld, \"intermediate_size\": %lld, \"vocab_size\": 61, \"max_position_embeddings\": %lld}",
      layers, (long long)number(shape, "width"), (long long)number(shape, "heads"), (long long)number(shape, "inner"),
      (long long)number(shape, "seq"));
  const char *config = "{\"train_micro_batch_size_per_gpu\": 2, \"torch_autocast\": {\"enabled\": true, \"dtype\": "
                       "\"bf16\"}, \"optimizer\": {\"type\": \"AdamW\"}, \"shardlab\": {\"attention\": \"flash\", "
                       "\"kernels\": \"torch-eager\"}}";
  if (fixture_open(&f, model, config, "dgx-h100", 1, NULL) != SL_OK) fail_msg("%s", sl_error_message());
  const struct sl_class *c = &f.job.classes[0];
  const struct sl_program *p = fixture_step(&f);
  int64_t bytes = 0;
  bool *kept = calloc(c->buffer_count, sizeof *kept);
  assert_non_null(kept);
  for (size_t i = 0; i < p->op_count; i++) /* what the forward writes and the backward reads */
    for (int k = 0; k < p->ops[i].slice_count; k++) {
      const struct sl_slice *s = &sl_op_slices(p, &p->ops[i])[k];
      const bool written = p->ops[i].phase == SL_PHASE_FORWARD && s->access != SL_READ;
      const bool activation = c->buffers[s->buffer].category == SL_CATEGORY_ACTIVATION;
      if (activation && written) kept[s->buffer] = true;
      if (!activation || p->ops[i].phase != SL_PHASE_BACKWARD || s->access != SL_READ || !kept[s->buffer]) continue;
      bytes += c->buffers[s->buffer].bytes;
      kept[s->buffer] = false;
    }
  free(kept);
  fixture_close(&f);
  return bytes;
}

static void a_block_keeps_what_pytorch_keeps(void **state) {
  static const char *const families[] = {"llama", "gpt2"};
  (void)state;
  json_t *doc = json_load_file(SL_SOURCE_DIR "/tests/golden/autocast_saved.json", 0, NULL);
  assert_non_null(doc);
  assert_int_equal(number(doc, "batch"), 2);
  for (int i = 0; i < 2; i++) {
    const int64_t a_block = activations(doc, families[i], 3) - activations(doc, families[i], 2);
    if (a_block != number(doc, families[i]))
      fail_msg("%s: a block keeps %lld bytes, PyTorch's %lld", families[i], (long long)a_block,
               (long long)number(doc, families[i]));
  }
  json_decref(doc);
}

/* ---- casts ---- */

struct casts {
  int weights, forward, backward, passes; /* of parameters; of activations; written beside by compiled kernels */
  int64_t weight_elements;
};

static struct casts casts_of(const char *keys, int micros) {
  struct fixture f;
  struct casts n = {0, 0, 0, 0, 0};
  open_job(&f, 1, micros, keys);
  const struct sl_program *p = fixture_step(&f);
  for (size_t i = 0; i < p->op_count; i++) {
    const struct sl_op *op = &p->ops[i];
    n.passes += op->kind == SL_OP_PASS && op->phase == SL_PHASE_BACKWARD && op->dim[1] == 0 && op->flags & SL_OP_KEEPS;
    if (op->kind != SL_OP_COPY) continue;
    const struct sl_buffer *from = buffer_at(&f, op, SL_AT_X), *to = buffer_at(&f, op, SL_AT_OUT);
    if (from->category == SL_CATEGORY_PARAMETER) {
      assert_int_equal(to->dtype, SL_BF16);
      n.weights++;
      n.weight_elements += op->dim[0];
    } else if (from->category == SL_CATEGORY_ACTIVATION) {
      assert_int_not_equal(from->dtype, to->dtype);
      *(op->phase == SL_PHASE_FORWARD ? &n.forward : &n.backward) += 1;
    }
  }
  fixture_close(&f);
  return n;
}

/* A block has seven weights, the head one; the embedding is looked up in fp32. The ops of a micro-batch stand for
 * all. */
static void weights_are_cast_once_a_region(void **state) {
  (void)state;
  const struct casts plain = casts_of("", 1), twice = casts_of("", 2), again = casts_of(", \"recompute\": \"full\"", 1);
  assert_int_equal(plain.weights, 7 * LAYERS + 1);
  assert_int_equal(plain.weight_elements, (int64_t)LAYERS * WEIGHTS + V * C);
  assert_int_equal(twice.weights, plain.weights);
  /* a block's last product is not repeated, but the cast of its weight is gone, too */
  assert_int_equal(again.weights, 2 * 7 * LAYERS + 1);
}

/* Ours: two norms and two branches a block, and the last norm. Eager PyTorch: each of five products casts the norm's
 * output, the sums of the stream read 16 bits; backward each of these casts its gradient. Compiled: none but
 * gradients beside. */
static void kernel_sets_cast_where_their_frameworks_do(void **state) {
  (void)state;
  const struct casts own = casts_of("", 1), eager = casts_of(", \"kernels\": \"torch-eager\"", 1),
                     compiled = casts_of(", \"kernels\": \"torch-compile\"", 1);
  assert_int_equal(own.forward, 4 * LAYERS + 1);
  assert_int_equal(own.backward, 4 * LAYERS + 1);
  assert_int_equal(own.passes, 0);
  assert_int_equal(eager.forward, 5 * LAYERS + 1);
  assert_int_equal(eager.backward, 7 * LAYERS + 1);
  assert_int_equal(compiled.forward, 0);
  assert_int_equal(compiled.backward, 0);
  assert_int_equal(compiled.passes, 2 * LAYERS);
}

/* The cache of an eager region holds what no backward reads until the loss is computed. */
static void the_cache_ends_with_the_region(void **state) {
  static const struct {
    const char *keys;
    int held;
  } cases[] = {{", \"kernels\": \"torch-eager\"", 0},
               {", \"kernels\": \"torch-eager\", \"recompute\": \"full\"", 7 * LAYERS},
               {", \"kernels\": \"torch-compile\", \"recompute\": \"full\"", 0},
               {", \"recompute\": \"full\"", 0}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    int held = 0;
    bool behind_loss = false;
    open_job(&f, 1, 1, cases[i].keys);
    const struct sl_program *p = fixture_step(&f);
    for (size_t k = 0; k < p->op_count; k++) {
      const struct sl_op *op = &p->ops[k];
      behind_loss |= op->kind == SL_OP_CLASSIFIER;
      if (op->kind != SL_OP_PASS || op->phase != SL_PHASE_FORWARD || !(op->flags & SL_OP_READS_KEPT)) continue;
      assert_true(behind_loss);
      assert_string_equal(sl_op_name(op->kind), "pass");
      held++;
    }
    assert_int_equal(held, cases[i].held);
    fixture_close(&f);
  }
}

/* ---- types ---- */

static void ops_have_their_lists_types(void **state) {
  struct fixture f;
  (void)state;
  open_job(&f, 1, 1, "");
  const struct sl_program *p = fixture_step(&f);
  for (size_t i = 0; i < p->op_count; i++) {
    const struct sl_op *op = &p->ops[i];
    const bool narrow = op->kind == SL_OP_GEMM || op->kind == SL_OP_FLASH_FWD || op->kind == SL_OP_ROPE ||
                        op->kind == SL_OP_SWIGLU_FWD || op->kind == SL_OP_CLASSIFIER;
    const bool wide = op->kind == SL_OP_RMSNORM_FWD || op->kind == SL_OP_RESIDUAL_FWD || op->kind == SL_OP_EMBED_FWD;
    if (narrow) assert_int_equal(op->dtype, SL_BF16);
    if (wide) assert_int_equal(op->dtype, SL_F32);
  }
  fixture_close(&f);
}

/* DDP reduces 4 bytes a parameter, whatever products compute. */
static void gradients_are_reduced_in_fp32(void **state) {
  static const char *const presets[] = {"ddp", "accelerate-ddp", "zero-redundancy-optimizer"};
  (void)state;
  for (int i = 0; i < 3; i++) {
    struct fixture f;
    char keys[128];
    int64_t bytes = 0;
    snprintf(keys, sizeof keys, ", \"preset\": \"%s\", \"kernels\": \"torch-eager\"", presets[i]);
    open_job(&f, 4, 2, keys);
    const struct sl_program *p = fixture_step(&f);
    for (size_t k = 0; k < p->op_count; k++) {
      if (p->ops[k].kind != SL_OP_ALL_REDUCE || p->ops[k].phase != SL_PHASE_BACKWARD) continue;
      assert_int_equal(p->ops[k].dtype, SL_F32);
      bytes += 4 * p->ops[k].dim[0];
    }
    assert_true(bytes >= 4 * (int64_t)f.plan.pp_ranks[0].numel);
    fixture_close(&f);
  }
}

/* From the second micro-batch on autograd adds to a gradient what it has cast before. */
static void later_gradients_are_cast_then_added(void **state) {
  struct fixture f;
  int mixed = 0, wide = 0;
  (void)state;
  open_job(&f, 1, 2, ", \"kernels\": \"torch-eager\"");
  const struct sl_program *p = fixture_step(&f);
  for (size_t i = 0; i < p->op_count; i++) {
    const struct sl_op *op = &p->ops[i];
    if (op->kind != SL_OP_ADD || buffer_at(&f, op, SL_AT_OUT)->category != SL_CATEGORY_GRADIENT) continue;
    *(buffer_at(&f, op, SL_AT_X)->dtype == SL_F32 ? &wide : &mixed) += 1;
  }
  assert_int_equal(mixed, 0);
  assert_true(wide >= 7 * LAYERS + 1);
  fixture_close(&f);
}

/* ---- what is refused ---- */

static void other_strategies_refuse(void **state) {
  static const struct {
    const char *text, *says;
    int world;
  } cases[] = {
      {"\"shardlab\": {\"preset\": \"fsdp\"}", "preset fsdp: expected ddp, accelerate-ddp, zero-redundancy-optimizer",
       2},
      {"\"shardlab\": {\"preset\": \"deepspeed-0\"}", "preset deepspeed-0: expected ddp", 1},
      {"\"zero_optimization\": {\"stage\": 2}", "is true on 2 ranks without a preset, which are DeepSpeed's", 2},
      {"\"bf16\": {\"enabled\": true}", "is true beside bf16.enabled; expected one of them", 1},
      {"\"shardlab\": {\"pp\": 2}", "is true beside tp 1, pp 2, cp 1; expected data parallelism alone", 2},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    char config[512];
    snprintf(
        config, sizeof config,
        "{\"train_micro_batch_size_per_gpu\": 2, \"torch_autocast\": {\"enabled\": true}, \"optimizer\": {\"type\": "
        "\"AdamW\"}, %s}",
        cases[i].text);
    const enum sl_status status =
        fixture_open(&f, SL_SOURCE_DIR "/tests/core/models/small_llama.json", config, "dgx-h100", cases[i].world, NULL);
    assert_int_equal(status, SL_ERR_INPUT);
    if (strstr(sl_error_message(), cases[i].says) == NULL) fail_msg("%s: %s", cases[i].text, sl_error_message());
    fixture_close(&f);
  }
  sl_error_clear();
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_block_keeps_what_pytorch_keeps),
                                     cmocka_unit_test(weights_are_cast_once_a_region),
                                     cmocka_unit_test(kernel_sets_cast_where_their_frameworks_do),
                                     cmocka_unit_test(the_cache_ends_with_the_region),
                                     cmocka_unit_test(ops_have_their_lists_types),
                                     cmocka_unit_test(gradients_are_reduced_in_fp32),
                                     cmocka_unit_test(later_gradients_are_cast_then_added),
                                     cmocka_unit_test(other_strategies_refuse)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
