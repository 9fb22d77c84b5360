/* Runs compute ops by kernels/ and matrix products, one short function per kind of op. Functions whose kernels take the
 * same arguments on a GPU, and the table of all, are in backend/common/dispatch.inc. Operands and numbers of an op are
 * decoded in backend/common/call.c. */
#include "backend/common/anomaly.h"
#include "backend/common/call.h"
#include "backend/common/offload.h"
#include "backend/host/host.h"
#include "backend/host/product.h"

#include "kernels/all.h"
#include "kernels/by_dtype.h"
#include "kernels/convert.h"
#include "kernels/onebit.h"

#include <math.h>
#include <omp.h>
#include <string.h>

static struct sl_host *host_of(const struct sl_call *c) {
  return c->backend;
}

/* The kernels for the op's number type. */
static const struct sl_kernels *k(const struct sl_call *c) {
  return sl_kernels_of(c->type);
}

/* Dropout, with its mask if the op has one. */
static struct sl_dropout row_dropout(const struct sl_call *c, size_t skipped, size_t columns) {
  struct sl_dropout dropout = sl_call_dropout(c, skipped, columns);
  dropout.mask = c->x[SL_AT_MASK];
  return dropout;
}

/* --- the model --- */

/* Loads inputs and targets, or the one of them that this pipeline stage needs. */
static enum sl_status load_batch(const struct sl_call *c) {
  const int64_t first = sl_input_first_sample(&host_of(c)->input, &host_of(c)->options, c->it, c->rank.step);
  return sl_input_batch(&host_of(c)->input, c->rank.coord, first, c->it, c->x[SL_AT_INPUTS], c->x[SL_AT_TARGETS]);
}

static enum sl_status embed_fwd(const struct sl_call *c) {
  struct sl_dropout dropout = row_dropout(c, 0, c->dim[2]);
  struct sl_embedding_shape shape = sl_call_embedding(c);
  k(c)->embedding_forward(c->x[SL_AT_OUT], c->x[SL_AT_TOKENS], c->x[SL_AT_WTE], c->x[SL_AT_WPE], &shape, &dropout);
  return SL_OK;
}

static enum sl_status embed_bwd(const struct sl_call *c) {
  struct sl_dropout dropout = row_dropout(c, 0, c->dim[2]);
  struct sl_embedding_shape shape = sl_call_embedding(c);
  k(c)->embedding_backward(c->x[SL_AT_DWTE], c->adds[SL_AT_DWTE], c->x[SL_AT_DWPE], c->dim[4], c->adds[SL_AT_DWPE],
                           c->dtype[SL_AT_DWTE] == SL_F32, c->x[SL_AT_DOUT], c->x[SL_AT_TOKENS], &shape, &dropout);
  return SL_OK;
}

/* What a product of factors in fp8 is multiplied by: the inverses of both scales. */
static float inverse_scale(const struct sl_call *c) {
  const float *a = c->x[SL_AT_SCALE_A], *b = c->x[SL_AT_SCALE_B];
  return c->op->flags & SL_OP_SCALED ? a[1] * b[1] : 1;
}

static void sgemm(const struct sl_call *c, const float *a, const float *b, float *out, bool add) {
  sl_host_product(&(struct sl_product){.m = (int)c->dim[0],
                                       .n = (int)c->dim[1],
                                       .k = (int)c->dim[2],
                                       .trans_a = c->op->flags & SL_OP_TRANS_A,
                                       .trans_b = c->op->flags & SL_OP_TRANS_B,
                                       .add = add,
                                       .scale = inverse_scale(c),
                                       .a = a,
                                       .b = b,
                                       .c = out});
}

static void fill_rows(float *out, const float *row, size_t rows, size_t columns) {
#pragma omp parallel for if (rows * columns > 65536)
  for (size_t i = 0; i < rows; i++) {
    if (out + i * columns != row) memcpy(out + i * columns, row, columns * sizeof *out);
  }
}

/* c = a b + bias. The bias is written to c first and the product added to it. This replaces the pass in which sgemm
 * would zero c, so the bias costs nothing. */
