/* Programs built op by op: products over a grid of shapes, the other kernels by size, memory, collectives and sends by
 * size. They run on the executor like any other program, so an op costs here what it costs in a step.
 *
 * Operands move through two windows of memory per type, one that is read and one that is written, each larger than the
 * caches, so that an op finds its operands in no cache. */
#include "calibrate/calibration.h"

#include "core/op/workspace.h"

#include <stdlib.h>
#include <string.h>

enum { BUFFER_CONTROL, WINDOWS, TYPES = 3, BUFFERS = WINDOWS + 2 * TYPES };
enum { THREADS = 8 /* threads that scratch is sized for; further ones take turns */ };
enum { WIDEST_NORM = 8192 /* rows of logits are wider than those of any norm, whose kernels are others there */ };

struct bench {
  struct sl_class *rank_class;
  struct sl_program *program;
  const struct sl_calibration_grid *grid;
  bool quick, fuses;
  enum sl_dtype dtype; /* of operands */
  int64_t at[BUFFERS]; /* where the next operand of a window starts, in bytes */
};

/* --- building --- */

static struct sl_op op_of(enum sl_op_kind kind) {
  return sl_op_plain(kind, SL_F32, SL_PHASE_FORWARD);
}

/* A type without its own windows, such as tf32, uses those of fp32. */
static int window_of(const struct sl_calibration_grid *grid, enum sl_dtype dtype, bool written) {
  return WINDOWS + 2 * ((int)dtype < grid->types ? (int)dtype : 0) + written;
}

/* An operand of `count` elements of b->dtype, in the window for `access`. */
static struct sl_slice operand(struct bench *b, enum sl_access access, int64_t count) {
  const int buffer = window_of(b->grid, b->dtype, access != SL_READ);
  const int64_t bytes = sl_dtype_bytes(b->dtype) * count, padded = sl_aligned(bytes);
  if (b->at[buffer] + padded > b->grid->window_bytes) b->at[buffer] = 0;
  const struct sl_slice slice = {.buffer = buffer, .access = access, .offset = b->at[buffer], .bytes = bytes};
  b->at[buffer] += padded;
  return slice;
}

static struct sl_slice control(void) {
  return (struct sl_slice){
      .buffer = BUFFER_CONTROL, .access = SL_READ_WRITE, .bytes = (int64_t)sizeof(struct sl_step_state)};
}

static enum sl_status grow(struct sl_program *p, int operands) {
  SL_TRY(sl_grow(&p->ops, &p->op_capacity, p->op_count + 1, sizeof *p->ops));
  SL_TRY(sl_grow(&p->slices, &p->slice_capacity, p->slice_count + (size_t)operands, sizeof *p->slices));
  SL_TRY(sl_grow(&p->issues, &p->issue_capacity, p->issue_count + 1, sizeof *p->issues));
  return sl_grow(&p->waits, &p->wait_capacity, p->wait_count + SL_LANE_COUNT, sizeof *p->waits);
}

static enum sl_status emit(struct sl_program *p, struct sl_op op, int count, const struct sl_slice *operands) {
  SL_TRY(grow(p, count));
  op.slice = (int32_t)p->slice_count;
  op.slice_count = count;
  for (int i = 0; i < count; i++) p->slices[p->slice_count++] = operands[i];
  struct sl_issue issue = {
      .op = (uint32_t)p->op_count, .wait = (uint32_t)p->wait_count, .lane_index = p->lane_ops[op.lane]};
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) { /* ops run one after the other, without overlap */
    if (lane == (int)op.lane || p->lane_ops[lane] == 0) continue;
    p->waits[p->wait_count++] = (struct sl_wait){(uint32_t)lane, p->lane_ops[lane]};
    issue.wait_count++;
  }
  p->lane_ops[op.lane]++;
  p->ops[p->op_count++] = op;
  p->issues[p->issue_count++] = issue;
  return SL_OK;
}

