/* label: unit
 * Model states of 16-bit training in closed forms: 2 bytes a parameter, 2 or 4 a gradient, 12 of fp32 master and
 * moments (FSDP's: 4 a parameter, and 8 of moments), over each strategy's partitions, from the model's size alone; the type that optimizers read gradients in; an
 * embedding's bytes in each type. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/check/rendezvous.h"
#include "core/job/job.h"
#include "core/op/flops.h"
#include "core/op/operands.h"
#include "core/program/memory_report.h"
#include "tests/support/job_fixture.h"

/* gpt2-tiny's tensors: 4 layers, width 128, 256 tokens, 256 positions. */
enum { C = 128, LAYERS = 4, BLOCK = 12, OUTSIDE = 4 };
static const int64_t block[BLOCK] = {C, C, 3 * C *C, 3 * C, C *C, C, C, C, 4 * C *C, 4 * C, 4 * C *C, C};
static const int64_t outside[OUTSIDE] = {256 * C, 256 * C, C, C};

static int64_t round_up(int64_t n, int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

static int64_t sum(const int64_t *numel, int count, int64_t multiple) {
  int64_t total = 0;
  for (int i = 0; i < count; i++) total += round_up(numel[i], multiple);
  return total;
}

/* What is padded to what. */
enum split { WHOLE, FLAT, EACH, LAYER, BUCKET, OWNER };

static int64_t padded(enum split split, int64_t world) {
  const int64_t total = LAYERS * sum(block, BLOCK, 1) + sum(outside, OUTSIDE, 1);
  switch (split) {
  case FLAT:
    return round_up(total, 2 * world);
  case EACH:
    return LAYERS * sum(block, BLOCK, world) + sum(outside, OUTSIDE, world);
  case LAYER:
    return LAYERS * round_up(sum(block, BLOCK, 1), world) + round_up(sum(outside, OUTSIDE, 1), world);
  case BUCKET:
    return round_up(total, world);
  default:
    return total;
  }
}

static const struct strategy {
  const char *preset;
  int stage;
  enum split split;
  bool shards_params, shards_grads, fp32_grads, casts_shards;
} strategies[] = {
    {"", 0, WHOLE, false, false, false, false},
    {"", 1, FLAT, false, false, false, false},
    {"", 2, FLAT, false, true, false, false},
    {"", 3, EACH, true, true, false, false},
    {"ddp", 0, WHOLE, false, false, false, false},
    {"zero-redundancy-optimizer", 0, OWNER, false, false, false, false},
    {"fsdp", 0, LAYER, true, true, false, true},
    {"fsdp-shard-grad-op", 0, LAYER, true, true, false, true},
    {"fsdp2", 0, LAYER, true, true, false, true},
    {"megatron-fsdp", 0, LAYER, true, true, true, false},
    {"megatron-distributed-optimizer", 0, BUCKET, false, false, true, false},
};
enum { STRATEGIES = sizeof strategies / sizeof *strategies };

static void expect(const char *config, int world, const char *what, int64_t got, int64_t want) {
  if (got != want)
    fail_msg("world %d, %s: %s are %lld bytes, expected %lld", world, config, what, (long long)got, (long long)want);
}

/* DeepSpeed without ZeRO has one type for both (runtime/engine.py, _do_optimizer_sanity_check). */
static bool refuses(const struct strategy *s, const char *type, const char *kept) {
  return s->preset[0] == '\0' && s->stage == 0 && strcmp(kept, type) != 0;
}

/* `kept`: grad_accum_dtype; NULL = the default, which is the parameters' type, but fp32 for bf16 at stage 0 of other
 * presets than DeepSpeed's. */
static void compare(const struct strategy *s, bool fp16, int world, const char *kept) {
  const struct sl_build_options options = {.save_grads = true};
  struct fixture f;
  char config[512], types[64] = "";
  if (kept != NULL) snprintf(types, sizeof types, "\"data_types\": {\"grad_accum_dtype\": \"%s\"}, ", kept);
  snprintf(
      config, sizeof config,
      "{\"train_micro_batch_size_per_gpu\": 1, %s\"%s\": {\"enabled\": true}, \"optimizer\": {\"type\": \"AdamW\", "
      "\"params\": {\"lr\": 0.1}}, \"zero_optimization\": {\"stage\": %d, \"stage3_param_persistence_threshold\": "
      "0}, \"shardlab\": {\"preset\": \"%s\", \"seq_len\": 9}}",
      types, fp16 ? "fp16" : "bf16", s->stage, s->preset);
  if (fixture_open(&f, "gpt2-tiny", config, "localhost", world, &options) != SL_OK)
    fail_msg("%s: %s", config, sl_error_message());
  const bool fp32 =
      s->fp32_grads || (kept != NULL ? strcmp(kept, "fp32") == 0 : !fp16 && s->stage == 0 && s->preset[0] != '\0');
  const int64_t whole = padded(s->split, world), shard = s->split == WHOLE ? whole : whole / world;
  const int64_t gradient = (fp32 || s->casts_shards ? 4 : 2) * (s->shards_grads ? shard : whole),
                parameter = s->casts_shards ? 4 : 2;
  int64_t optimizer = 0;
  for (int i = 0; i < f.job.class_count; i++) {
    const struct sl_memory_report *m = f.job.classes[i].memory;
    expect(config, world, "parameters", m->state_bytes[SL_CATEGORY_PARAMETER],
           parameter * (s->shards_params ? shard : whole));
    expect(config, world, "gradients", m->state_bytes[SL_CATEGORY_GRADIENT], gradient);
    optimizer += m->state_bytes[SL_CATEGORY_OPTIMIZER];
  }
  expect(config, world, "optimizer states", optimizer,
         (s->casts_shards ? 8 : 12) * (s->split == OWNER ? whole : shard));
  if (sl_check(&f.job) != SL_OK) fail_msg("%s", sl_error_message());
  fixture_close(&f);
}

static void states_in_16_bits(void **state) {
  (void)state;
  static const int worlds[] = {2, 3, 7};
  for (int s = 0; s < STRATEGIES; s++) {
    for (int w = 0; w < 3; w++) {
      for (int fp16 = 0; fp16 < 2; fp16++) {
        if ((6 * s + 2 * w + fp16) % SL_EVERY != 0) continue;
        compare(&strategies[s], fp16, worlds[w], NULL);
        if (!refuses(&strategies[s], "", "fp32")) compare(&strategies[s], fp16, worlds[w], "fp32");
        compare(&strategies[s], fp16, worlds[w], fp16 ? "fp16" : "bf16");
      }
    }
  }
}

static const struct sl_op *find_op(const struct sl_program *p, enum sl_op_kind kind) {
  for (size_t i = 0; i < p->op_count; i++) {
    if (p->ops[i].kind == kind) return &p->ops[i];
  }
  fail_msg("the program has no %s", sl_op_name(kind));
  return NULL;
}

static double op_bytes(const struct sl_program *p, enum sl_op_kind kind) {
  const struct sl_op *op = find_op(p, kind);
  return sl_op_bytes(op, sl_op_slices(p, op));
}

static void open_typed(struct fixture *f, const struct strategy *s, const char *wire, const char *kept) {
  char config[512];
  snprintf(
      config, sizeof config,
      "{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 2, \"bf16\": {\"enabled\": true}, "
      "\"communication_data_type\": \"%s\", \"data_types\": {\"grad_accum_dtype\": \"%s\"}, \"optimizer\": {\"type\": "
      "\"AdamW\", \"params\": {\"lr\": 0.1}}, \"zero_optimization\": {\"stage\": %d}, \"shardlab\": {\"preset\": "
      "\"%s\", \"seq_len\": 9}}",
      wire, kept, s->stage, s->preset);
  if (fixture_open(f, "gpt2-tiny", config, "localhost", 3, NULL) != SL_OK)
    fail_msg("%s: %s", config, sl_error_message());
  if (sl_check(&f->job) != SL_OK) fail_msg("%s: %s", config, sl_error_message());
}

/* DeepSpeed copies a reduced sum back into the tensor that it was cast from, so what travelled is not what the
 * optimizer reads. */
static void optimizers_read_the_type_that_gradients_accumulate_in(void **state) {
  (void)state;
  static const struct {
    const char *name;
    enum sl_dtype dtype;
  } types[] = {{"fp32", SL_F32}, {"bf16", SL_BF16}, {"fp16", SL_F16}};
  for (int s = 0; s < STRATEGIES; s++) {
    for (int wire = 0; wire < 3; wire++) {
      for (int kept = 0; kept < 3; kept++) {
        struct fixture f;
        if ((9 * s + 3 * wire + kept) % SL_EVERY != 0) continue;
        if (refuses(&strategies[s], "bf16", types[kept].name)) continue;
        open_typed(&f, &strategies[s], types[wire].name, types[kept].name);
        const struct sl_class *c = &f.job.classes[0];
        const struct sl_program *p = &c->programs[SL_PROGRAM_STEP];
        const struct sl_op *op = find_op(p, SL_OP_ADAMW);
        const enum sl_dtype got = c->buffers[p->slices[op->slice + sl_op_at(op, SL_AT_GRADIENT)].buffer].dtype;
        /* Megatron-LM's --grad-reduce-in-bf16 */
        const bool own = strncmp(strategies[s].preset, "megatron", 8) == 0 && types[wire].dtype == SL_BF16 &&
                         types[kept].dtype == SL_BF16;
        const bool fp32 = (strategies[s].fp32_grads && !own) || strategies[s].casts_shards;
        const enum sl_dtype want = fp32 ? SL_F32 : types[kept].dtype;
        if (got != want)
          fail_msg("strategy %d, %s on the wire, kept in %s: the optimizer reads %s", s, types[wire].name,
                   types[kept].name, sl_dtype_name(got));
        fixture_close(&f);
      }
    }
  }
}

/* The programs of frameworks beside ours: DeepSpeed's ZeRO has a master of fp32 parameters, too, and its stages 1 and 2
 * update from a copy of the gradients in fp32, made of one in their type; ZeRO-2 and 3 let go of the gradients when both
 * are there: two bytes an own element more than the 18 of its estimator. Without ZeRO it makes two copies in fp32, and lets go of the
 * gradients only then: 24 bytes an element. Megatron-LM makes one of 16-bit gradients: the 20 of its own table. DDP's reducer
 * has all gradients a second time, in its buckets. */
static void frameworks_copy_what_they_update_from(void **state) {
  (void)state;
  static const struct {
    const char *kernels, *type;
    int stage;
    const char *accumulate;
    double optimizer, copies, all; /* bytes an own element; all: of the step's peak, where all are own. 0: not asked */
    const char *preset;
  } cases[] = {{"shardlab", "bf16", 2, "bf16", 12, 0, 0, ""},
               {"shardlab", "fp32", 2, "fp32", 8, 0, 0, ""},
               {"torch-eager", "bf16", 1, "bf16", 12, 6, 0, ""},
               {"torch-eager", "bf16", 1, "fp32", 12, 0, 0, ""}, /* BF16_Optimizer */
               {"torch-eager", "bf16", 2, "bf16", 12, 6, 24, ""},
               {"torch-eager", "bf16", 2, "fp32", 12, 6, 24, ""}, /* kept in bf16 all the same */
               {"torch-eager", "fp32", 2, "fp32", 12, 4, 0, ""},
               {"torch-eager", "bf16", 3, "bf16", 12, 6, 22, ""},
               {"torch-eager", "fp32", 3, "fp32", 12, 4, 0, ""},
               {"torch-eager", "bf16", 0, "bf16", 12, 8, 24, ""},
               {"torch-eager", "fp32", 0, "fp32", 8, 0, 16, ""},
               {"torch-eager", "bf16", 0, "bf16", 12, 0, 18, "ddp"},
               {"torch-eager", "bf16", 0, "bf16", 12, 4, 0, "deepspeed-pipeline"}, /* BF16_Optimizer */
               {"shardlab", "bf16", 0, "bf16", 12, 0, 16, ""},
               {"megatron-fused", "bf16", 0, "bf16", 12, 4, 20, "megatron-lm"},
               {"megatron-fused", "bf16", 0, "fp32", 12, 0, 18, "megatron-lm"},
               {"megatron-fused", "bf16", 1, "", 12, 0, 0, "megatron-distributed-optimizer"}, /* fp32 by default */
               {"megatron-fused", "bf16", 0, "bf16", 12, 4, 0, "megatron-distributed-optimizer"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    char config[512];
    char types[128] = "";
    if (cases[i].accumulate[0] != '\0')
      snprintf(types, sizeof types,
               "\"data_types\": {\"grad_accum_dtype\": \"%s\"}, \"communication_data_type\": \"%s\", ",
               cases[i].accumulate, cases[i].accumulate);
    const bool half = strcmp(cases[i].type, "bf16") == 0;
    snprintf(config, sizeof config,
             "{\"train_micro_batch_size_per_gpu\": 1, \"bf16\": {\"enabled\": %s}, %s"
             "\"optimizer\": {\"type\": \"AdamW\"}, \"zero_optimization\": {\"stage\": %d, "
             "\"reduce_bucket_size\": 1000, \"stage3_param_persistence_threshold\": 0}, "
             "\"shardlab\": {\"kernels\": \"%s\", \"seq_len\": 8, \"preset\": \"%s\"}}",
             half ? "true" : "false", types, cases[i].stage, cases[i].kernels, cases[i].preset);
    if (fixture_open(&f, "gpt2", config, "dgx-a100-80g", 2, NULL) != SL_OK) fail_msg("%s", sl_error_message());
    if (sl_check(&f.job) != SL_OK) fail_msg("%s: %s", config, sl_error_message());
    const struct sl_class *c = &f.job.classes[0];
    const double own = (double)f.plan.pp_ranks[0].shard_numel;
    double copies = 0;
    for (size_t b = 0; b < c->buffer_count; b++) {
      const struct sl_buffer *buffer = &c->buffers[b];
      if (strcmp(buffer->name, "grad.flat") == 0 || strcmp(buffer->name, "grad.fp32") == 0 ||
          strcmp(buffer->name, "grad.list") == 0)
        copies += (double)buffer->bytes;
    }
    const double step = (double)c->memory->phase_peak[SL_PHASE_STEP];
    if (cases[i].all > 0 && !(step >= cases[i].all * own && step < cases[i].all * own + 1e6))
      fail_msg("%s: %.3f bytes an element at the step's peak", config, step / own);
    assert_true((double)c->memory->state_bytes[SL_CATEGORY_OPTIMIZER] == cases[i].optimizer * own);
    if (copies != cases[i].copies * own) fail_msg("%s: %.2f bytes copied an own element", config, copies / own);
    fixture_close(&f);
  }
}

/* DeepSpeed's BF16_Optimizer adds torch's gradients to its own when a backward is over, though both are bf16. */
static void bf16_optimizer_has_gradients_of_its_own(void **state) {
  (void)state;
  struct fixture f;
  if (fixture_open(
          &f, "gpt2-tiny",
          "{\"train_micro_batch_size_per_gpu\": 1, \"bf16\": {\"enabled\": true}, \"optimizer\": {\"type\": "
          "\"AdamW\"}, \"shardlab\": {\"preset\": \"deepspeed-pipeline\", \"kernels\": \"megatron-deepspeed\", "
          "\"seq_len\": 8}}",
          "dgx-a100-80g", 2, NULL) != SL_OK)
    fail_msg("%s", sl_error_message());
  if (sl_check(&f.job) != SL_OK) fail_msg("%s", sl_error_message());
  const struct sl_class *c = &f.job.classes[0];
  int64_t made = 0;
  for (size_t b = 0; b < c->buffer_count; b++)
    if (strncmp(c->buffers[b].name, "d.", 2) == 0 && c->buffers[b].category == SL_CATEGORY_GRADIENT)
      made += c->buffers[b].bytes;
  assert_true(made >= 2 * padded(WHOLE, 2));
  assert_int_equal(c->buffers[c->role[SL_ROLE_GRAD].buffer].dtype, SL_BF16);
  assert_true(c->memory->category_max[SL_CATEGORY_GRADIENT] >= 4 * padded(WHOLE, 2));
  fixture_close(&f);
}

/* A row a token, in the tensors' type; the tables themselves are not read through. */
static void an_embedding_moves_its_rows_in_their_type(void **state) {
  (void)state;
  enum { B = 2, T = 9, ROWS = B * T * C, POSITIONS = 256 * C };
  static const char *const enabled[] = {"fp32", "bf16", "fp16"};
  for (int k = 0; k < 3; k++) {
    const double element = k == 0 ? 4 : 2, tokens = 4.0 * B * T;
    struct fixture f;
    char config[512], mode[64] = "";
    if (k > 0) snprintf(mode, sizeof mode, "\"%s\": {\"enabled\": true}, ", enabled[k]);
    snprintf(
        config, sizeof config,
        "{\"train_micro_batch_size_per_gpu\": %d, %s\"zero_optimization\": {\"stage\": 2}, \"optimizer\": {\"type\": "
        "\"AdamW\", \"params\": {\"lr\": 0.1}}, \"shardlab\": {\"seq_len\": %d}}",
        B, mode, T);
    if (fixture_open(&f, "gpt2-tiny", config, "localhost", 1, NULL) != SL_OK) fail_msg("%s", sl_error_message());
    const struct sl_program *p = &f.job.classes[0].programs[SL_PROGRAM_STEP];
    const double forward = op_bytes(p, SL_OP_EMBED_FWD);
    const double backward = op_bytes(p, SL_OP_EMBED_BWD);
    /* forward: rows of the token table, the position table, the sum */
    if (forward != tokens + element * (2 * ROWS + POSITIONS))
      fail_msg("%s: forward moves %.0f bytes", enabled[k], forward);
    /* backward: the sum's gradient, the tied table's rows read and written, the position table's gradient */
    if (backward != tokens + element * (3 * ROWS + POSITIONS))
      fail_msg("%s: backward moves %.0f bytes", enabled[k], backward);
    fixture_close(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(states_in_16_bits),
                                     cmocka_unit_test(optimizers_read_the_type_that_gradients_accumulate_in),
                                     cmocka_unit_test(frameworks_copy_what_they_update_from),
                                     cmocka_unit_test(bf16_optimizer_has_gradients_of_its_own),
                                     cmocka_unit_test(an_embedding_moves_its_rows_in_their_type)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