static void gemm_f32(const struct sl_call *c, void *to) {
  const void *bias = c->x[SL_AT_BIAS];
  const bool adds = c->adds[SL_AT_C], fill = bias && !adds;
  if (fill) fill_rows(to, bias, c->dim[0], c->dim[1]);
  sgemm(c, c->x[SL_AT_A], c->x[SL_AT_B], to, fill || adds);
  if (bias && adds) sl_reduce_bias_add(to, bias, c->dim[0], c->dim[1]);
}

/* A factor of a 16-bit product in fp32. */
static void widen(const struct sl_call *c, float *to, enum sl_at name, size_t n) {
  if (c->op->flags & SL_OP_SCALED)
    sl_fp8_decode(to, c->x[name], n, sl_call_fp8(c, name));
  else
    sl_convert(to, SL_NUMBER_F32, c->x[name], sl_call_type(c, name), n);
}

/* 16-bit products use fp32 copies in the op's workspace; the result is rounded once. So do those in fp8. */
static void gemm_16(const struct sl_call *c, void *to) {
  const size_t mk = c->dim[0] * c->dim[2], kn = c->dim[2] * c->dim[1], mn = c->dim[0] * c->dim[1];
  const enum sl_number to_type = sl_call_type(c, SL_AT_C);
  const void *bias = c->x[SL_AT_BIAS];
  float *a = c->x[SL_AT_SCRATCH], *b = a + mk, *out = b + kn;
  widen(c, a, SL_AT_A, mk);
  widen(c, b, SL_AT_B, kn);
  if (c->adds[SL_AT_C]) sl_convert(out, SL_NUMBER_F32, to, to_type, mn);
  if (bias) {
    sl_convert(out, SL_NUMBER_F32, bias, sl_call_type(c, SL_AT_BIAS), c->dim[1]);
    fill_rows(out, out, c->dim[0], c->dim[1]);
  }
  sgemm(c, a, b, out, c->adds[SL_AT_C] || bias);
  sl_convert(to, to_type, out, SL_NUMBER_F32, mn);
}

/* The column sums of x, in the factors' type as bias_bwd computes them. If they are wanted in fp32, they go through the
 * workspace, whose product has already been read. */
static void bias_gradient(const struct sl_call *c, void *dbias, const void *x, size_t n) {
  const enum sl_number type = sl_call_type(c, SL_AT_A), wanted = sl_call_type(c, SL_AT_DBIAS);
  void *to = type == wanted ? dbias : c->x[SL_AT_SCRATCH];
  k(c)->reduce_bias_backward(to, x, c->dim[2], n, 0);
  if (to != dbias) sl_convert(dbias, wanted, to, type, n);
}

static enum sl_status bias_bwd(const struct sl_call *c) {
  k(c)->reduce_bias_backward(c->x[SL_AT_DBIAS], c->x[SL_AT_DOUT], c->dim[0], c->dim[1], c->adds[SL_AT_DBIAS]);
  return SL_OK;
}

/* OpenBLAS has no epilogues: the kernels of the ops that they replace run after the product, so that a fused program
 * has the same bits as an unfused one. */
static enum sl_status gemm(const struct sl_call *c) {
  const unsigned flags = c->op->flags;
  void *out = c->x[SL_AT_C], *aux = c->x[SL_AT_AUX], *dbias = c->x[SL_AT_DBIAS], *to = flags & SL_OP_GELU ? aux : out;
  if (flags & SL_OP_WORKSPACE)
    gemm_16(c, to);
  else
    gemm_f32(c, to);
  if (flags & SL_OP_GELU) k(c)->gelu_forward(out, to, NULL, c->dim[0], c->dim[1]);
  if (flags & SL_OP_DGELU) k(c)->gelu_backward(out, out, aux, NULL, c->dim[0], c->dim[1]);
  if (flags & SL_OP_BGRAD_A) bias_gradient(c, dbias, c->x[SL_AT_A], c->dim[0]);
  if (flags & SL_OP_BGRAD_B) bias_gradient(c, dbias, c->x[SL_AT_B], c->dim[1]);
  return SL_OK;
}