#define EMIT(bench, op, ...)                                                                                           \
  emit((bench)->program, op, (int)(sizeof((struct sl_slice[]){__VA_ARGS__}) / sizeof(struct sl_slice)),                \
       (struct sl_slice[]){__VA_ARGS__})

/* --- kernels --- */

static enum sl_status product(struct bench *b, int64_t m, int64_t n, int64_t k, unsigned flags) {
  struct sl_op op = op_of(SL_OP_GEMM);
  op.dtype = b->dtype;
  op.flags = flags;
  op.dim[0] = m, op.dim[1] = n, op.dim[2] = k;
  struct sl_slice operands[5] = {operand(b, SL_READ, m * k), operand(b, SL_READ, k * n), operand(b, SL_WRITE, m * n)};
  int count = 3;
  if (flags & SL_OP_BIAS) operands[count++] = operand(b, SL_READ, n);
  if (flags & (SL_OP_GELU | SL_OP_DGELU))
    operands[count++] = operand(b, flags & SL_OP_GELU ? SL_WRITE : SL_READ, m * n);
  if (flags & SL_OP_BGRAD_B) operands[count++] = operand(b, SL_WRITE, n);
  return emit(b->program, op, count, operands);
}

/* The forms that occur in layers whose weights are (in, out): GPT-2's, the only ones with GELU. */
static enum sl_status epilogues(struct bench *b, const struct sl_calibration_product *p) {
  static const unsigned forms[] = {SL_OP_BIAS | SL_OP_GELU, SL_OP_TRANS_B | SL_OP_DGELU, SL_OP_TRANS_A | SL_OP_BGRAD_B};
  for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
    const bool aux = forms[f] & (SL_OP_GELU | SL_OP_DGELU);
    if (!aux || p->n % 8 == 0) SL_TRY(product(b, p->m, p->n, p->k, forms[f]));
  }
  return SL_OK;
}

static enum sl_status products(struct bench *b) {
  static const unsigned forms[] = {0, SL_OP_TRANS_A, SL_OP_TRANS_B, SL_OP_TRANS_A | SL_OP_TRANS_B};
  for (int i = 0; i < b->grid->product_count; i++) {
    const struct sl_calibration_product *p = &b->grid->products[i];
    if (b->quick && !p->quick) continue;
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
      if (f == 3 && i % 4 != 0) continue; /* no program transposes both factors, so a few suffice */
      SL_TRY(product(b, p->m, p->n, p->k, forms[f]));
    }
    if (b->fuses) SL_TRY(epilogues(b, p));
  }
  return SL_OK;
}

/* An operand that is float whatever the type of the others. */
static struct sl_slice float_operand(struct bench *b, enum sl_access access, int64_t count) {
  const enum sl_dtype own = b->dtype;
  b->dtype = SL_F32;
  const struct sl_slice slice = operand(b, access, count);
  b->dtype = own;
  return slice;
}

static struct sl_slice floats(struct bench *b, int64_t count) {
  return float_operand(b, SL_WRITE, count);
}

static struct sl_slice scratch(struct bench *b, const struct sl_op *op) {
  return floats(b, sl_op_workspace(op, THREADS) / 4);
}

/* A forward and its backward on (B, T, H, D); with `flash` the softmax leaves one number per row. */
static enum sl_status attention(struct bench *b, const int64_t s[4], double dropout, bool flash) {
  const int64_t n = s[0] * s[1] * s[2] * s[3], rows = s[0] * s[2] * s[1];
  struct sl_op op = op_of(flash ? SL_OP_FLASH_FWD : SL_OP_ATTENTION_FWD);
  op.dtype = b->dtype;
  memcpy(op.dim, s, 4 * sizeof *s);
  op.dim[4] = s[2];
  op.dropout = dropout;
  struct sl_slice qkv = operand(b, SL_READ, 3 * n), out = operand(b, SL_WRITE, n);
  struct sl_slice kept = flash ? floats(b, rows) : operand(b, SL_WRITE, rows * s[1]);
  SL_TRY(EMIT(b, op, qkv, out, kept, scratch(b, &op)));
  kept.access = out.access = SL_READ;
  const struct sl_slice dout = operand(b, SL_READ, n), gradients = operand(b, SL_WRITE, 3 * n);
  op.kind = flash ? SL_OP_FLASH_BWD : SL_OP_ATTENTION_BWD;
  if (!flash) return EMIT(b, op, dout, qkv, kept, gradients, scratch(b, &op));
  return EMIT(b, op, dout, qkv, out, kept, gradients, scratch(b, &op));
}

