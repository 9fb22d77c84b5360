/* label: unit
 * Kernel sets: the passes of each are those of its rows, counted from the model's shape alone; what a framework keeps
 * beside our buffers lives from a forward to its backward; full recomputation repeats a block as far as its framework
 * does; and no op of our own is touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/check/rendezvous.h"
#include "core/op/operands.h"
#include "core/plan/kernels.h"
#include "core/program/memory_report.h"
#include "tests/support/job_fixture.h"

/* A small Llama: 3 layers, 4 heads of 16, 2 key/value heads, inner width 96, 2 sequences of 32 tokens, vocabulary
 * 80. */
enum { LAYERS = 3, HEADS = 4, KV = 2, HEAD = 16, INNER = 96, B = 2, T = 32, V = 80, C = HEADS * HEAD, R = B * T };

static const char *const sets[] = {
    "shardlab", "megatron-fused",     "megatron-unfused",    "torch-eager",          "torch-compile", "llm-foundry",
    "nanotron", "megatron-deepspeed", "aleph-alpha-scaling", "torch-compile-blocks", "megatron-core"};

static void open_with(struct fixture *f, const char *kernels, const char *attention, const char *recompute,
                      const char *keys) {
  char model[256], config[512];
  snprintf(model, sizeof model, "%s/kernel_sets.json", SL_BINARY_DIR);
  FILE *file = fopen(model, "w");
  assert_non_null(file);
  fprintf(
      file,
      "{\"model_type\": \"llama\", \"num_hidden_layers\": %d, \"hidden_size\": %d, \"num_attention_heads\": %d, "
      "\"num_key_value_heads\": %d, \"intermediate_size\": %d, \"vocab_size\": %d, \"max_position_embeddings\": %d, "
      "\"rms_norm_eps\": 1e-5}",
      LAYERS, C, HEADS, KV, INNER, V, T);
  fclose(file);
  snprintf(
      config, sizeof config,
      "{\"train_micro_batch_size_per_gpu\": %d, \"bf16\": {\"enabled\": true}, \"optimizer\": {\"type\": \"AdamW\"}, "
      "\"shardlab\": {\"kernels\": \"%s\", \"attention\": \"%s\", \"recompute\": \"%s\", \"seq_len\": %d%s}}",
      B, kernels, attention, recompute, T, keys);
  if (fixture_open(f, model, config, "dgx-a100-80g", 1, NULL) != SL_OK) fail_msg("%s", sl_error_message());
}

static void open_job(struct fixture *f, const char *kernels, const char *attention, const char *recompute) {
  open_with(f, kernels, attention, recompute, "");
}

static int count_kind(const struct fixture *f, enum sl_op_kind kind) {
  const struct sl_program *p = fixture_step(f);
  int count = 0;
  for (size_t i = 0; i < p->op_count; i++) count += p->ops[i].kind == kind;
  return count;
}

static void sum_passes(const struct fixture *f, int64_t *bytes, int64_t *launches) {
  const struct sl_program *p = fixture_step(f);
  *bytes = *launches = 0;
  for (size_t i = 0; i < p->op_count; i++) {
    if (p->ops[i].kind != SL_OP_PASS || p->ops[i].phase == SL_PHASE_STEP) continue;
    *bytes += p->ops[i].dim[0];
    *launches += p->ops[i].dim[1];
  }
}