static enum sl_status attention_fwd(const struct sl_call *c) {
  struct sl_dropout dropout;
  struct sl_attention_shape shape = sl_call_attention(c, &dropout);
  const void *q = c->x[SL_AT_Q], *key = c->x[SL_AT_K], *v = c->x[SL_AT_V];
  void *work = c->x[SL_AT_SCRATCH];
  const size_t bytes = c->bytes[SL_AT_SCRATCH];
  dropout.mask = c->x[SL_AT_MASK];
  if (c->op->kind == SL_OP_FLASH_FWD)
    k(c)->flash_attention_forward(c->x[SL_AT_OUT], c->x[SL_AT_SOFTMAX], q, key, v, &shape, &dropout, work, bytes);
  else
    k(c)->attention_forward(c->x[SL_AT_OUT], c->x[SL_AT_SOFTMAX], c->x[SL_AT_DROPPED], q, key, v, &shape, &dropout,
                            work, bytes);
  return SL_OK;
}

static enum sl_status attention_bwd(const struct sl_call *c) {
  struct sl_dropout dropout;
  struct sl_attention_shape shape = sl_call_attention(c, &dropout);
  const void *q = c->x[SL_AT_Q], *key = c->x[SL_AT_K], *v = c->x[SL_AT_V], *dout = c->x[SL_AT_DOUT];
  void *dq = c->x[SL_AT_DQ], *dk = c->x[SL_AT_DK], *dv = c->x[SL_AT_DV], *work = c->x[SL_AT_SCRATCH];
  const size_t bytes = c->bytes[SL_AT_SCRATCH];
  dropout.mask = c->x[SL_AT_MASK];
  if (c->op->kind == SL_OP_FLASH_BWD)
    k(c)->flash_attention_backward(dq, dk, dv, dout, q, key, v, c->x[SL_AT_OUT], c->x[SL_AT_SOFTMAX], &shape, &dropout,
                                   work, bytes);
  else
    k(c)->attention_backward(dq, dk, dv, dout, q, key, v, c->x[SL_AT_SOFTMAX], c->x[SL_AT_DROPPED], &shape, &dropout,
                             work, bytes);
  return SL_OK;
}

/* With sequence parallelism the op's rows start at this rank's place in the micro-batch. */
static enum sl_status residual_fwd(const struct sl_call *c) {
  struct sl_dropout dropout = row_dropout(c, c->place * c->dim[0], c->dim[1]);
  k(c)->dropout_residual(c->x[SL_AT_OUT], c->x[SL_AT_RESIDUAL], c->x[SL_AT_X], c->x[SL_AT_BIAS], c->dim[0], c->dim[1],
                         &dropout);
  return SL_OK;
}

static enum sl_status dropout(const struct sl_call *c) {
  struct sl_dropout dropout = row_dropout(c, c->place * c->dim[0], c->dim[1]);
  if (c->op->phase == SL_PHASE_BACKWARD)
    k(c)->dropout_backward(c->x[SL_AT_OUT], c->x[SL_AT_X], c->dim[0], c->dim[1], &dropout);
  else
    k(c)->dropout_forward(c->x[SL_AT_OUT], c->x[SL_AT_X], c->dim[0], c->dim[1], &dropout);
  return SL_OK;
}

/* A norm's row sums need what the residual stream becomes, so the op that it takes in runs first; a branch's gradient
 * is that of the stream, so there it runs last. */
static void add_branch(const struct sl_call *c) {
  struct sl_dropout dropout = row_dropout(c, c->place * c->dim[0], c->dim[1]);
  if (!(c->op->flags & SL_OP_RESIDUAL)) return;
  k(c)->dropout_residual(c->x[SL_AT_X], c->x[SL_AT_RESIDUAL], c->x[SL_AT_BRANCH], c->x[SL_AT_BRANCH_BIAS], c->dim[0],
                         c->dim[1], &dropout);
}

static enum sl_status drop_branch(const struct sl_call *c) {
  struct sl_dropout dropout = row_dropout(c, c->place * c->dim[0], c->dim[1]);
  if (c->op->flags & SL_OP_RESIDUAL)
    k(c)->dropout_backward(c->x[SL_AT_DBRANCH], c->x[SL_AT_DX], c->dim[0], c->dim[1], &dropout);
  return SL_OK;
}

