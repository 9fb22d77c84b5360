/* label: unit
   libs: sim
 * What norms take in: which residuals and dropouts a plan leaves no op of their own, over strategies and on drafts made by
 * hand, and the operands that are left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/check/rendezvous.h"
#include "core/job/job.h"
#include "core/models/norm_fusion.h"
#include "core/op/flops.h"
#include "core/op/operands.h"
#include "tests/support/job_fixture.h"

#define DROPS SL_SOURCE_DIR "/tests/backend/cuda/gpt2_dropout.json" /* two layers, with dropout of their branches */
#define LLAMA SL_SOURCE_DIR "/tests/golden/llama_odd/config.json"
#define ON ", \"fuse_epilogues\": \"always\""
enum { R = 2 * 5 };

static void open_plan(struct fixture *f, const char *model, const char *cluster, int world, const char *own) {
  char config[512];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 2, \"optimizer\": {\"type\": \"AdamW\"}, \"shardlab\": "
           "{\"seq_len\": 5%s}}",
           own);
  if (fixture_open(f, model, config, cluster, world, NULL) != SL_OK || sl_check(&f->job) != SL_OK)
    fail_msg("%s: %s", config, sl_error_message());
}

/* Of a step of one rank: norms that take in a residual or a dropout, and those ops on their own. */
struct counts {
  int with_residual, with_dropout, residual, dropout;
};

