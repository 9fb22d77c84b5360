/* Compute ops as calls of kernels/ and OpenBLAS: one short function per kind, and a table of them. */
#include "backend/host/host.h"

#include "kernels/all.h"

#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <string.h>

/* An op about to run: its operands' addresses, in the order of SL_OP_MAP. */
struct call {
  struct sl_host *host;
  const struct sl_issued *it;
  const struct sl_op *op;
  size_t dim[5];
  void *x[16];
  size_t bytes[16];
  bool adds[16]; /* the operand is read and written */
  int count;
};

/* Scratch: operand `i` where the op brings one, else the backend's own. */
static void *scratch(const struct call *c, int i, size_t *bytes) {
  bool own = i >= c->count;
  *bytes = own ? c->host->scratch_bytes : c->bytes[i];
  return own ? c->host->scratch : c->x[i];
}

/* --- random numbers --- */

static struct sl_dropout dropout_of(const struct call *c, uint64_t first, uint64_t row_stride) {
  return (struct sl_dropout){.p = (float)c->op->dropout,
                             .key = {(uint32_t)c->host->job->plan->config->sl.seed, SL_STREAM_DROPOUT,
                                     (uint32_t)c->host->step, (uint32_t)c->op->stream},
                             .first_element = first,
                             .row_stride = row_stride};
}

/* Rows are tokens: global row = (sequence's place in the global batch) x T + t. */
static struct sl_dropout row_dropout(const struct call *c, size_t columns) {
  uint64_t row = (uint64_t)sl_host_first_sequence(c->host, c->it) * (uint64_t)c->host->job->plan->seq;
  return dropout_of(c, row * columns, columns);
}

static struct sl_attention_shape attention_shape(const struct call *c, struct sl_dropout *dropout) {
  size_t b = c->dim[0], t = c->dim[1], h = c->dim[2], d = c->dim[3];
  size_t heads = (size_t)c->host->job->plan->model->n_head;
  uint64_t first =
      (uint64_t)sl_host_first_sequence(c->host, c->it) * heads + (h < heads ? (uint64_t)c->host->coord.tp * h : 0);
  *dropout = dropout_of(c, first * t * t, 0);
  return (struct sl_attention_shape){.B = b,
                                     .T = t,
                                     .H = h,
                                     .KV = h,
                                     .D = d,
                                     .q_stride = 3 * h * d,
                                     .k_stride = 3 * h * d,
                                     .v_stride = 3 * h * d,
                                     .out_stride = h * d,
                                     .global_heads = heads};
}

/* --- the model --- */

static enum sl_status load_batch(const struct call *c) {
  return sl_host_load_batch(c->host, c->it);
}

static enum sl_status embed_fwd(const struct call *c) {
  struct sl_dropout dropout = row_dropout(c, c->dim[2]);
  struct sl_embedding_shape shape = {.B = c->dim[0], .T = c->dim[1], .C = c->dim[2], .n_rows = c->dim[3]};
  sl_embedding_forward(c->x[3], c->x[0], c->x[1], c->x[2], &shape, &dropout);
  return SL_OK;
}

static enum sl_status embed_bwd(const struct call *c) {
  struct sl_dropout dropout = row_dropout(c, c->dim[2]);
  struct sl_embedding_shape shape = {.B = c->dim[0], .T = c->dim[1], .C = c->dim[2], .n_rows = c->dim[3]};
  sl_embedding_backward(c->x[2], c->adds[2], c->x[3], c->dim[4], c->adds[3], c->x[1], c->x[0], &shape, &dropout);
  return SL_OK;
}

static enum sl_status layernorm_fwd(const struct call *c) {
  float *mean = c->x[4], *rstd = mean + c->dim[0];
  sl_layernorm_forward(c->x[3], mean, rstd, c->x[0], c->x[1], c->x[2], c->dim[0], c->dim[1], (float)c->op->scale);
  return SL_OK;
}

static enum sl_status layernorm_bwd(const struct call *c) {
  size_t bytes;
  const float *mean = c->x[3], *rstd = mean + c->dim[0];
  float *dweight = c->x[5], *dbias = c->x[6];
  /* the kernel has one flag for both; core gives both the same access, being neighbours in one buffer */
  sl_layernorm_backward(c->x[4], c->adds[4], dweight, dbias, c->adds[5], c->x[0], c->x[1], c->x[2], mean, rstd,
                        c->dim[0], c->dim[1], scratch(c, 7, &bytes));
  return SL_OK;
}