/* How many elements of each kind of op a step of the model has, and how many ops: counted by hand. */
static void expected(const struct sl_plan *plan, bool flash, int64_t *bytes, int64_t *launches) {
  const struct {
    enum sl_op_kind kind;
    int64_t elements, ops;
  } counted[] = {
      {SL_OP_RMSNORM_FWD, R * C, 2 * LAYERS + 1},
      {SL_OP_RMSNORM_BWD, R * C, 2 * LAYERS + 1},
      {SL_OP_ROPE, R * (HEADS + KV) * HEAD / 2, 4 * LAYERS}, /* q and k, there and back; the mean of both */
      {flash ? SL_OP_FLASH_FWD : SL_OP_ATTENTION_FWD, B * HEADS * T * T, LAYERS},
      {flash ? SL_OP_FLASH_BWD : SL_OP_ATTENTION_BWD, B * HEADS * T * T, LAYERS},
      {SL_OP_SWIGLU_FWD, R * INNER, LAYERS},
      {SL_OP_SWIGLU_BWD, R * INNER, LAYERS},
      {SL_OP_CLASSIFIER, R * V, 1},
  };
  const unsigned packed = plan->model->form.gate_packed ? SL_OP_PACKED_GATE : 0;
  *bytes = *launches = 0;
  for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
    const struct sl_kernel_row *row = NULL;
    const bool attends = counted[i].kind == SL_OP_FLASH_FWD || counted[i].kind == SL_OP_FLASH_BWD;
    const struct sl_op op = {.kind = counted[i].kind,
                             .dim = {B},
                             .flags = attends && plan->model->form.qkv == SL_QKV_APART ? SL_OP_APART : packed};
    while ((row = sl_kernel_row(plan->config, plan->model, &op, row)) != NULL) {
      const int64_t of[] = {[SL_ELEMENT_OF_OP] = counted[i].elements,
                            [SL_ELEMENT_OF_Q] = R * HEADS * HEAD,
                            [SL_ELEMENT_OF_KV] = R * 2 * KV * HEAD,
                            [SL_ELEMENT_OF_QKV] = R * (HEADS + 2 * KV) * HEAD,
                            [SL_ELEMENT_OF_REPEATED] = R * HEADS * HEAD};
      const int64_t elements = of[row->element];
      *bytes += row->bytes * elements * counted[i].ops;
      *launches += row->launches * counted[i].ops;
    }
  }
  const bool adds = sl_kernel_set(plan->config->sl.kernels)->adds_apart; /* for q, k and v; for gate and up */
  *bytes += adds * (2 + 1) * LAYERS * 3 * 2 * R * C, *launches += adds * (2 + 1) * LAYERS;
}

static void passes_are_those_of_the_rows(void **state) {
  (void)state;
  for (int i = 0; i < SL_KERNELS_COUNT; i++) {
    for (int flash = 0; flash < 2; flash++) {
      struct fixture f;
      int64_t bytes, launches, want_bytes, want_launches;
      const struct sl_kernel_set *set = sl_kernel_set((enum sl_kernel_choice)i);
      assert_string_equal(set->name, sets[i]);
      open_job(&f, sets[i], flash ? "flash" : "materialised", "none");
      sum_passes(&f, &bytes, &launches);
      expected(&f.plan, flash, &want_bytes, &want_launches);
      assert_int_equal(bytes, want_bytes);
      assert_int_equal(launches, want_launches);
      assert_int_equal(i == SL_KERNELS_SHARDLAB, launches == 0);
      fixture_close(&f);
    }
  }
}

/* The program of a set is that of our own kernels where those take in nothing, pass by pass removed, but for the copies
 * of gradients that our products leave in fp32. */
static void our_own_ops_stay(void **state) {
  (void)state;
  struct fixture own, other;
  open_with(&own, "shardlab", "materialised", "none", ", \"fuse_epilogues\": \"never\"");
  open_job(&other, "torch-eager", "materialised", "none");
  const struct sl_program *a = fixture_step(&own), *b = fixture_step(&other);
  size_t i = 0;
  for (size_t k = 0; k < b->op_count; k++) {
    if (b->ops[k].kind == SL_OP_PASS || b->ops[k].kind == SL_OP_COPY) continue;
    while (i < a->op_count && a->ops[i].kind == SL_OP_COPY) i++;
    assert_true(i < a->op_count);
    assert_int_equal(a->ops[i].kind, b->ops[k].kind);
    assert_memory_equal(a->ops[i].dim, b->ops[k].dim, sizeof a->ops[i].dim);
    i++;
  }
  assert_int_equal(i, a->op_count);
  fixture_close(&own);
  fixture_close(&other);
}

static double activation_bytes(const struct fixture *f) {
  return (double)f->job.classes[0].memory[SL_SPACE_DEVICE].category_max[SL_CATEGORY_ACTIVATION];
}