static enum sl_status attentions(struct bench *b) {
  const int64_t(*shapes)[4] = b->grid->attentions;
  for (enum sl_dtype type = SL_F32; type <= SL_F16; type++) {
    b->dtype = type;
    for (int i = 0; i < b->grid->attention_count; i++) {
      for (int way = 0; way < 4; way++) {
        if (b->quick && i % 4 != way) continue;
        SL_TRY(attention(b, shapes[i], way & 1 ? 0.1 : 0, way & 2));
      }
    }
  }
  b->dtype = SL_F32;
  return SL_OK;
}

/* The norm of rows and its gradients. */
static enum sl_status norms(struct bench *b, int64_t r, int64_t c) {
  const int64_t n = r * c;
  struct sl_op op = op_of(SL_OP_LAYERNORM_FWD);
  op.dtype = b->dtype;
  op.dim[0] = r, op.dim[1] = c;
  op.scale = 1e-5;
  SL_TRY(EMIT(b, op, operand(b, SL_READ, n), operand(b, SL_READ, c), operand(b, SL_READ, c), operand(b, SL_WRITE, n),
              floats(b, 2 * r)));
  op.kind = SL_OP_LAYERNORM_BWD;
  return EMIT(b, op, operand(b, SL_READ, n), operand(b, SL_READ, n), operand(b, SL_READ, c),
              float_operand(b, SL_READ, 2 * r), operand(b, SL_READ_WRITE, n), operand(b, SL_WRITE, c),
              operand(b, SL_WRITE, c), scratch(b, &op));
}

/* The element-wise kernels of a transformer and of an mlp on (r, c). */
static enum sl_status rows(struct bench *b, int64_t r, int64_t c) {
  const int64_t n = r * c;
  struct sl_op op = op_of(SL_OP_BIAS_BWD);
  op.dtype = b->dtype;
  op.dim[0] = r, op.dim[1] = c;
  if (c <= WIDEST_NORM) SL_TRY(norms(b, r, c));
  SL_TRY(EMIT(b, op, operand(b, SL_READ, n), operand(b, SL_WRITE, c)));
  op.kind = SL_OP_GELU_FWD;
  SL_TRY(EMIT(b, op, operand(b, SL_READ, n), operand(b, SL_WRITE, n)));
  op.kind = SL_OP_GELU_BWD;
  SL_TRY(EMIT(b, op, operand(b, SL_READ_WRITE, n), operand(b, SL_READ, n)));
  op.kind = SL_OP_RELU_FWD;
  SL_TRY(EMIT(b, op, operand(b, SL_READ_WRITE, n)));
  op.kind = SL_OP_RELU_BWD;
  SL_TRY(EMIT(b, op, operand(b, SL_READ_WRITE, n), operand(b, SL_READ, n)));
  op.dim[1] = c / 2, op.dim[2] = 2; /* for two members; every c is even */
  op.kind = SL_OP_CONCAT_COLUMNS;
  SL_TRY(EMIT(b, op, operand(b, SL_READ, n), operand(b, SL_WRITE, n)));
  op.kind = SL_OP_SPLIT_COLUMNS;
  SL_TRY(EMIT(b, op, operand(b, SL_READ, n), operand(b, SL_WRITE, n / 2)));
  op.dim[1] = c, op.dim[2] = 0;
  op.kind = SL_OP_RESIDUAL_FWD;
  SL_TRY(EMIT(b, op, operand(b, SL_READ, n), operand(b, SL_READ, n), operand(b, SL_WRITE, n)));
  op.dropout = 0.1;
  SL_TRY(EMIT(b, op, operand(b, SL_READ, n), operand(b, SL_READ, n), operand(b, SL_WRITE, n)));
  op.kind = SL_OP_DROPOUT;
  return EMIT(b, op, operand(b, SL_READ, n), operand(b, SL_WRITE, n));
}