/* c = a b + bias. The bias goes into c first and the product on top of it: that replaces the pass in which sgemm would
 * zero c, so the bias is free. */
static enum sl_status gemm(const struct call *c) {
  const int m = (int)c->dim[0], n = (int)c->dim[1], k = (int)c->dim[2];
  const bool ta = c->op->flags & SL_OP_TRANS_A, tb = c->op->flags & SL_OP_TRANS_B;
  float *out = c->x[2];
  const bool fill = c->count > 3 && !c->adds[2];
#pragma omp parallel for if ((size_t)m * (size_t)n > 65536)
  for (int i = 0; i < (fill ? m : 0); i++) memcpy(out + (size_t)i * (size_t)n, c->x[3], (size_t)n * sizeof *out);
  cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, m, n, k, 1.0f, c->x[0],
              ta ? m : k, c->x[1], tb ? k : n, fill || c->adds[2] ? 1.0f : 0.0f, out, n);
  if (c->count > 3 && c->adds[2]) sl_reduce_bias_add(out, c->x[3], c->dim[0], c->dim[1]);
  return SL_OK;
}

static enum sl_status bias_bwd(const struct call *c) {
  sl_reduce_bias_backward(c->x[1], c->x[0], c->dim[0], c->dim[1], c->adds[1]);
  return SL_OK;
}

static enum sl_status attention_fwd(const struct call *c) {
  struct sl_dropout dropout;
  struct sl_attention_shape shape = attention_shape(c, &dropout);
  const float *q = c->x[0], *k = q + shape.H * shape.D, *v = k + shape.H * shape.D;
  size_t bytes;
  void *work = scratch(c, 3, &bytes);
  sl_attention_forward(c->x[1], c->x[2], q, k, v, &shape, &dropout, work, bytes);
  return SL_OK;
}

static enum sl_status attention_bwd(const struct call *c) {
  struct sl_dropout dropout;
  struct sl_attention_shape shape = attention_shape(c, &dropout);
  const size_t next = shape.H * shape.D;
  const float *q = c->x[1];
  float *dq = c->x[3];
  size_t bytes;
  void *work = scratch(c, 4, &bytes);
  sl_attention_backward(dq, dq + next, dq + 2 * next, c->x[0], q, q + next, q + 2 * next, c->x[2], &shape, &dropout,
                        work, bytes);
  return SL_OK;
}

static enum sl_status gelu_fwd(const struct call *c) {
  sl_gelu_forward(c->x[1], c->x[0], NULL, c->dim[0], c->dim[1]);
  return SL_OK;
}

static enum sl_status gelu_bwd(const struct call *c) {
  sl_gelu_backward(c->x[0], c->x[0], c->x[1], NULL, c->dim[0], c->dim[1]);
  return SL_OK;
}

static enum sl_status residual_fwd(const struct call *c) {
  struct sl_dropout dropout = row_dropout(c, c->dim[1]);
  sl_dropout_residual(c->x[2], c->x[0], c->x[1], NULL, c->dim[0], c->dim[1], &dropout);
  return SL_OK;
}

static enum sl_status dropout_bwd(const struct call *c) {
  struct sl_dropout dropout = row_dropout(c, c->dim[1]);
  sl_dropout_backward(c->x[1], c->x[0], c->dim[0], c->dim[1], &dropout);
  return SL_OK;
}

static enum sl_status relu_fwd(const struct call *c) {
  sl_mlp_relu_forward(c->x[0], c->x[0], NULL, c->dim[0], c->dim[1]);
  return SL_OK;
}

static enum sl_status relu_bwd(const struct call *c) {
  sl_mlp_relu_backward(c->x[0], c->x[0], c->x[1], c->dim[0], c->dim[1]);
  return SL_OK;
}

/* Losses: the gradient carries the loss scale of fp16 training (1 otherwise), the reported loss does not. */
static enum sl_status classifier(const struct call *c) {
  struct sl_control *control = c->x[2];
  size_t bytes;
  double sum = 0, *losses = scratch(c, 3, &bytes);
  sl_classifier_fused(&sum, losses, c->x[0], c->x[1], c->dim[0], c->dim[1], (float)(c->op->scale * control->loss_scale),
                      0);
  control->loss_sum += sum * c->op->scale;
  return SL_OK;
}

static enum sl_status mse(const struct call *c) {
  struct sl_control *control = c->x[2];
  size_t bytes;
  double sum = 0;
  void *work = scratch(c, 3, &bytes);
  sl_mlp_mse(&sum, c->x[0], c->x[0], c->x[1], c->dim[0] * c->dim[1], (float)(c->op->scale * control->loss_scale), 0,
             work);
  control->loss_sum += sum * c->op->scale;
  return SL_OK;
}