/* Eager RMSNorm keeps 4 bytes an element more than ours, unless its layer is made again. Its backward needs 18. */
static void what_is_kept_lives_until_its_backward(void **state) {
  (void)state;
  const char *const recompute[] = {"none", "full"};
  for (int i = 0; i < 2; i++) {
    struct fixture fused, eager;
    open_job(&fused, "megatron-fused", "flash", recompute[i]);
    open_job(&eager, "megatron-unfused", "flash", recompute[i]);
    const double more = activation_bytes(&eager) - activation_bytes(&fused);
    const double layer = 2.0 * 4 * R * C, all = LAYERS * layer + 4.0 * R * C, running = 18.0 * R * C;
    if (i == 0) assert_true(more >= all && more < all + running);
    if (i == 1) assert_true(more >= 4.0 * R * C && more < layer + running);
    if (sl_check(&eager.job) != SL_OK) fail_msg("%s", sl_error_message());
    fixture_close(&fused);
    fixture_close(&eager);
  }
}

/* Backwards undo what was done last first: of what a layer keeps they read the newest. What is made again is not kept
 * before. */
static void what_is_kept_is_read_newest_first(void **state) {
  (void)state;
  const char *const recompute[] = {"none", "full"};
  for (int i = 0; i < 2; i++) {
    struct fixture f;
    int32_t unread[LAYERS + 1][4];
    int count[LAYERS + 1] = {0}, before_backward = 0;
    open_job(&f, "megatron-unfused", "flash", recompute[i]);
    const struct sl_program *p = fixture_step(&f);
    for (size_t k = 0; k < p->op_count; k++) {
      const struct sl_op *op = &p->ops[k];
      const struct sl_slice *kept = sl_op_operand(op, sl_op_slices(p, op), SL_AT_KEPT);
      if (op->kind != SL_OP_PASS || kept == NULL || op->phase == SL_PHASE_STEP) continue;
      before_backward += op->phase == SL_PHASE_FORWARD;
      if (op->flags & SL_OP_KEEPS) {
        assert_in_range(count[op->layer], 0, 3);
        unread[op->layer][count[op->layer]++] = kept->buffer;
      } else {
        assert_in_range(count[op->layer], 1, 4);
        assert_int_not_equal(p->ops[k - 1].kind, SL_OP_PASS); /* of the passes behind one op only the first reads */
        assert_int_equal(kept->buffer, unread[op->layer][--count[op->layer]]);
      }
    }
    for (int layer = 0; layer <= LAYERS; layer++) assert_int_equal(count[layer], 0);
    assert_int_equal(before_backward, i == 0 ? 3 * LAYERS + 1 : 1); /* two norms and silu(gate); the last norm */
    fixture_close(&f);
  }
}

/* Where the backward of a norm comes in halves, both read what its forward kept, and no other op does. */
static void both_halves_read_what_is_kept(void **state) {
  (void)state;
  struct fixture f;
  const struct sl_op *reader[64] = {0}; /* the input's half that has read buffers[i]; NULL once the other has, too */
  int32_t buffers[64], halves = 0, complete = 0;
  open_with(&f, "torch-eager", "flash", "none", ", \"schedule\": \"zb-h1\"");
  if (sl_check(&f.job) != SL_OK) fail_msg("%s", sl_error_message());
  const struct sl_program *p = fixture_step(&f);
  const struct sl_op *norm = p->ops;
  for (size_t k = 0; k < p->op_count; k++) {
    const struct sl_op *op = &p->ops[k];
    if (op->kind != SL_OP_PASS && op->kind != SL_OP_COPY) norm = op;
    if (op->kind != SL_OP_PASS || !(op->flags & SL_OP_READS_KEPT) || norm->kind != SL_OP_RMSNORM_BWD) continue;
    const int32_t buffer = sl_op_operand(op, sl_op_slices(p, op), SL_AT_KEPT)->buffer;
    int i = 0;
    while (i < halves && buffers[i] != buffer) i++;
    if (norm->flags & SL_OP_INPUT_GRAD) {
      assert_int_equal(i, halves);
      reader[halves] = norm, buffers[halves++] = buffer;
    } else {
      assert_in_range(i, 0, halves - 1);
      assert_int_equal(reader[i]->tensor, norm->tensor);
      reader[i] = NULL, complete++;
    }
  }
  assert_int_equal(halves, 2 * LAYERS + 1);
  assert_int_equal(complete, halves);
  fixture_close(&f);
}