static enum sl_status layernorm_fwd(const struct sl_call *c) {
  float *mean = c->x[SL_AT_STATS], *rstd = mean + c->dim[0];
  add_branch(c);
  k(c)->layernorm_forward(c->x[SL_AT_OUT], mean, rstd, c->x[SL_AT_X], c->x[SL_AT_WEIGHT], c->x[SL_AT_BIAS], c->dim[0],
                          c->dim[1], (float)c->op->scale, sl_call_from_one(c));
  return SL_OK;
}

/* All of it, or the half that makes dx, or the one that makes the weights' gradients: what a half has not is NULL. */
static enum sl_status layernorm_bwd(const struct sl_call *c) {
  const float *mean = c->x[SL_AT_STATS], *rstd = mean + c->dim[0];
  /* the kernel has one flag for both; core gives both the same access, being neighbours in one buffer */
  k(c)->layernorm_backward(c->x[SL_AT_DX], c->adds[SL_AT_DX], c->x[SL_AT_DWEIGHT], c->x[SL_AT_DBIAS],
                           c->dtype[SL_AT_DWEIGHT] == SL_F32, c->adds[SL_AT_DWEIGHT], c->x[SL_AT_DOUT], c->x[SL_AT_X],
                           c->x[SL_AT_WEIGHT], mean, rstd, c->dim[0], c->dim[1], sl_call_from_one(c),
                           c->x[SL_AT_SCRATCH]);
  return drop_branch(c);
}

static enum sl_status rmsnorm_fwd(const struct sl_call *c) {
  add_branch(c);
  k(c)->llama_rmsnorm_forward(c->x[SL_AT_OUT], c->x[SL_AT_STATS], c->x[SL_AT_X], c->x[SL_AT_WEIGHT], c->dim[0],
                              c->dim[1], (float)c->op->scale, sl_call_from_one(c));
  return SL_OK;
}

static enum sl_status rmsnorm_bwd(const struct sl_call *c) {
  k(c)->llama_rmsnorm_backward(c->x[SL_AT_DX], c->adds[SL_AT_DX], c->x[SL_AT_DWEIGHT],
                               c->dtype[SL_AT_DWEIGHT] == SL_F32, c->adds[SL_AT_DWEIGHT], c->x[SL_AT_DOUT],
                               c->x[SL_AT_X], c->x[SL_AT_WEIGHT], c->x[SL_AT_STATS], c->dim[0], c->dim[1],
                               sl_call_from_one(c), c->x[SL_AT_SCRATCH]);
  return drop_branch(c);
}

/* The gradient of a loss carries the loss scale of fp16 training (1 otherwise), the reported loss does not. Where all
 * members of a group compute the same loss, only the first one reports it. */
static float gradient_scale(const struct sl_call *c) {
  const struct sl_step_state *control = c->x[SL_AT_CONTROL];
  return (float)(c->op->scale * control->loss_scale);
}

static enum sl_status report_loss(const struct sl_call *c, double sum) {
  struct sl_step_state *control = c->x[SL_AT_CONTROL];
  if (c->place == 0) control->loss_sum += sum * c->op->scale;
  return SL_OK;
}

static enum sl_status classifier(const struct sl_call *c) {
  double sum = 0;
  k(c)->classifier_fused(&sum, c->x[SL_AT_SCRATCH], c->x[SL_AT_LOGITS], c->x[SL_AT_TARGETS], c->dim[0], c->dim[1],
                         c->dim[2], gradient_scale(c), 0);
  return report_loss(c, sum);
}

static enum sl_status classifier_shard(const struct sl_call *c) {
  double sum = 0;
  k(c)->classifier_shard(&sum, c->x[SL_AT_SCRATCH], c->x[SL_AT_LOGITS], c->x[SL_AT_TARGETS], c->x[SL_AT_STATS],
                         c->dim[0], c->dim[1], c->place * c->dim[1], c->dim[2], c->dim[3], gradient_scale(c), 0);
  return report_loss(c, sum);
}