/* --- state --- */

static enum sl_status fill(const struct call *c) {
  if (c->op->scale == 0)
    memset(c->x[0], 0, c->bytes[0]);
  else
    sl_reduce_fill(c->x[0], (float)c->op->scale, c->dim[0]);
  return SL_OK;
}

static enum sl_status copy(const struct call *c) {
  memmove(c->x[1], c->x[0], c->bytes[1]);
  return SL_OK;
}

static enum sl_status add(const struct call *c) {
  sl_reduce_add(c->x[1], c->x[0], c->dim[0]);
  return SL_OK;
}

/* A sum of squares in double is finite exactly when every float in it is. */
static enum sl_status norm(const struct call *c) {
  struct sl_control *control = c->x[1];
  size_t bytes;
  double sum = 0;
  void *work = scratch(c, 2, &bytes);
  sl_reduce_sum_squares(&sum, c->x[0], c->dim[0], 0, work);
  if (!isfinite(sum)) control->overflow += 1;
  control->square_sum += c->op->scale * sum;
  return SL_OK;
}

static enum sl_status control_step(const struct call *c) {
  sl_control_step(c->x[0], c->host->job->plan->config);
  return SL_OK;
}

static enum sl_status adam(const struct call *c) {
  const struct sl_config *config = c->host->job->plan->config;
  const struct sl_control *control = c->x[4];
  if (control->grad_factor < 0) return SL_OK; /* an overflow: this step is skipped */
  struct sl_adam a = {.lr = (float)control->lr,
                      .beta1 = (float)config->optimizer.beta1,
                      .beta2 = (float)config->optimizer.beta2,
                      .eps = (float)config->optimizer.eps,
                      .weight_decay = (float)config->optimizer.weight_decay,
                      .grad_scale = (float)control->grad_factor,
                      .decoupled = c->op->kind == SL_OP_ADAMW,
                      .bias_correction = config->optimizer.bias_correction,
                      .step = control->good_steps};
  sl_optimizer_adam(c->x[0], c->x[2], c->x[3], c->x[1], c->dim[0], &a);
  return SL_OK;
}

/* + param, r gradient, [+ momentum,] r control */
static enum sl_status sgd(const struct call *c) {
  const struct sl_config *config = c->host->job->plan->config;
  const struct sl_control *control = c->x[c->count - 1];
  if (control->grad_factor < 0) return SL_OK;
  bool buffer = c->count > 3 && c->bytes[2] > 0;
  struct sl_sgd s = {.lr = (float)control->lr,
                     .momentum = buffer ? (float)config->optimizer.momentum : 0,
                     .dampening = (float)config->optimizer.dampening,
                     .weight_decay = (float)config->optimizer.weight_decay,
                     .grad_scale = (float)control->grad_factor,
                     .nesterov = config->optimizer.nesterov,
                     .step = control->good_steps};
  sl_optimizer_sgd(c->x[0], buffer ? c->x[2] : NULL, c->x[1], c->dim[0], &s);
  return SL_OK;
}

static enum sl_status init_tensor(const struct call *c) {
  return sl_host_init_tensor(c->host, c->it);
}

static enum sl_status save_tensor(const struct call *c) {
  return sl_host_save_tensor(c->host, c->it);
}

/* The end of a program; files are complete when the save program is. */
static enum sl_status join(const struct call *c) {
  return c->host->kind == SL_PROGRAM_SAVE ? sl_host_save_finish(c->host) : SL_OK;
}