/* Megatron-LM repeats all of a block, its four products and both residuals; PyTorch's checkpoint stops once the backward
 * has what it asked for, without the last of seven products and the last residual. */
static void recomputation_goes_as_far_as_the_framework(void **state) {
  (void)state;
  const struct {
    const char *kernels;
    int products, residuals;
  } cases[] = {{"megatron-fused", 4, 2}, {"torch-eager", 6, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture once, again;
    open_job(&once, cases[i].kernels, "flash", "none");
    open_job(&again, cases[i].kernels, "flash", "full");
    assert_int_equal(count_kind(&again, SL_OP_GEMM) - count_kind(&once, SL_OP_GEMM), cases[i].products * LAYERS);
    assert_int_equal(count_kind(&again, SL_OP_RESIDUAL_FWD) - count_kind(&once, SL_OP_RESIDUAL_FWD),
                     cases[i].residuals * LAYERS);
    fixture_close(&once);
    fixture_close(&again);
  }
}

static void attention_says_its_kernel(void **state) {
  (void)state;
  const struct {
    const char *word;
    unsigned flag;
  } kernels[] = {{"flash", 0}, {"flash1", SL_OP_FLASH_1}, {"flash3", SL_OP_FLASH_3}, {"cudnn", SL_OP_CUDNN}};
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    struct fixture f;
    int found = 0;
    open_job(&f, "shardlab", kernels[i].word, "none");
    const struct sl_program *p = fixture_step(&f);
    for (size_t k = 0; k < p->op_count; k++) {
      if (p->ops[k].kind != SL_OP_FLASH_FWD && p->ops[k].kind != SL_OP_FLASH_BWD) continue;
      assert_int_equal(p->ops[k].flags & SL_OP_FLASH_KERNELS, kernels[i].flag);
      found++;
    }
    assert_int_equal(found, 2 * LAYERS);
    fixture_close(&f);
  }
}

/* An RMSNorm in Python moves 36 bytes an element forward and 70 backward where one kernel moves 4 and 8; a softmax in
 * Python 36 and 40 beside ours where one kernel moves 4 and 6. */
static void norms_and_softmax_are_fused_one_by_one(void **state) {
  (void)state;
  const struct {
    const char *keys;
    int64_t norm, softmax;
  } cases[] = {{", \"fused_norm\": true", 32 + 62, 0},
               {", \"fused_softmax\": true", 0, 32 + 34},
               {", \"fused_norm\": true, \"fused_softmax\": true", 32 + 62, 32 + 34}};
  struct fixture plain, fused;
  int64_t all, less, launches;
  open_job(&plain, "megatron-unfused", "materialised", "none");
  sum_passes(&plain, &all, &launches);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    open_with(&fused, "megatron-unfused", "materialised", "none", cases[i].keys);
    sum_passes(&fused, &less, &launches);
    assert_int_equal(all - less,
                     cases[i].norm * (2 * LAYERS + 1) * R * C + cases[i].softmax * LAYERS * B * HEADS * T * T);
    fixture_close(&fused);
  }
  fixture_close(&plain);
}

/* Probabilities that are dropped are read and written once more each way, 5 bytes each with the mask, and by one
 * kernel. */