static void strategies_leave_no_op_that_a_norm_can_take_in(void **state) {
  (void)state;
  static const struct {
    const char *model, *cluster, *own;
    int world;
    struct counts want;
  } cases[] = {
      {DROPS, "localhost", "", 1, {0, 0, 4, 4}},
      {DROPS, "localhost", ON, 1, {4, 4, 0, 0}},
      {DROPS, "dgx-h100", "", 1, {4, 4, 0, 0}},
      {DROPS, "dgx-h100", ", \"fuse_epilogues\": \"never\"", 1, {0, 0, 4, 4}},
      {DROPS, "dgx-h100", ", \"kernels\": \"torch-eager\"", 1, {0, 0, 4, 4}},
      {DROPS, "dgx-h100", ", \"store_dropout_masks\": true", 1, {0, 0, 4, 4}},
      /* where members hold parts of the vocabulary, the embedding's dropout is an op in its forward, too */
      {DROPS, "dgx-h100", ", \"tp\": 2", 2, {4, 5, 0, 1}},
      {DROPS, "dgx-h100", ", \"tp\": 2, \"sequence_parallel\": true", 2, {4, 5, 0, 1}},
      /* a block is made again behind the norm that follows it and before its last dropout; its first residual is made
       * again */
      {DROPS, "dgx-h100", ", \"recompute\": \"full\"", 1, {6, 2, 0, 2}},
      /* the first stage's output leaves it, and the second one's gradient arrives */
      {DROPS, "dgx-h100", ", \"pp\": 2, \"schedule\": \"1f1b\"", 2, {1, 1, 1, 1}},
      {LLAMA, "dgx-h100", "", 1, {4, 0, 0, 0}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    open_plan(&f, cases[i].model, cases[i].cluster, cases[i].world, cases[i].own);
    const struct counts got = {fixture_count(&f, "residual+layernorm") + fixture_count(&f, "residual+rmsnorm"),
                               fixture_count(&f, "layernorm_bwd+dropout") + fixture_count(&f, "rmsnorm_bwd+dropout"),
                               fixture_count(&f, "residual"), fixture_count(&f, "dropout")};
    if (memcmp(&got, &cases[i].want, sizeof got) != 0)
      fail_msg("%s on %d of %s%s: %d, %d, %d and %d", cases[i].model, cases[i].world, cases[i].cluster, cases[i].own,
               got.with_residual, got.with_dropout, got.residual, got.dropout);
    fixture_close(&f);
  }
}

static const struct sl_op *first_of(const struct fixture *f, const char *label) {
  const struct sl_program *p = &f->job.classes[0].programs[SL_PROGRAM_STEP];
  for (size_t i = 0; i < p->op_count; i++)
    if (strcmp(sl_op_label(&p->ops[i]), label) == 0) return &p->ops[i];
  fail_msg("no %s", label);
  return NULL;
}

static const char *name_of(const struct fixture *f, const struct sl_op *op, enum sl_at operand) {
  const struct sl_class *c = &f->job.classes[0];
  return c->buffers[sl_op_operand(op, sl_op_slices(&c->programs[SL_PROGRAM_STEP], op), operand)->buffer].name;
}

/* The first that is backward. */
static const struct sl_op *first_dropout(const struct fixture *f) {
  const struct sl_program *p = &f->job.classes[0].programs[SL_PROGRAM_STEP];
  const struct sl_op *op = p->ops;
  while (op->kind != SL_OP_DROPOUT || op->phase != SL_PHASE_BACKWARD) op++;
  return op;
}

/* Each has the fields of the op that is taken in and the operands of both; with tensor parallelism a bias, and of a
 * part of the sequence this member's place. */
static void operands_are_those_of_the_pair(void **state) {
  (void)state;
  struct fixture apart, f;
  open_plan(&apart, DROPS, "localhost", 2, ", \"tp\": 2, \"sequence_parallel\": true");
  open_plan(&f, DROPS, "localhost", 2, ON ", \"tp\": 2, \"sequence_parallel\": true");
  const struct sl_op *residual = first_of(&apart, "residual"), *op = first_of(&f, "residual+layernorm");
  assert_string_equal(name_of(&f, op, SL_AT_RESIDUAL), name_of(&apart, residual, SL_AT_RESIDUAL));
  assert_string_equal(name_of(&f, op, SL_AT_BRANCH), name_of(&apart, residual, SL_AT_X));
  assert_string_equal(name_of(&f, op, SL_AT_X), "h.0.x_mid");
  assert_string_equal(name_of(&f, op, SL_AT_OUT), "h.0.ln_2");
  assert_true(sl_op_at(op, SL_AT_BRANCH_BIAS) == 2 && op->flags & SL_OP_BIAS);
  assert_true(op->dropout == 0.2 && op->stream == residual->stream && op->place_group == SL_GROUP_TP);
  const struct sl_op *dropout = first_dropout(&apart), *back = first_of(&f, "layernorm_bwd+dropout");
  assert_string_equal(name_of(&f, back, SL_AT_DBRANCH), name_of(&f, back, SL_AT_DOUT)); /* in its place */
  assert_true(back->dropout == 0.2 && back->stream == dropout->stream && back->place_group == SL_GROUP_TP);
  fixture_close(&apart);
  fixture_close(&f);
}

static void sum(const struct fixture *f, double *flops, double *bytes) {
  const struct sl_program *p = &f->job.classes[0].programs[SL_PROGRAM_STEP];
  *flops = *bytes = 0;
  for (size_t i = 0; i < p->issue_count; i++) {
    const struct sl_op *op = &p->ops[p->issues[i].op];
    if (op->kind == SL_OP_GEMM || op->kind == SL_OP_BIAS_BWD || op->kind == SL_OP_GELU_FWD ||
        op->kind == SL_OP_GELU_BWD)
      continue; /* those of epilogues */
    *flops += sl_op_flops(op);
    *bytes += sl_op_bytes(op, sl_op_slices(p, op));
  }
}

/* The stream is not read by four norms, nor its gradient by four dropouts: 8 columns of fp32. The arena is no
 * larger. */
static void flops_stay_and_the_stream_is_read_less(void **state) {
  (void)state;
  struct fixture on, off;
  double flops[2], bytes[2];
  open_plan(&on, DROPS, "localhost", 1, ON);
  open_plan(&off, DROPS, "localhost", 1, "");
  sum(&on, &flops[0], &bytes[0]);
  sum(&off, &flops[1], &bytes[1]);
  assert_true(flops[0] == flops[1]);
  assert_true(bytes[1] - bytes[0] == 8.0 * R * 8 * 4);
  assert_true(on.job.classes[0].arena_bytes[SL_SPACE_DEVICE] <= off.job.classes[0].arena_bytes[SL_SPACE_DEVICE]);
  fixture_close(&on);
  fixture_close(&off);
}

/* ---- by hand ---- */

enum { RESIDUAL, BRANCH, X, WEIGHT, OUT, STATS, OTHER };

static struct sl_operand use(int buffer, enum sl_access access) {
  return (struct sl_operand){.buffer = buffer, .slice = {.buffer = buffer, .access = access, .bytes = 96}};
}

static struct sl_op op_of(enum sl_op_kind kind) {
  return (struct sl_op){.kind = kind, .dtype = SL_F32, .dim = {4, 6}, .place_group = SL_GROUP_NONE};
}

#define ADD(stage, op, ...) assert_int_equal(SL_BUILD_DRAFT(&(stage)->forward, op, __VA_ARGS__), SL_OK)

/* What is done to a pair that could be one op. */
enum spoil { NO_SPOIL, BETWEEN, OTHER_TYPE, OTHER_LANE, OTHER_ROWS, OTHER_PHASE, A_PART, OTHER_INPUT, A_MASK, SPOILS };

static void add_pair(struct sl_lowered_stage *stage, enum spoil spoil) {
  struct sl_op norm = op_of(SL_OP_RMSNORM_FWD), residual = op_of(SL_OP_RESIDUAL_FWD);
  residual.dropout = 0.5;
  if (spoil == OTHER_TYPE) norm.dtype = SL_BF16;
  if (spoil == OTHER_LANE) norm.lane = SL_LANE_TP;
  if (spoil == OTHER_ROWS) norm.dim[0] = 6, norm.dim[1] = 4;
  if (spoil == OTHER_PHASE) norm.phase = SL_PHASE_BACKWARD;
  if (spoil == A_MASK) residual.flags = SL_OP_MASK;
  ADD(stage, residual, use(RESIDUAL, SL_READ), use(BRANCH, SL_READ), use(X, SL_WRITE));
  struct sl_operand in = use(spoil == OTHER_INPUT ? BRANCH : X, SL_READ);
  if (spoil == A_PART) in.slice.bytes = 48;
  if (spoil == BETWEEN) ADD(stage, op_of(SL_OP_COPY), use(BRANCH, SL_READ), use(OTHER, SL_WRITE));
  ADD(stage, norm, in, use(WEIGHT, SL_READ), use(OUT, SL_WRITE), use(STATS, SL_WRITE));
}

static void what_stands_apart_stays_apart(void **state) {
  (void)state;
  for (int spoil = 0; spoil < SPOILS; spoil++) {
    struct sl_plan plan = {.fuse_epilogues = true};
    struct sl_lowered_stage stage = {0};
    struct sl_lowering lowering = {.plan = &plan, .stage = &stage};
    add_pair(&stage, (enum spoil)spoil);
    const size_t before = stage.forward.count;
    sl_models_fuse_norms(&lowering);
    const struct sl_draft *last = &stage.forward.items[stage.forward.count - 1];
    if (stage.forward.count != before - (spoil == NO_SPOIL) ||
        (last->op.flags & SL_OP_RESIDUAL ? 1 : 0) != (spoil == NO_SPOIL))
      fail_msg("case %d: %zu of %zu drafts are left", spoil, stage.forward.count, before);
    if (spoil == NO_SPOIL) assert_true(last->operand_count == 6 && last->op.dropout == 0.5);
    free(stage.forward.items);
  }
}

enum { DOUT = OTHER + 1, DX, DBRANCH, SCRATCH };

/* A branch's gradient overwrites the norm's, and whoever reads it finds it there; not where that is needed once more,
 * in this block, or has another shape. */
static void a_branch_gradient_overwrites_what_nobody_needs(void **state) {
  (void)state;
  for (int way = 0; way < 4; way++) {
    struct sl_plan plan = {.fuse_epilogues = true};
    struct sl_lowered_stage stage = {0};
    struct sl_lowering lowering = {.plan = &plan, .stage = &stage};
    struct sl_op norm = op_of(SL_OP_RMSNORM_BWD), dropout = op_of(SL_OP_DROPOUT), copy = op_of(SL_OP_COPY);
    norm.layer = 3, dropout.layer = copy.layer = 2;
    struct sl_operand dout = use(DOUT, SL_READ);
    if (way == 1) dout.slice.slot = SL_SLOT_WEIGHT;
    ADD(&stage, norm, dout, use(X, SL_READ), use(WEIGHT, SL_READ), use(STATS, SL_READ), use(DX, SL_READ_WRITE),
        use(OUT, SL_WRITE), use(SCRATCH, SL_WRITE));
    ADD(&stage, dropout, use(DX, SL_READ), use(DBRANCH, SL_WRITE));
    ADD(&stage, copy, use(DBRANCH, SL_READ), use(OTHER, SL_WRITE));
    if (way == 3) copy.layer = 1; /* the block before it has no such buffer: nobody looks there */
    if (way >= 2) ADD(&stage, copy, use(DOUT, SL_READ), use(OTHER, SL_WRITE));
    sl_models_fuse_norms(&lowering);
    const int32_t want = way == 0 || way == 3 ? DOUT : DBRANCH;
    const struct sl_draft *fused = &stage.forward.items[0], *reads = fused + 1;
    assert_int_equal(stage.forward.count, way >= 2 ? 3 : 2);
    assert_int_equal(fused->operand[sl_op_at(&fused->op, SL_AT_DBRANCH)].slice.buffer, want);
    assert_int_equal(fused->operand[sl_op_at(&fused->op, SL_AT_DX)].buffer, DX);
    assert_int_equal(reads->operand[0].buffer, want);
    free(stage.forward.items);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(strategies_leave_no_op_that_a_norm_can_take_in),
      cmocka_unit_test(operands_are_those_of_the_pair),
      cmocka_unit_test(flops_stay_and_the_stream_is_read_less),
      cmocka_unit_test(what_stands_apart_stays_apart),
      cmocka_unit_test(a_branch_gradient_overwrites_what_nobody_needs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
