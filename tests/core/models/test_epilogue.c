/* label: unit
   libs: sim
 * Epilogues of matrix products: which ops a plan takes into them and which must stay apart, over strategies and on drafts
 * made by hand; what that does to flops, bytes and seconds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/check/rendezvous.h"
#include "core/job/job.h"
#include "core/models/epilogue.h"
#include "core/op/flops.h"
#include "core/op/measured.h"
#include "core/op/operands.h"
#include "cost/compute.h"
#include "cost/measured.h"
#include "tests/support/job_fixture.h"

/* gpt2-tiny: letters of models/transformer.h; 2 sequences of 33 tokens. */
enum { LAYERS = 4, C = 128, I = 512, R = 2 * 33 };

static void open_config(struct fixture *f, const char *model, const char *cluster, int world, const char *zero,
                        const char *own) {
  const struct sl_build_options keep = {.save_grads = true};
  char config[1024];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 2, \"optimizer\": {\"type\": \"AdamW\"}%s, \"shardlab\": "
           "{\"seq_len\": %d%s}}",
           zero, strcmp(model, "gpt2-tiny") == 0 ? 33 : 0, own);
  if (fixture_open(f, model, config, cluster, world, &keep) != SL_OK || sl_check(&f->job) != SL_OK)
    fail_msg("%s: %s", config, sl_error_message());
}

/* How many of each a step of one rank has. */
struct counts {
  int gelu, dgelu, bgrad;           /* in products */
  int gelu_fwd, gelu_bwd, bias_bwd; /* ops of their own */
};