static void dropped_probabilities_are_a_pass(void **state) {
  (void)state;
  int64_t bytes[2], launches[2];
  for (int i = 0; i < 2; i++) {
    struct fixture f;
    char model[256];
    snprintf(model, sizeof model, "%s/kernel_sets_gpt.json", SL_BINARY_DIR);
    FILE *file = fopen(model, "w");
    assert_non_null(file);
    fprintf(file,
            "{\"model_type\": \"gpt2\", \"n_layer\": %d, \"n_embd\": %d, \"n_head\": %d, \"vocab_size\": %d, "
            "\"n_positions\": %d, \"attn_pdrop\": %s, \"resid_pdrop\": 0.1, \"embd_pdrop\": 0.1}",
            LAYERS, C, HEADS, V, T, i == 0 ? "0" : "0.1");
    fclose(file);
    if (fixture_open(&f, model,
                     "{\"train_micro_batch_size_per_gpu\": 2, \"fp16\": {\"enabled\": true}, \"optimizer\": {\"type\": "
                     "\"AdamW\"}, \"shardlab\": {\"kernels\": \"megatron-fused\", \"attention\": \"materialised\", "
                     "\"store_dropout_masks\": true}}",
                     "dgx-a100-80g", 1, NULL) != SL_OK)
      fail_msg("%s", sl_error_message());
    sum_passes(&f, &bytes[i], &launches[i]);
    fixture_close(&f);
  }
  assert_int_equal(bytes[1] - bytes[0], (5 + 5) * LAYERS * B * HEADS * T * T);
  assert_int_equal(launches[1] - launches[0], 2 * LAYERS);
}

/* Launches of a set's rows for attention over `sequences`. */
static int64_t launches_over(const struct sl_config *config, enum sl_op_kind kind, int64_t sequences) {
  const struct sl_op op = {.kind = kind, .dim = {sequences}};
  int64_t launches = 0;
  for (const struct sl_kernel_row *row = NULL; (row = sl_kernel_row(config, &(struct sl_model){0}, &op, row)) != NULL;)
    launches += row->launches;
  return launches;
}

/* nanotron's attention has (sequences, tokens), its products (tokens, sequences): of one sequence both are the same,
 * and what is copied between them, once forward and twice backward, is not. */
static void one_sequence_is_not_transposed(void **state) {
  struct fixture f;
  (void)state;
  open_job(&f, "nanotron", "flash", "none");
  assert_int_equal(launches_over(f.plan.config, SL_OP_FLASH_FWD, 2),
                   launches_over(f.plan.config, SL_OP_FLASH_FWD, 1) + 1);
  assert_int_equal(launches_over(f.plan.config, SL_OP_FLASH_BWD, 2),
                   launches_over(f.plan.config, SL_OP_FLASH_BWD, 1) + 2);
  fixture_close(&f);
}

/* Products of Megatron-LM, as ours, add to fp32 gradients themselves, and so do our norms and the embedding; nanotron
 * and DeepSpeed add each weight's apart. */
