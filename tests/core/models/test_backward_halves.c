/* label: unit
 * A backward in halves, I and W: for every kernel set they launch together what the whole backward does, and so do all
 * schedules, for each micro-batch; what sums the gradients of weights is in W. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/plan/kernels.h"
#include "tests/support/job_fixture.h"

/* 4 layers, 4 heads of 16, inner width 96, 2 sequences of 32 tokens, vocabulary 80. */
enum { LAYERS = 4, HEADS = 4, INNER = 96, B = 2, T = 32, V = 80, C = HEADS * 16, R = B * T };
enum family { LLAMA, GPT, FAMILIES };

static void write_model(const char *path, enum family family) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  if (family == LLAMA)
    fprintf(file,
            "{\"model_type\": \"llama\", \"num_hidden_layers\": %d, \"hidden_size\": %d, \"num_attention_heads\": %d, "
            "\"num_key_value_heads\": 2, \"intermediate_size\": %d, \"vocab_size\": %d, "
            "\"max_position_embeddings\": %d}",
            LAYERS, C, HEADS, INNER, V, T);
  else
    fprintf(file,
            "{\"model_type\": \"gpt2\", \"n_layer\": %d, \"n_embd\": %d, \"n_head\": %d, \"vocab_size\": %d, "
            "\"n_positions\": %d}",
            LAYERS, C, HEADS, V, T);
  fclose(file);
}

static void open_job(struct fixture *f, enum family family, int world, int micro_batches, const char *keys) {
  const struct sl_build_options options = {.unplaced = true};
  char model[256], config[1024];
  snprintf(model, sizeof model, "%s/backward_halves.json", SL_BINARY_DIR);
  write_model(model, family);
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": %d, \"gradient_accumulation_steps\": %d, \"bf16\": {\"enabled\": "
           "true}, \"optimizer\": {\"type\": \"AdamW\"}, \"shardlab\": {\"pp\": 2, \"seq_len\": %d, %s}}",
           B, micro_batches, T, keys);
  if (fixture_open(f, model, config, "dgx-a100-80g", world, &options) != SL_OK)
    fail_msg("%s: %s", keys, sl_error_message());
}

struct total {
  int64_t bytes, launches;
};

/* The passes of all micro-batches on all ranks. */
static struct total passes_of(enum family family, int tp, int micro_batches, const char *keys) {
  struct total total = {0};
  struct fixture f;
  open_job(&f, family, 2 * tp, micro_batches, keys);
  for (int c = 0; c < f.job.class_count; c++) {
    const struct sl_program *p = &f.job.classes[c].programs[SL_PROGRAM_STEP];
    for (size_t i = 0; i < p->issue_count; i++) {
      const struct sl_op *op = sl_issue_op(p, i);
      if (op->kind != SL_OP_PASS || op->phase == SL_PHASE_STEP) continue;
      total.bytes += op->dim[0] * f.job.classes[c].rank_count;
      total.launches += op->dim[1] * f.job.classes[c].rank_count;
    }
  }
  fixture_close(&f);
  return total;
}

/* `layout`: "recompute" and those of tensor parallelism. */
static void all_schedules_launch_the_same(enum family family, const char *kernels, int tp, const char *layout) {
  static const char *const schedules[] = {"\"gpipe\"",
                                          "\"zb-h1\"",
                                          "\"interleaved\", \"virtual_stages\": 2",
                                          "\"looped-bfs\", \"virtual_stages\": 2",
                                          "\"interleaved-zb\", \"virtual_stages\": 2",
                                          "\"zbv\", \"virtual_stages\": 2"};
  char keys[512];
  snprintf(keys, sizeof keys, "\"kernels\": \"%s\", %s, \"schedule\": \"1f1b\"", kernels, layout);
  const struct total whole = passes_of(family, tp, 4, keys), twice = passes_of(family, tp, 8, keys);
  assert_int_equal(twice.bytes, 2 * whole.bytes);
  assert_int_equal(twice.launches, 2 * whole.launches);
  for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++) {
    snprintf(keys, sizeof keys, "\"kernels\": \"%s\", %s, \"schedule\": %s", kernels, layout, schedules[i]);
    const struct total total = passes_of(family, tp, 4, keys);
    if (total.bytes != whole.bytes || total.launches != whole.launches)
      fail_msg("%s: %lld bytes in %lld launches; 1f1b %lld in %lld", keys, (long long)total.bytes,
               (long long)total.launches, (long long)whole.bytes, (long long)whole.launches);
  }
}