/* Kernels over a flat run of n elements. */
static enum sl_status flat(struct bench *b, int64_t n) {
  struct sl_op op = op_of(SL_OP_FILL);
  op.dtype = b->dtype;
  op.dim[0] = n;
  SL_TRY(EMIT(b, op, operand(b, SL_WRITE, n))); /* zeros, as in programs */
  op.kind = SL_OP_COPY;
  SL_TRY(EMIT(b, op, operand(b, SL_READ, n), operand(b, SL_WRITE, n)));
  op.kind = SL_OP_ADD;
  SL_TRY(EMIT(b, op, operand(b, SL_READ, n), operand(b, SL_READ_WRITE, n)));
  op.kind = SL_OP_NORM;
  op.scale = 1e-9;
  SL_TRY(EMIT(b, op, operand(b, SL_READ, n), control(), scratch(b, &op)));
  if (b->dtype != SL_F32) return SL_OK; /* optimizers use floats */
  op.kind = SL_OP_SGD;
  op.flags = SL_OP_MOMENTUM;
  SL_TRY(EMIT(b, op, operand(b, SL_READ_WRITE, n), operand(b, SL_READ, n), operand(b, SL_READ_WRITE, n), control()));
  op.kind = SL_OP_ADAMW;
  op.flags = 0;
  return EMIT(b, op, operand(b, SL_READ_WRITE, n), operand(b, SL_READ, n), operand(b, SL_READ_WRITE, n),
              operand(b, SL_READ_WRITE, n), control());
}

static enum sl_status kernels(struct bench *b) {
  const struct sl_calibration_grid *g = b->grid;
  for (int i = 0; i < g->row_count; i++)
    if (!b->quick || i != 3) SL_TRY(rows(b, g->rows[i][0], g->rows[i][1]));
  for (int i = 0; i < g->length_count; i++)
    if (!b->quick || i != 3) SL_TRY(flat(b, g->lengths[i]));
  return SL_OK;
}

/* --- communication --- */

static enum sl_status collectives(struct bench *b, int members, enum sl_dtype dtype) {
  const int step = b->quick ? 8 : dtype == SL_F32 ? 3 : 6;
  b->dtype = dtype;
  for (int64_t n = 300; n < (16 << 20); n *= step) { /* 300 to 16 M elements */
    const int64_t shard = n / members, whole = shard * members;
    struct sl_op op = op_of(SL_OP_ALL_REDUCE);
    op.dtype = dtype;
    op.lane = SL_LANE_DP;
    op.group = SL_GROUP_DP;
    op.payload = SL_PAYLOAD_GRADIENT;
    op.dim[0] = whole;
    SL_TRY(EMIT(b, op, operand(b, SL_READ_WRITE, whole)));
    op.kind = SL_OP_REDUCE_SCATTER;
    SL_TRY(EMIT(b, op, operand(b, SL_READ_WRITE, whole), operand(b, SL_WRITE, shard)));
    SL_TRY(EMIT(b, op, operand(b, SL_READ_WRITE, whole), operand(b, SL_READ_WRITE, shard)));
    op.kind = SL_OP_ALL_GATHER;
    SL_TRY(EMIT(b, op, operand(b, SL_READ, shard), operand(b, SL_WRITE, whole)));
    op.kind = SL_OP_BROADCAST;
    SL_TRY(EMIT(b, op, operand(b, SL_READ_WRITE, whole)));
  }
  return SL_OK;
}

/* Sums of 16-bit numbers cost differently from those of floats. Collectives that only move bytes could be derived from
 * one type, but are measured for all, so that every type has its own costs. */
static enum sl_status all_collectives(struct bench *b, int members) {
  static const enum sl_dtype types[] = {SL_F32, SL_BF16, SL_F16};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) SL_TRY(collectives(b, members, types[i]));
  b->dtype = SL_F32;
  return SL_OK;
}