static enum sl_status mse(const struct sl_call *c) {
  double sum = 0;
  k(c)->mlp_mse(&sum, c->x[SL_AT_X], c->x[SL_AT_X], c->x[SL_AT_TARGETS], c->dim[0] * c->dim[1], gradient_scale(c), 0,
                c->x[SL_AT_SCRATCH]);
  return report_loss(c, sum);
}

/* --- state --- */

static enum sl_status fill(const struct sl_call *c) {
  if (c->op->scale == 0)
    memset(c->x[SL_AT_X], 0, c->bytes[SL_AT_X]);
  else
    k(c)->reduce_fill(c->x[SL_AT_X], (float)c->op->scale, c->dim[0]);
  return SL_OK;
}

static enum sl_status copy(const struct sl_call *c) {
  const struct sl_taken taken = sl_call_taken(c);
  sl_convert(taken.to, sl_call_type(c, SL_AT_OUT), taken.from, sl_call_type(c, SL_AT_X), taken.count);
  return SL_OK;
}

static enum sl_status add(const struct sl_call *c) {
  const struct sl_taken taken = sl_call_taken(c);
  sl_convert_add(taken.to, sl_call_type(c, SL_AT_OUT), taken.from, sl_call_type(c, SL_AT_X), taken.count);
  return SL_OK;
}

static enum sl_status fp8_cast(const struct sl_call *c) {
  const enum sl_at to = c->x[SL_AT_OUT] ? SL_AT_OUT : SL_AT_TRANSPOSED;
  sl_fp8_cast(c->x[SL_AT_OUT], c->x[SL_AT_TRANSPOSED], c->x[SL_AT_X], sl_call_type(c, SL_AT_X), c->dim[0], c->dim[1],
              sl_call_fp8(c, to), c->x[SL_AT_SCALE], c->x[SL_AT_AMAX]);
  return SL_OK;
}

static enum sl_status fp8_scale(const struct sl_call *c) {
  sl_fp8_scale(c->x[SL_AT_SCALE], c->x[SL_AT_AMAX], c->x[SL_AT_HISTORY], c->dim[0], c->dim[1], sl_call_fp8_rule(c));
  return SL_OK;
}

static enum sl_status control_step(const struct sl_call *c) {
  sl_step_state_advance(c->x[SL_AT_CONTROL], c->rank.plan->config);
  return SL_OK;
}

static enum sl_status norm(const struct sl_call *c) {
  return sl_offload_norm(c);
}

static enum sl_status adam(const struct sl_call *c) {
  return sl_offload_adam(c);
}

static enum sl_status sgd(const struct sl_call *c) {
  return sl_offload_sgd(c);
}

static double squares_of(const struct sl_call *c, size_t n) {
  double sum = 0;
  sl_kernels_of(SL_NUMBER_F32)->reduce_sum_squares(&sum, c->x[SL_AT_ERROR], n, 0, c->x[SL_AT_SCRATCH]);
  return sum;
}

static enum sl_status sign_pack(const struct sl_call *c) {
  const struct sl_step_state *control = c->x[SL_AT_CONTROL];
  const struct sl_signs shape = {c->dim[1], c->dim[2], c->bytes[SL_AT_OUT] / c->dim[2]};
  if (control->grad_factor < 0) return SL_OK;
  const struct sl_adam a = sl_call_adam(c, control->good_steps - 1);
  sl_onebit_blend(c->x[SL_AT_ERROR], c->x[SL_AT_MOMENT1], c->x[SL_AT_GRADIENT], sl_call_type(c, SL_AT_GRADIENT),
                  c->dim[0], c->op->scale * control->grad_factor, a.beta1);
  sl_onebit_pack(c->x[SL_AT_OUT], c->x[SL_AT_ERROR], squares_of(c, c->dim[1] * c->dim[2]), &shape);
  return SL_OK;
}

static enum sl_status sign_sum(const struct sl_call *c) {
  const struct sl_step_state *control = c->x[SL_AT_CONTROL];
  const struct sl_signs all = {c->dim[0], c->dim[1], c->bytes[SL_AT_OUT]}, own = {c->dim[0], 1, c->bytes[SL_AT_OUT]};
  if (control->grad_factor < 0) return SL_OK;
  sl_onebit_average(c->x[SL_AT_ERROR], c->x[SL_AT_X], &all);
  sl_onebit_pack(c->x[SL_AT_OUT], c->x[SL_AT_ERROR], squares_of(c, c->dim[0]), &own);
  return SL_OK;
}