static void every_row_counts_once(void **state) {
  (void)state;
  static const char *const recompute[] = {"none", "selective", "full", "selective_op"};
  enum { WAYS = sizeof recompute / sizeof *recompute };
  /* tp: without tensor parallelism, with it, and with sequence parallelism, too */
  for (int i = 0; i < FAMILIES * SL_KERNELS_COUNT * WAYS * 3; i += SL_EVERY) {
    const int tp = i % 3, which = i / 3 / WAYS;
    char layout[256];
    snprintf(layout, sizeof layout, "\"recompute\": \"%s\", \"tp\": %d, \"sequence_parallel\": %s",
             recompute[i / 3 % WAYS], tp > 0 ? 2 : 1, tp > 1 ? "true" : "false");
    all_schedules_launch_the_same((enum family)(which % FAMILIES),
                                  sl_kernel_set((enum sl_kernel_choice)(which / FAMILIES))->name, tp > 0 ? 2 : 1,
                                  layout);
  }
}

/* The passes of op `at` of a program; they come before the next op, but for what moves a gradient to its sum. */
static struct total behind(const struct sl_program *p, size_t at) {
  struct total total = {0};
  for (at++; at < p->op_count; at++) {
    const struct sl_op *op = &p->ops[at];
    if (op->kind == SL_OP_PASS)
      total.bytes += op->dim[0], total.launches += op->dim[1];
    else if (op->kind != SL_OP_COPY && op->kind != SL_OP_ADD)
      break;
  }
  return total;
}

/* Bytes of an element, and launches, as the comments of plan/kernels.c have them: with our own half, which reads 4,
 * Python's RMSNorm has 8 bytes in W. The sum of the stream's gradients, of 4 bytes, is in I. */
static void weights_are_summed_in_their_half(void **state) {
  (void)state;
  static const struct {
    const char *kernels;
    enum family family;
    struct total input, weight;
  } cases[] = {{"torch-eager", LLAMA, {58 + 4, 12 + 1}, {4, 1}},
               {"torch-eager", GPT, {4, 1}, {2, 2}},
               {"torch-compile", LLAMA, {0, 0}, {4, 2}},
               {"megatron-fused", LLAMA, {4, 1}, {0, 0}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    char keys[256];
    int halves[2] = {0};
    snprintf(keys, sizeof keys, "\"kernels\": \"%s\", \"schedule\": \"zb-h1\"", cases[i].kernels);
    open_job(&f, cases[i].family, 2, 1, keys);
    const struct sl_program *p = fixture_step(&f);
    for (size_t k = 0; k < p->op_count; k++) {
      const unsigned flags = p->ops[k].flags;
      if (p->ops[k].kind != SL_OP_RMSNORM_BWD && p->ops[k].kind != SL_OP_LAYERNORM_BWD) continue;
      const struct total got = behind(p, k);
      const struct total *want = flags & SL_OP_INPUT_GRAD ? &cases[i].input : &cases[i].weight;
      assert_int_equal(got.bytes, want->bytes * R * C);
      assert_int_equal(got.launches, want->launches);
      halves[(flags & SL_OP_INPUT_GRAD) != 0]++;
    }
    assert_int_equal(halves[0], 2 * LAYERS / 2); /* two a layer; the first of two stages */
    assert_int_equal(halves[1], halves[0]);
    fixture_close(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_row_counts_once),
      cmocka_unit_test(weights_are_summed_in_their_half),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