/* Stage 0 sends a message and receives one of the same size back: half of the round trip is the cost of one send.
 * Messages come in such pairs so that the op that is timed, the send back, begins when the other side is known to have
 * received everything. */
static enum sl_status sends(struct bench *b, int stage) {
  for (int64_t n = 300; n < (16 << 20); n = n * (b->quick ? 8 : 4)) {
    struct sl_op op = op_of(stage == 0 ? SL_OP_SEND : SL_OP_RECV);
    op.lane = stage == 0 ? SL_LANE_SEND_F : SL_LANE_RECV_F;
    op.peer = 1 - stage;
    op.payload = SL_PAYLOAD_ACTIVATION;
    op.dim[0] = n;
    SL_TRY(EMIT(b, op, operand(b, stage == 0 ? SL_READ : SL_WRITE, n)));
    op.kind = stage == 0 ? SL_OP_RECV : SL_OP_SEND;
    op.lane = stage == 0 ? SL_LANE_RECV_B : SL_LANE_SEND_B;
    SL_TRY(EMIT(b, op, operand(b, stage == 0 ? SL_WRITE : SL_READ, n)));
  }
  return SL_OK;
}

/* --- jobs --- */

static enum sl_status close_program(struct sl_program *p, int stage) {
  struct sl_op join = op_of(SL_OP_JOIN);
  SL_TRY(emit(p, join, 0, NULL));
  SL_TRY(sl_calloc(&p->instances, 1, sizeof *p->instances));
  p->instances[0] =
      (struct sl_instance){.action = {SL_ACTION_STEP, stage, -1}, .op_count = (int32_t)p->op_count, .micro_batch = -1};
  p->instance_count = p->instance_capacity = 1;
  return SL_OK;
}

/* Windows of types that the grid does not have take no memory. */
static void open_buffers(struct sl_class *c, const struct sl_calibration_grid *grid) {
  int64_t at = 0;
  for (int i = 0; i < BUFFERS; i++) {
    struct sl_buffer *b = &c->buffers[i];
    const int type = (i - WINDOWS) / 2;
    *b = (struct sl_buffer){.dtype = SL_F32, .persistent = true, .slots = 1, .first_slot = i};
    if (i == BUFFER_CONTROL) {
      snprintf(b->name, sizeof b->name, "control");
      b->bytes = (int64_t)sizeof(struct sl_step_state);
    } else {
      b->dtype = (enum sl_dtype)type;
      snprintf(b->name, sizeof b->name, "%s %s", sl_dtype_name(b->dtype), (i - WINDOWS) % 2 ? "written" : "read");
      b->bytes = type < grid->types ? grid->window_bytes : 0;
    }
    c->slot_offsets[i] = at;
    at += sl_aligned(b->bytes);
  }
  c->arena_bytes[SL_SPACE_DEVICE] = at;
}

static enum sl_status open_class(struct sl_class *c, int stage, int rank_count,
                                 const struct sl_calibration_grid *grid) {
  c->pp_rank = stage;
  c->rank_count = rank_count;
  c->first_rank = stage * rank_count;
  c->last_rank = c->first_rank + rank_count - 1;
  c->control = BUFFER_CONTROL;
  SL_TRY(sl_calloc(&c->buffers, BUFFERS, sizeof *c->buffers));
  SL_TRY(sl_calloc(&c->slot_offsets, BUFFERS, sizeof *c->slot_offsets));
  c->buffer_count = c->buffer_capacity = c->slot_count = BUFFERS;
  open_buffers(c, grid);
  for (int k = 0; k < SL_PROGRAM_COUNT; k++) c->programs[k].kind = (enum sl_program_kind)k;
  struct bench b = {.rank_class = c, .program = &c->programs[SL_PROGRAM_INIT]};
  /* 0.01 everywhere: no denormals, and no overflow within a few steps. On a GPU the buffers are filled with noise
   * before (options.noise). */
  for (int i = WINDOWS; i < BUFFERS && grid->types == 1; i++) {
    struct sl_op op = op_of(SL_OP_FILL);
    op.scale = 0.01;
    op.dim[0] = c->buffers[i].bytes / 4;
    if (op.dim[0] > 0) SL_TRY(EMIT(&b, op, {.buffer = i, .access = SL_WRITE, .bytes = c->buffers[i].bytes}));
  }
  SL_TRY(close_program(b.program, stage));
  return close_program(&c->programs[SL_PROGRAM_SAVE], stage);
}