static void gradients_are_added_as_the_framework_does(void **state) {
  (void)state;
  const struct {
    const char *kernels, *preset, *type;
    int products, norms, embedding;
  } cases[] = {
      {"shardlab", "megatron-lm", "bf16", 0, 0, 0},      {"megatron-fused", "megatron-lm", "bf16", 0, 1, 1},
      {"megatron-core", "megatron-lm", "bf16", 0, 1, 1}, {"nanotron", "nanotron-zero1", "bf16", 1, 1, 1},
      {"shardlab", "deepspeed-0", "fp16", 0, 0, 0},      {"megatron-deepspeed", "deepspeed-0", "fp16", 1, 1, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    char config[512];
    snprintf(config, sizeof config,
             "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 2, \"%s\": {\"enabled\": true}, "
             "\"optimizer\": {\"type\": \"AdamW\"}, \"shardlab\": {\"kernels\": \"%s\", \"preset\": \"%s\", "
             "\"attention\": \"flash\"}}",
             cases[i].type, cases[i].kernels, cases[i].preset);
    if (fixture_open(&f, SL_SOURCE_DIR "/tests/mpi/grid_llama.json", config, "dgx-a100-80g", 2, NULL) != SL_OK)
      fail_msg("%s", sl_error_message());
    if (sl_check(&f.job) != SL_OK) fail_msg("%s", sl_error_message());
    /* 4 layers of 4 weights and the head; 2 norms a layer and the last */
    assert_int_equal(count_kind(&f, SL_OP_ADD),
                     cases[i].products * (4 * 4 + 1) + cases[i].norms * (4 * 2 + 1) + cases[i].embedding);
    fixture_close(&f);
  }
}

/* Beside Megatron-LM's update: clipping, the copy to the parameters and zeros, and of fp16 what its loss scale asks
 * for. */
static void optimizers_go_over_gradients_more_than_once(void **state) {
  (void)state;
  for (int fp16 = 0; fp16 < 2; fp16++) {
    struct fixture f;
    char config[512];
    int64_t bytes = 0, launches = 0;
    snprintf(
        config, sizeof config,
        "{\"train_micro_batch_size_per_gpu\": 1, \"%s\": {\"enabled\": true}, \"optimizer\": {\"type\": \"AdamW\"}, "
        "\"shardlab\": {\"preset\": \"ddp\", \"kernels\": \"megatron-fused\"}}",
        fp16 ? "fp16" : "bf16");
    if (fixture_open(&f, SL_SOURCE_DIR "/tests/mpi/grid_llama.json", config, "dgx-a100-80g", 1, NULL) != SL_OK)
      fail_msg("%s", sl_error_message());
    const struct sl_program *p = fixture_step(&f);
    for (size_t i = 0; i < p->op_count; i++) {
      if (p->ops[i].kind != SL_OP_PASS || p->ops[i].phase != SL_PHASE_STEP) continue;
      bytes += p->ops[i].dim[0], launches += p->ops[i].dim[1];
    }
    assert_int_equal(bytes, (fp16 ? 32 : 14) * f.plan.pp_ranks[0].padded);
    assert_int_equal(launches, fp16 ? 5 : 3);
    fixture_close(&f);
  }
}

/* Of a vocabulary that two ranks share, one that gathers has all logits on both, in a buffer and in the loss; the
 * gradient of its own part goes on. The statistics that the others share are not made. */
static void logits_are_gathered(void **state) {
  (void)state;
  for (int gathers = 0; gathers < 2; gathers++) {
    struct fixture f;
    char config[512];
    snprintf(
        config, sizeof config,
        "{\"train_micro_batch_size_per_gpu\": 2, \"bf16\": {\"enabled\": true}, \"optimizer\": {\"type\": \"AdamW\"}, "
        "\"shardlab\": {\"kernels\": \"%s\", \"tp\": 2, \"make_vocab_size_divisible_by\": 1}}",
        gathers ? "aleph-alpha-scaling" : "megatron-unfused");
    if (fixture_open(&f, SL_SOURCE_DIR "/tests/mpi/grid_llama.json", config, "dgx-a100-80g", 2, NULL) != SL_OK)
      fail_msg("%s", sl_error_message());
    if (sl_check(&f.job) != SL_OK) fail_msg("%s", sl_error_message());
    const struct sl_model *m = f.plan.model;
    const int64_t rows = f.plan.micro_batch * f.plan.seq;
    assert_int_equal(count_kind(&f, SL_OP_CLASSIFIER), gathers);
    assert_int_equal(count_kind(&f, SL_OP_CLASSIFIER_SHARD), !gathers);
    assert_int_equal(count_kind(&f, SL_OP_CLASSIFIER_STATS), !gathers);
    const struct sl_program *p = fixture_step(&f);
    int64_t largest = 0;
    for (size_t i = 0; i < p->op_count; i++)
      if (p->ops[i].kind == SL_OP_ALL_GATHER && p->ops[i].group == SL_GROUP_TP && p->ops[i].dim[0] > largest)
        largest = p->ops[i].dim[0];
    assert_int_equal(largest, gathers ? rows * (m->vocab_size + 1) : 3 * rows * 2);
    fixture_close(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(passes_are_those_of_the_rows),
      cmocka_unit_test(our_own_ops_stay),
      cmocka_unit_test(what_is_kept_lives_until_its_backward),
      cmocka_unit_test(what_is_kept_is_read_newest_first),
      cmocka_unit_test(both_halves_read_what_is_kept),
      cmocka_unit_test(recomputation_goes_as_far_as_the_framework),
      cmocka_unit_test(attention_says_its_kernel),
      cmocka_unit_test(norms_and_softmax_are_fused_one_by_one),
      cmocka_unit_test(dropped_probabilities_are_a_pass),
      cmocka_unit_test(one_sequence_is_not_transposed),
      cmocka_unit_test(gradients_are_added_as_the_framework_does),
      cmocka_unit_test(optimizers_go_over_gradients_more_than_once),
      cmocka_unit_test(logits_are_gathered),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