static enum sl_status onebit_adam(const struct sl_call *c) {
  const struct sl_step_state *control = c->x[SL_AT_CONTROL];
  const struct sl_signs shape = {c->dim[1], c->dim[2], c->bytes[SL_AT_X] / c->dim[2]};
  if (control->grad_factor < 0) return SL_OK;
  struct sl_adam a = sl_call_adam(c, control->good_steps - 1);
  a.lr = control->lr;
  a.step = control->good_steps;
  sl_onebit_adam(c->x[SL_AT_MASTER], c->x[SL_AT_MOMENT1], c->x[SL_AT_MOMENT2], c->x[SL_AT_X], &shape, c->x[SL_AT_PARAM],
                 sl_call_type(c, SL_AT_PARAM), c->dim[0], &a);
  return SL_OK;
}

static enum sl_status init_tensor(const struct sl_call *c) {
  return sl_tensors_init(&host_of(c)->tensors, c->op);
}

static enum sl_status save_tensor(const struct sl_call *c) {
  return sl_tensors_save(&host_of(c)->tensors, c->op);
}

/* The end of a program. At the end of the save program the files are complete. */
static enum sl_status join(const struct sl_call *c) {
  return host_of(c)->kind == SL_PROGRAM_SAVE ? sl_tensors_save_finish(&host_of(c)->tensors) : SL_OK;
}

#define KERNEL(c, name, ...) (k(c)->name(__VA_ARGS__), SL_OK)
#include "backend/common/dispatch.inc"

struct sl_call_rank sl_host_call_rank(const struct sl_host *host) {
  return (struct sl_call_rank){.plan = host->job->plan,
                               .coord = host->coord,
                               .members = host->members,
                               .arena = host->arena,
                               .scratch = host->scratch,
                               .scratch_bytes = host->scratch_bytes,
                               .step = host->step};
}

void *sl_host_operand(const struct sl_host *host, const struct sl_issued *it, int i) {
  const struct sl_call_rank rank = sl_host_call_rank(host);
  return sl_call_operand(&rank, it, i);
}

enum sl_status sl_host_run(struct sl_host *host, const struct sl_issued *it) {
  const struct sl_call_rank rank = sl_host_call_rank(host);
  struct sl_call call;
  sl_call_decode(&call, &rank, it);
  call.backend = host;
  return table[it->op->kind](&call);
}

static enum sl_status fetch(void *context, void *to, const void *from, size_t bytes) {
  (void)context;
  memcpy(to, from, bytes);
  return SL_OK;
}

enum sl_status sl_host_look(struct sl_host *host, const struct sl_issued *it, double at_s) {
  const struct sl_call_rank rank = sl_host_call_rank(host);
  return host->options.detect_anomaly ? sl_anomaly_look(&host->anomaly, &rank, it, at_s, fetch, NULL) : SL_OK;
}

enum sl_status sl_host_supports(const struct sl_program *program, const struct sl_op *op, size_t *scratch_bytes) {
  *scratch_bytes = 0;
  if (sl_op_is_comm(op->kind)) return SL_OK;
  if (!table[op->kind]) return sl_fail(SL_ERR_INPUT, "the host backend has no \"%s\"", sl_op_name(op->kind));
  if (op->dtype == SL_TF32)
    return sl_fail(SL_ERR_INPUT,
                   "the host backend has no tf32, which is the matrix units' of a GPU; expected --backend "
                   "cuda, or \"tf32\": false");
  if (op->kind == SL_OP_GEMM && op->dtype != SL_F32 && !(op->flags & SL_OP_WORKSPACE))
    return sl_fail(SL_ERR_INPUT,
                   "the plan's %s products are those of a GPU; expected a cluster of CPUs here, such as "
                   "localhost",
                   sl_dtype_name(op->dtype));
  return sl_call_supports(op, sl_op_slices(program, op), omp_get_max_threads(), scratch_bytes);
}