static enum sl_status open_job(struct sl_job *job, const struct sl_plan *plan, const struct sl_calibration_grid *grid) {
  *job = (struct sl_job){.plan = plan, .class_count = plan->pp, .classes_per_pp_rank = 1};
  SL_TRY(sl_calloc(&job->classes, (size_t)plan->pp, sizeof *job->classes));
  for (int i = 0; i < plan->pp; i++) SL_TRY(open_class(&job->classes[i], i, plan->world / plan->pp, grid));
  return SL_OK;
}

static struct bench bench_of(struct sl_job *job, int stage, const struct sl_calibration_grid *grid, bool quick) {
  struct sl_class *c = &job->classes[stage];
  return (struct bench){.rank_class = c, .program = &c->programs[SL_PROGRAM_STEP], .grid = grid, .quick = quick};
}

enum sl_status sl_calibration_bench_job(struct sl_job *job, const struct sl_plan *plan,
                                        const struct sl_calibration_grid *grid, bool quick, bool tf32) {
  SL_TRY(open_job(job, plan, grid));
  struct bench b = bench_of(job, 0, grid, quick);
  b.fuses = plan->fuse_epilogues;
  b.dtype = SL_TF32;
  if (tf32) SL_TRY(products(&b));
  for (int type = 0; type < grid->types; type++) {
    b.dtype = (enum sl_dtype)type;
    SL_TRY(products(&b));
    SL_TRY(kernels(&b));
  }
  SL_TRY(attentions(&b));
  return close_program(b.program, 0);
}

static enum sl_status communication_job(struct sl_job *job, const struct sl_plan *plan,
                                        const struct sl_calibration_grid *grid, bool quick) {
  SL_TRY(open_job(job, plan, grid));
  for (int stage = 0; stage < plan->pp; stage++) {
    struct bench b = bench_of(job, stage, grid, quick);
    SL_TRY(plan->pp > 1 ? sends(&b, stage) : all_collectives(&b, plan->world));
    SL_TRY(close_program(b.program, stage));
  }
  return SL_OK;
}

/* Makes a plan for a job without a real model, of which only coordinates, configuration and cluster are used. The model
 * has as many layers as the pipeline has ranks. */
static enum sl_status run_job(struct sl_calibration *c, bool communication, int pp) {
  struct sl_calibration_model_job in;
  enum sl_status status;
  const char *text = c->text;
  char config[128];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\":1,\"optimizer\":{\"type\":\"AdamW\"},\"shardlab\":{\"pp\":%d}}", pp);
  SL_GO(sl_calibration_plan(&in, "calibration", "{\"model_type\":\"mlp\",\"dims\":[3,5,2]}", config, c->grid->cluster,
                            c->ranks));
  SL_GO(communication ? communication_job(&in.job, &in.plan, c->grid, c->quick)
                      : sl_calibration_bench_job(&in.job, &in.plan, c->grid, c->quick, c->tf32));
  c->text = NULL;
  c->noise = c->gpu;
  SL_GO(sl_calibration_run(c, &in.job, 2, "program", true, NULL));
done:
  c->text = text;
  c->noise = false;
  sl_calibration_model_close(&in);
  return status;
}

enum sl_status sl_calibration_bench(struct sl_calibration *c) {
  SL_TRY(run_job(c, false, 1));
  if (c->ranks < 2) return SL_OK;
  SL_TRY(run_job(c, true, 1));
  return c->ranks % 2 == 0 ? run_job(c, true, 2) : SL_OK;
}