static void expect(const struct fixture *f, struct counts want, const char *what) {
  const struct {
    const char *label;
    int want;
  } rows[] = {{"gemm+gelu", want.gelu}, {"gemm+dgelu", want.dgelu},  {"gemm+bgrad", want.bgrad},
              {"gelu", want.gelu_fwd},  {"gelu_bwd", want.gelu_bwd}, {"bias_bwd", want.bias_bwd}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (fixture_count(f, rows[i].label) != rows[i].want)
      fail_msg("%s: %d of %s, expected %d", what, fixture_count(f, rows[i].label), rows[i].label, rows[i].want);
}

static void strategies_take_in_what_they_can(void **state) {
  (void)state;
#define ON ", \"fuse_epilogues\": \"always\""
#define ALL                                                                                                            \
  { LAYERS, LAYERS, 4 * LAYERS, 0, 0, 0 }
#define NOTHING                                                                                                        \
  { 0, 0, 0, LAYERS, LAYERS, 4 * LAYERS }
#define STAGE(n) ", \"zero_optimization\": {\"stage\": " n "}"
  static const struct {
    const char *model, *cluster, *zero, *own;
    int world;
    struct counts want;
  } cases[] = {
      {"gpt2-tiny", "localhost", "", "", 1, NOTHING},
      {"gpt2-tiny", "dgx-h100", "", "", 1, ALL},
      {"gpt2-tiny", "dgx-h100", "", ", \"fuse_epilogues\": \"never\"", 1, NOTHING},
      {"gpt2-tiny", "dgx-h100", "", ", \"tf32\": true", 1, ALL},
      {"gpt2-tiny", "localhost", "", ON, 1, ALL},
      {"gpt2-tiny", "localhost", STAGE("2"), ON, 3, ALL},
      {"gpt2-tiny", "localhost", STAGE("3"), ON, 2, ALL},
      /* the bias of a row-parallel layer is added behind its all_reduce, its gradient is made of what all members
       * have */
      {"gpt2-tiny", "localhost", "", ON ", \"tp\": 2", 2, ALL},
      /* ... and with sequence parallelism of this member's rows, when the weight's is made of all */
      {"gpt2-tiny",
       "localhost",
       "",
       ON ", \"tp\": 2, \"sequence_parallel\": true",
       2,
       {LAYERS, LAYERS, 2 * LAYERS, 0, 0, 2 * LAYERS}},
      {"gpt2-tiny", "localhost", "", ON ", \"recompute\": \"full\"", 1, {2 * LAYERS, LAYERS, 4 * LAYERS, 0, 0, 0}},
      {"gpt2-tiny", "localhost", "", ON ", \"recompute\": \"selective\", \"recompute_modules\": [\"layernorm\"]", 1,
       ALL},
      /* two of the four layers; both halves of a backward have theirs */
      {"gpt2-tiny", "localhost", "", ON ", \"pp\": 2, \"schedule\": \"zb-h1\"", 2, {2, 2, 8, 0, 0, 0}},
      /* an inner width of 140, which is no multiple of 8: cuBLASLt cannot, kernels of ours can */
      {SL_SOURCE_DIR "/tests/golden/gpt2_odd/config.json", "dgx-h100", "", "", 1, {0, 0, 12, 3, 3, 0}},
      {SL_SOURCE_DIR "/tests/golden/gpt2_odd/config.json", "localhost", "", ON, 1, {3, 3, 12, 0, 0, 0}},
      {SL_SOURCE_DIR "/tests/golden/llama_odd/config.json", "dgx-h100", "", "", 1, {0, 0, 0, 0, 0, 0}},
      {SL_SOURCE_DIR "/tests/golden/mlp/config.json", "dgx-h100", "", "", 1, {0, 0, 2, 0, 0, 0}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    char what[256];
    open_config(&f, cases[i].model, cases[i].cluster, cases[i].world, cases[i].zero, cases[i].own);
    snprintf(what, sizeof what, "%s on %d of %s%s%s", cases[i].model, cases[i].world, cases[i].cluster, cases[i].zero,
             cases[i].own);
    expect(&f, cases[i].want, what);
    fixture_close(&f);
  }
}

static const struct sl_buffer *buffer_of(const struct fixture *f, const struct sl_op *op, int operand) {
  const struct sl_class *c = &f->job.classes[0];
  return &c->buffers[c->programs[SL_PROGRAM_STEP].slices[op->slice + operand].buffer];
}

static enum sl_access access_of(const struct fixture *f, const struct sl_op *op, int operand) {
  return f->job.classes[0].programs[SL_PROGRAM_STEP].slices[op->slice + operand].access;
}

/* The pre-activation is where it is without the epilogue, and the backward reads it there. */
static void operands_are_those_of_the_pair(void **state) {
  (void)state;
  struct fixture f;
  open_config(&f, "gpt2-tiny", "localhost", 1,
              ", \"gradient_accumulation_steps\": 3, \"bf16\": {\"enabled\": true}, \"data_types\": "
              "{\"grad_accum_dtype\": \"fp32\"}, \"zero_optimization\": {\"stage\": 1}",
              ON);
  const struct sl_program *p = &f.job.classes[0].programs[SL_PROGRAM_STEP];
  for (size_t i = 0; i < p->op_count; i++) {
    const struct sl_op *op = &p->ops[i];
    const unsigned bgrad = op->flags & (SL_OP_BGRAD_A | SL_OP_BGRAD_B);
    if (op->kind != SL_OP_GEMM || !(op->flags & (SL_OP_GELU | SL_OP_DGELU) || bgrad)) continue;
    assert_int_equal(sl_op_at(op, SL_AT_SCRATCH), op->slice_count - 1); /* 16 bits on a CPU */
    if (op->flags & SL_OP_GELU) {
      assert_non_null(strstr(buffer_of(&f, op, sl_op_at(op, SL_AT_C))->name, "mlp.gelu"));
      assert_int_equal(sl_op_at(op, SL_AT_BIAS), 3);
    }
    if (op->flags & (SL_OP_GELU | SL_OP_DGELU)) {
      const int aux = sl_op_at(op, SL_AT_AUX);
      assert_non_null(strstr(buffer_of(&f, op, aux)->name, "mlp.fc"));
      assert_int_equal(access_of(&f, op, aux), op->flags & SL_OP_GELU ? SL_WRITE : SL_READ);
      assert_int_equal(access_of(&f, op, sl_op_at(op, SL_AT_C)), SL_WRITE);
    }
    if (!bgrad) continue;
    assert_int_equal(bgrad, SL_OP_BGRAD_B);
    const int dbias = sl_op_at(op, SL_AT_DBIAS);
    assert_int_equal(access_of(&f, op, dbias), SL_WRITE);
    assert_int_equal(p->slices[op->slice + dbias].bytes, 4 * op->dim[1]); /* in fp32, as gradients are kept */
  }
  fixture_close(&f);
}

/* A library's epilogue overwrites: from the second micro-batch on the bias's gradient is added by an op of its own,
 * while the weight's goes on being added in place. */
static void accumulation_adds_what_epilogues_overwrite(void **state) {
  (void)state;
  struct fixture on, off;
  const char *three = ", \"gradient_accumulation_steps\": 3";
  open_config(&on, "gpt2-tiny", "localhost", 1, three, ON);
  open_config(&off, "gpt2-tiny", "localhost", 1, three, "");
  assert_int_equal(fixture_count(&on, "add") - fixture_count(&off, "add"), 2 * 4 * LAYERS);
  const struct sl_program *p = &on.job.classes[0].programs[SL_PROGRAM_STEP];
  int added = 0;
  for (size_t i = 0; i < p->issue_count; i++) {
    const struct sl_op *op = &p->ops[p->issues[i].op];
    const int dbias = sl_op_at(op, SL_AT_DBIAS);
    if (op->kind != SL_OP_GEMM || dbias < 0) continue;
    assert_int_equal(access_of(&on, op, dbias), SL_WRITE);
    added += access_of(&on, op, sl_op_at(op, SL_AT_C)) == SL_READ_WRITE;
  }
  assert_int_equal(added, 2 * 4 * LAYERS);
  fixture_close(&on);
  fixture_close(&off);
}

static void sum(const struct fixture *f, double *flops, double *bytes) {
  const struct sl_program *p = &f->job.classes[0].programs[SL_PROGRAM_STEP];
  *flops = *bytes = 0;
  for (size_t i = 0; i < p->issue_count; i++) {
    *flops += sl_op_flops(&p->ops[p->issues[i].op]);
    *bytes += sl_op_bytes(&p->ops[p->issues[i].op], sl_op_slices(p, &p->ops[p->issues[i].op]));
  }
}

/* The same arithmetic, and of rows: gelu does not read what the product has at hand (I), gelu_bwd neither reads nor
 * writes it once more (2 I), bias_bwd does not read the gradients (3C, C, I and C); and the norms behind a block's two
 * residuals do not read what those have made (2 C; test_norm_fusion.c). */
static void flops_stay_and_bytes_are_saved(void **state) {
  (void)state;
  struct fixture on, off;
  double flops[2], bytes[2];
  open_config(&on, "gpt2-tiny", "localhost", 1, "", ON);
  open_config(&off, "gpt2-tiny", "localhost", 1, "", "");
  sum(&on, &flops[0], &bytes[0]);
  sum(&off, &flops[1], &bytes[1]);
  assert_true(flops[0] == flops[1]);
  assert_true(bytes[1] - bytes[0] == 4.0 * LAYERS * R * (4 * I + 5 * C + 2 * C));
  assert_int_equal(on.job.classes[0].programs[SL_PROGRAM_STEP].issue_count + 8 * LAYERS,
                   off.job.classes[0].programs[SL_PROGRAM_STEP].issue_count);
  fixture_close(&on);
  fixture_close(&off);
}

/* ---- by hand ---- */

enum { A, B, PRE, OUT, OTHER, HAND_BUFFERS };

static struct sl_operand use(int buffer, enum sl_access access, int64_t count) {
  return (struct sl_operand){.buffer = buffer, .slice = {.buffer = buffer, .access = access, .bytes = 4 * count}};
}

static struct sl_op op_of(enum sl_op_kind kind, int64_t d0, int64_t d1, int64_t d2) {
  return (struct sl_op){.kind = kind, .dtype = SL_F32, .dim = {d0, d1, d2}, .place_group = SL_GROUP_NONE};
}

struct hand {
  struct sl_plan plan;
  struct sl_model model; /* whose form says that gelu is the approximation */
  struct sl_cluster cluster;
  struct sl_lowered_stage stage;
  struct sl_lowering lowering;
};

static void open_hand(struct hand *h) {
  *h = (struct hand){.plan = {.fuse_epilogues = true}};
  h->cluster.device.kind = SL_DEVICE_GPU;
  h->plan.cluster = &h->cluster;
  h->plan.model = &h->model;
  h->lowering = (struct sl_lowering){.plan = &h->plan, .stage = &h->stage};
}

static void close_hand(struct hand *h) {
  free(h->stage.forward.items);
  free(h->stage.backward.items);
}

static void add(struct hand *h, struct sl_op op, int n, const struct sl_operand *operands) {
  assert_int_equal(sl_build_draft(&h->stage.forward, op, n, operands), SL_OK);
}
#define ADD(h, op, ...)                                                                                                \
  add(h, op, (int)(sizeof((struct sl_operand[]){__VA_ARGS__}) / sizeof(struct sl_operand)),                            \
      (struct sl_operand[]){__VA_ARGS__})

/* 24 x 40 by 16 and what follows. */
static void add_product(struct hand *h) {
  ADD(h, op_of(SL_OP_GEMM, 24, 40, 16), use(A, SL_READ, 24 * 16), use(B, SL_READ, 16 * 40),
      use(PRE, SL_WRITE, 24 * 40));
}

static void add_gelu(struct hand *h) {
  ADD(h, op_of(SL_OP_GELU_FWD, 24, 40, 0), use(PRE, SL_READ, 24 * 40), use(OUT, SL_WRITE, 24 * 40));
}

static void add_gelu_bwd(struct hand *h) {
  ADD(h, op_of(SL_OP_GELU_BWD, 24, 40, 0), use(PRE, SL_READ_WRITE, 24 * 40), use(OUT, SL_READ, 24 * 40));
}

static void add_copy(struct hand *h, int from, int to) {
  ADD(h, op_of(SL_OP_COPY, 960, 0, 0), use(from, SL_READ, 960), use(to, SL_WRITE, 960));
}

/* What is done to a pair that could be joined. */
enum spoil {
  NO_SPOIL,
  TAKES_UNRELATED,
  READ_BETWEEN,
  ADDED_TO,
  OTHER_TYPE,
  OTHER_LANE,
  OTHER_HALF,
  A_PART,
  OTHER_SHAPE,
  ODD_ROWS,
  INTO_A_FACTOR,
  TRANSPOSED_A,
  SPOILS
};

static void add_pair(struct hand *h, enum spoil spoil, bool forward) {
  add_product(h);
  if (spoil == TAKES_UNRELATED) add_copy(h, A, OTHER);
  if (spoil == READ_BETWEEN) add_copy(h, PRE, OTHER);
  forward ? add_gelu(h) : add_gelu_bwd(h);
  struct sl_draft *product = &h->stage.forward.items[0], *next = &h->stage.forward.items[h->stage.forward.count - 1];
  if (spoil == ADDED_TO) product->operand[2].slice.access = SL_READ_WRITE;
  if (spoil == OTHER_TYPE) product->op.dtype = SL_BF16;
  if (spoil == OTHER_LANE) next->op.lane = SL_LANE_TP;
  if (spoil == OTHER_HALF) next->half = SL_HALF_WEIGHT;
  if (spoil == A_PART) next->operand[0].slice.bytes /= 2;
  if (spoil == OTHER_SHAPE) next->op.dim[0] = 40, next->op.dim[1] = 24;
  if (spoil == ODD_ROWS) product->op.dim[1] = next->op.dim[1] = 36;
  if (spoil == INTO_A_FACTOR) next->operand[1].buffer = A;
  if (spoil == TRANSPOSED_A) product->op.flags |= SL_OP_TRANS_A;
}

static void what_stands_apart_stays_apart(void **state) {
  (void)state;
  for (int forward = 0; forward < 2; forward++) {
    for (int spoil = 0; spoil < SPOILS; spoil++) {
      struct hand h;
      open_hand(&h);
      add_pair(&h, (enum spoil)spoil, forward);
      const bool joins = spoil == NO_SPOIL || spoil == TAKES_UNRELATED;
      const size_t before = h.stage.forward.count;
      sl_models_fuse_epilogues(&h.lowering);
      const unsigned flag = forward ? SL_OP_GELU : SL_OP_DGELU;
      if (h.stage.forward.count != before - joins ||
          (h.stage.forward.items[0].op.flags & (SL_OP_GELU | SL_OP_DGELU)) != (joins ? flag : 0))
        fail_msg("%s, case %d: %zu of %zu drafts are left", forward ? "gelu" : "gelu_bwd", spoil, h.stage.forward.count,
                 before);
      close_hand(&h);
    }
  }
}

/* gelu_bwd may pass what does not touch it; not what writes its argument. */
static void an_op_passes_only_what_it_does_not_touch(void **state) {
  (void)state;
  for (int writes = 0; writes < 2; writes++) {
    struct hand h;
    open_hand(&h);
    add_product(&h);
    add_copy(&h, A, writes ? OUT : OTHER);
    add_gelu_bwd(&h);
    sl_models_fuse_epilogues(&h.lowering);
    assert_int_equal(h.stage.forward.count, writes ? 3 : 2);
    close_hand(&h);
  }
}

static struct sl_operand gradient(int placed, int64_t count) {
  struct sl_operand o = use(-1, SL_WRITE, count);
  o.placed = placed;
  o.gradient = true;
  return o;
}

/* dw (24, 40) = a^T b over 16 rows; the bias is that of b's columns, or a's. */
static void a_bias_gradient_is_of_the_rows_of_a_factor(void **state) {
  (void)state;
  static const struct {
    int of, columns, rows;
    unsigned flag;
  } cases[] = {
      {B, 40, 16, SL_OP_BGRAD_B}, {A, 24, 16, SL_OP_BGRAD_A}, {B, 40, 8, 0}, {OTHER, 40, 16, 0}, {A, 40, 16, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct hand h;
    struct sl_op op = op_of(SL_OP_GEMM, 24, 40, 16);
    open_hand(&h);
    op.flags = SL_OP_TRANS_A;
    ADD(&h, op, use(A, SL_READ, 16 * 24), use(B, SL_READ, 16 * 40), gradient(0, 24 * 40));
    const int64_t width = cases[i].of == A ? 24 : 40;
    ADD(&h, op_of(SL_OP_BIAS_BWD, cases[i].rows, cases[i].columns, 0), use(cases[i].of, SL_READ, 16 * width),
        gradient(1, cases[i].columns));
    sl_models_fuse_epilogues(&h.lowering);
    assert_int_equal(h.stage.forward.count, cases[i].flag != 0 ? 1 : 2);
    assert_int_equal(h.stage.forward.items[0].op.flags & (SL_OP_BGRAD_A | SL_OP_BGRAD_B), cases[i].flag);
    if (cases[i].flag != 0) assert_int_equal(h.stage.forward.items[0].operand[3].placed, 1);
    close_hand(&h);
  }
}

/* ---- seconds ---- */

static void near(double got, double want) {
  if (!(fabs(got / want - 1) < 1e-12)) fail_msg("%.17g, expected %.17g", got, want);
}

/* By the formulas: arithmetic with the epilogue's, and no launch for it; by a profile: its own entry, else the plain
 * product's and the bytes of aux. */
static void seconds_of_an_epilogue(void **state) {
  (void)state;
  struct sl_cluster c = {.nodes = 1, .devices_per_node = 1};
  struct sl_cost_rank r;
  double seconds;
  c.device = (struct sl_device){.name = "odd",
                                .kind = SL_DEVICE_GPU,
                                .memory_bandwidth = 17e9,
                                .gemm_efficiency = 0.8,
                                .attention_efficiency = 1,
                                .elementwise_efficiency = 0.7,
                                .launch_latency = 3e-6};
  c.device.peak[SL_BF16] = 1e15;
  const int64_t m = 304, n = 512, k = 96;
  struct sl_slice slices[] = {{.bytes = 2 * m * k, .access = SL_READ},
                              {.bytes = 2 * k * n, .access = SL_READ},
                              {.bytes = 2 * m * n, .access = SL_WRITE},
                              {.bytes = 2 * m * n, .access = SL_READ}};
  const struct sl_op op = {
      .kind = SL_OP_GEMM, .dtype = SL_BF16, .flags = SL_OP_TRANS_B | SL_OP_DGELU, .dim = {m, n, k}, .slice_count = 4};
  const struct sl_work work = sl_work_of(&op, slices, 0);
  assert_int_equal(sl_cost_share(&r, &c, NULL, 1), SL_OK);
  assert_int_equal(sl_cost_compute(&r, &work, &seconds), SL_OK);
  near(seconds, 3e-6 + 2.0 * (double)(m * k + k * n + 2 * m * n) / (17e9 * 0.7));

  struct sl_op_cost entries[] = {{.kind = SL_OP_GEMM, .dtype = SL_BF16, .ranks = 1},
                                 {.kind = SL_OP_GEMM, .dtype = SL_BF16, .ranks = 1, .variant = SL_VARIANT_TRANS_B},
                                 {.kind = SL_OP_GEMM, .dtype = SL_BF16, .ranks = 1, .variant = SL_VARIANT_DGELU_B}};
  for (int i = 0; i < 3; i++) entries[i].seconds[SL_TERM_LAUNCH] = 1e-5 * (i + 1);
  for (int known = 1; known <= 3; known++) {
    const double aux = known < 3 ? 2.0 * (double)(m * n) / (17e9 * 0.7) : 0;
    c.op_costs = (struct sl_op_costs){.count = known, .items = entries};
    assert_int_equal(sl_cost_compute(&r, &work, &seconds), SL_OK);
    near(seconds, 3e-6 + 1e-5 * known + aux);
    assert_int_equal(sl_cost_stands_in(&entries[known - 1], &work), known < 3);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(strategies_take_in_what_they_can),
      cmocka_unit_test(operands_are_those_of_the_pair),
      cmocka_unit_test(accumulation_adds_what_epilogues_overwrite),
      cmocka_unit_test(flops_stay_and_bytes_are_saved),
      cmocka_unit_test(what_stands_apart_stays_apart),
      cmocka_unit_test(an_op_passes_only_what_it_does_not_touch),
      cmocka_unit_test(a_bias_gradient_is_of_the_rows_of_a_factor),
      cmocka_unit_test(seconds_of_an_epilogue),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