static enum sl_status (*const table[SL_OP_COUNT])(const struct call *) = {
    [SL_OP_LOAD_BATCH] = load_batch,
    [SL_OP_EMBED_FWD] = embed_fwd,
    [SL_OP_EMBED_BWD] = embed_bwd,
    [SL_OP_LAYERNORM_FWD] = layernorm_fwd,
    [SL_OP_LAYERNORM_BWD] = layernorm_bwd,
    [SL_OP_GEMM] = gemm,
    [SL_OP_BIAS_BWD] = bias_bwd,
    [SL_OP_ATTENTION_FWD] = attention_fwd,
    [SL_OP_ATTENTION_BWD] = attention_bwd,
    [SL_OP_GELU_FWD] = gelu_fwd,
    [SL_OP_GELU_BWD] = gelu_bwd,
    [SL_OP_RESIDUAL_FWD] = residual_fwd,
    [SL_OP_DROPOUT_BWD] = dropout_bwd,
    [SL_OP_CLASSIFIER] = classifier,
    [SL_OP_RELU_FWD] = relu_fwd,
    [SL_OP_RELU_BWD] = relu_bwd,
    [SL_OP_MSE] = mse,
    [SL_OP_FILL] = fill,
    [SL_OP_COPY] = copy,
    [SL_OP_ADD] = add,
    [SL_OP_NORM] = norm,
    [SL_OP_CONTROL] = control_step,
    [SL_OP_SGD] = sgd,
    [SL_OP_ADAM] = adam,
    [SL_OP_ADAMW] = adam,
    [SL_OP_INIT_TENSOR] = init_tensor,
    [SL_OP_SAVE_TENSOR] = save_tensor,
    [SL_OP_JOIN] = join,
};

enum sl_status sl_host_run(struct sl_host *host, const struct sl_issued *it) {
  struct call c = {.host = host, .it = it, .op = it->op, .count = it->op->slice_count};
  for (int i = 0; i < 5; i++) c.dim[i] = (size_t)it->op->dim[i];
  for (int i = 0; i < c.count; i++) {
    const struct sl_slice *s = &it->program->slices[it->op->slice + i];
    c.x[i] = sl_host_operand(host, it, i);
    c.bytes[i] = (size_t)s->bytes;
    c.adds[i] = s->access == SL_READ_WRITE;
  }
  return table[it->op->kind](&c);
}

/* What the kernel of `op` asks for, and where in the operands it would stand. */
static size_t scratch_of(const struct sl_op *op, int *operand) {
  const size_t d[4] = {(size_t)op->dim[0], (size_t)op->dim[1], (size_t)op->dim[2], (size_t)op->dim[3]};
  const struct sl_attention_shape shape = {.B = d[0], .T = d[1], .H = d[2], .KV = d[2], .D = d[3]};
  switch (op->kind) {
  case SL_OP_LAYERNORM_BWD:
    return *operand = 7, sl_layernorm_scratch_bytes(d[0], d[1]);
  case SL_OP_ATTENTION_FWD:
    return *operand = 3, sl_attention_forward_scratch_bytes(&shape, omp_get_max_threads());
  case SL_OP_ATTENTION_BWD:
    return *operand = 4, sl_attention_backward_scratch_bytes(&shape, omp_get_max_threads());
  case SL_OP_CLASSIFIER:
    return *operand = 3, d[0] * sizeof(double);
  case SL_OP_MSE:
    return *operand = 3, sl_reduce_scratch_bytes(d[0] * d[1]);
  case SL_OP_NORM:
    return *operand = 2, sl_reduce_scratch_bytes(d[0]);
  default:
    return 0;
  }
}

enum sl_status sl_host_supports(const struct sl_program *program, const struct sl_op *op, size_t *scratch_bytes) {
  *scratch_bytes = 0;
  if (sl_host_communicates(op)) return SL_OK;
  if (!table[op->kind]) return sl_fail(SL_ERR_INPUT, "the host backend has no \"%s\"", sl_op_name(op->kind));
  if (op->slice_count > 16)
    return sl_fail(SL_ERR_INTERNAL, "\"%s\" with %d operands", sl_op_name(op->kind), op->slice_count);
  bool any_type = op->kind == SL_OP_JOIN || op->kind == SL_OP_CONTROL || op->kind == SL_OP_COPY ||
                  op->kind == SL_OP_LOAD_BATCH || (op->kind == SL_OP_FILL && op->scale == 0);
  if (op->dtype != SL_F32 && !any_type)
    return sl_fail(SL_ERR_INPUT, "the host backend computes in fp32; this configuration needs \"%s\" in %s",
                   sl_op_name(op->kind), sl_dtype_name(op->dtype));
  int operand = 0;
  size_t need = scratch_of(op, &operand);
  if (need == 0 || op->slice_count <= operand) return *scratch_bytes = need, SL_OK;
  int64_t given = program->slices[op->slice + operand].bytes;
  bool shrinks = op->kind == SL_OP_ATTENTION_FWD || op->kind == SL_OP_ATTENTION_BWD; /* fewer threads, then */
  if ((size_t)given < need && !shrinks)
    return sl_fail(SL_ERR_INTERNAL, "\"%s\" brings %lld bytes of scratch and needs %zu", sl_op_name(op->kind),
                   (long long)given, need);
  return SL_OK;
}
