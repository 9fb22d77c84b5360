/* Compute ops as calls of kernels/ and products: one short function per kind, and a table of them. */
#include "backend/host/host.h"
#include "backend/host/product.h"

#include "kernels/all.h"
#include "kernels/by_dtype.h"
#include "kernels/convert.h"

#include <math.h>
#include <omp.h>
#include <string.h>

/* An op about to run: its operands' addresses, in the order of SL_OP_MAP. */
struct call {
  struct sl_host *host;
  const struct sl_issued *it;
  const struct sl_op *op;
  const struct sl_kernels *k; /* for the op's type */
  size_t dim[5];
  void *x[16];
  size_t bytes[16];
  bool adds[16]; /* the operand is read and written */
  int count;
};

/* core's element types and the kernels' number types stand in the same order */
_Static_assert((int)SL_NUMBER_F32 == SL_F32 && (int)SL_NUMBER_BF16 == SL_BF16 && (int)SL_NUMBER_F16 == SL_F16,
               "one order");

static enum sl_number number_of(enum sl_dtype type) {
  return type <= SL_F16 ? (enum sl_number)type : SL_NUMBER_F32;
}

/* The type of operand `i`, which is its buffer's. */
static enum sl_number type_of(const struct call *c, int i) {
  const struct sl_slice *s = &c->it->program->slices[c->op->slice + i];
  return number_of(c->it->rank_class->buffers[s->buffer].dtype);
}

/* Scratch: operand `i` where the op brings one, else the backend's own. */
static void *scratch(const struct call *c, int i, size_t *bytes) {
  bool own = i >= c->count;
  *bytes = own ? c->host->scratch_bytes : c->bytes[i];
  return own ? c->host->scratch : c->x[i];
}

/* The rank's index in the op's group: which piece of something cut over that group is here. */
static size_t place_of(const struct call *c) {
  const enum sl_group group = c->op->place_group;
  return group == SL_GROUP_NONE ? 0 : (size_t)c->host->members[group].index;
}

/* The position of the first sequence of this op's micro-batch inside the global batch. */
static int64_t first_sequence(const struct sl_host *host, const struct sl_issued *it) {
  return sl_input_first_sequence(host->job->plan, host->coord.dp, it);
}

/* --- random numbers --- */

static struct sl_dropout dropout_of(const struct call *c, uint64_t first, uint64_t row_stride) {
  return (struct sl_dropout){.p = (float)c->op->dropout,
                             .key = {(uint32_t)c->host->job->plan->config->sl.seed, SL_STREAM_DROPOUT,
                                     (uint32_t)c->host->step, (uint32_t)c->op->stream},
                             .first_element = first,
                             .row_stride = row_stride};
}

/* Operand `i`, from the end with i < 0, as the mask of a dropout, if the op has one. */
static uint8_t *mask_of(const struct call *c, int i) {
  return c->op->flags & SL_OP_MASK ? c->x[i < 0 ? c->count + i : i] : NULL;
}

/* Operands without a mask that stands behind them. */
static int unmasked_count(const struct call *c) {
  return c->count - (c->op->flags & SL_OP_MASK ? 1 : 0);
}

/* Rows are tokens: global row = (sequence's place in the global batch) x T + t, `skipped` rows into the micro-batch. */
static struct sl_dropout row_dropout(const struct call *c, size_t skipped, size_t columns) {
  uint64_t row = (uint64_t)first_sequence(c->host, c->it) * (uint64_t)c->host->job->plan->seq + skipped;
  struct sl_dropout dropout = dropout_of(c, row * columns, columns);
  dropout.mask = mask_of(c, -1);
  return dropout;
}

static struct sl_attention_shape attention_shape(const struct call *c, struct sl_dropout *dropout) {
  size_t b = c->dim[0], t = c->dim[1], h = c->dim[2], d = c->dim[3];
  size_t heads = (size_t)c->host->job->plan->model->n_head;
  uint64_t first = (uint64_t)first_sequence(c->host, c->it) * heads + (h < heads ? (uint64_t)c->host->coord.tp * h : 0);
  *dropout = dropout_of(c, first * t * t, 0);
  const size_t kv = c->dim[4], row = (h + 2 * kv) * d;
  const bool apart = c->op->flags & SL_OP_APART;
  return (struct sl_attention_shape){.B = b,
                                     .T = t,
                                     .H = h,
                                     .KV = kv,
                                     .D = d,
                                     .q_stride = apart ? h * d : row,
                                     .k_stride = apart ? kv * d : row,
                                     .v_stride = apart ? kv * d : row,
                                     .out_stride = h * d,
                                     .global_heads = heads};
}

/* q, k and v, or their gradients: operands `i` to i + 2, or parts of each row of operand `i`. */
struct qkv {
  char *q, *k, *v;
  int next; /* the operand after them */
};

static struct qkv qkv_of(const struct call *c, const struct sl_attention_shape *shape, int i) {
  if (c->op->flags & SL_OP_APART) return (struct qkv){c->x[i], c->x[i + 1], c->x[i + 2], i + 3};
  const size_t element = sl_convert_bytes(type_of(c, i));
  char *k = (char *)c->x[i] + shape->H * shape->D * element;
  return (struct qkv){c->x[i], k, k + shape->KV * shape->D * element, i + 1};
}

/* --- the model --- */

/* Inputs and targets, or those of the two that this stage of a pipeline needs. */
static enum sl_status load_batch(const struct call *c) {
  const bool inputs = !(c->op->flags & SL_OP_TARGETS_ONLY), targets = !(c->op->flags & SL_OP_INPUTS_ONLY);
  return sl_input_batch(&c->host->input, c->host->coord.dp, c->host->step, c->it, inputs ? c->x[0] : NULL,
                        targets ? c->x[inputs] : NULL);
}

/* Every member has all tokens, and its rows of the table. */
static struct sl_embedding_shape embedding_shape(const struct call *c) {
  const size_t rows = c->dim[3];
  return (struct sl_embedding_shape){
      .B = c->dim[0], .T = c->dim[1], .C = c->dim[2], .first_row = place_of(c) * rows, .n_rows = rows};
}

static enum sl_status embed_fwd(const struct call *c) {
  struct sl_dropout dropout = row_dropout(c, 0, c->dim[2]);
  struct sl_embedding_shape shape = embedding_shape(c);
  const int out = unmasked_count(c) - 1; /* a position table may stand before it */
  c->k->embedding_forward(c->x[out], c->x[0], c->x[1], out > 2 ? c->x[2] : NULL, &shape, &dropout);
  return SL_OK;
}

static enum sl_status embed_bwd(const struct call *c) {
  struct sl_dropout dropout = row_dropout(c, 0, c->dim[2]);
  struct sl_embedding_shape shape = embedding_shape(c);
  const bool positions = unmasked_count(c) > 3;
  c->k->embedding_backward(c->x[2], c->adds[2], positions ? c->x[3] : NULL, c->dim[4], c->adds[3], c->x[1], c->x[0],
                           &shape, &dropout);
  return SL_OK;
}

static enum sl_status layernorm_fwd(const struct call *c) {
  float *mean = c->x[4], *rstd = mean + c->dim[0];
  c->k->layernorm_forward(c->x[3], mean, rstd, c->x[0], c->x[1], c->x[2], c->dim[0], c->dim[1], (float)c->op->scale);
  return SL_OK;
}

/* The backward of a norm of rows, or a half of it: where the operands stand, -1 for one that the half has not. */
struct norm_operands {
  int weight, stats, dx, dweight, dbias, scratch;
};

static struct norm_operands norm_operands(const struct call *c, bool bias) {
  if (c->op->flags & SL_OP_INPUT_GRAD) return (struct norm_operands){2, 3, 4, -1, -1, -1};
  if (c->op->flags & SL_OP_WEIGHT_GRAD) return (struct norm_operands){-1, 2, -1, 3, bias ? 4 : -1, 4 + bias};
  return (struct norm_operands){2, 3, 4, 5, bias ? 6 : -1, 6 + bias};
}

static void *operand(const struct call *c, int i) {
  return i < 0 ? NULL : c->x[i];
}

static bool adds(const struct call *c, int i) {
  return i >= 0 && c->adds[i];
}

static void *norm_scratch(const struct call *c, int i) {
  size_t bytes;
  return i < 0 ? NULL : scratch(c, i, &bytes);
}

static enum sl_status layernorm_bwd(const struct call *c) {
  const struct norm_operands at = norm_operands(c, true);
  const float *mean = c->x[at.stats], *rstd = mean + c->dim[0];
  /* the kernel has one flag for both; core gives both the same access, being neighbours in one buffer */
  c->k->layernorm_backward(operand(c, at.dx), adds(c, at.dx), operand(c, at.dweight), operand(c, at.dbias),
                           adds(c, at.dweight), c->x[0], c->x[1], operand(c, at.weight), mean, rstd, c->dim[0],
                           c->dim[1], norm_scratch(c, at.scratch));
  return SL_OK;
}

static enum sl_status rmsnorm_fwd(const struct call *c) {
  c->k->llama_rmsnorm_forward(c->x[2], c->x[3], c->x[0], c->x[1], c->dim[0], c->dim[1], (float)c->op->scale);
  return SL_OK;
}

static enum sl_status rmsnorm_bwd(const struct call *c) {
  const struct norm_operands at = norm_operands(c, false);
  c->k->llama_rmsnorm_backward(operand(c, at.dx), adds(c, at.dx), operand(c, at.dweight), adds(c, at.dweight), c->x[0],
                               c->x[1], operand(c, at.weight), c->x[at.stats], c->dim[0], c->dim[1],
                               norm_scratch(c, at.scratch));
  return SL_OK;
}

static enum sl_status rope(const struct call *c) {
  c->k->llama_rope(c->x[0], c->dim[0], c->dim[1], c->dim[2], c->dim[3], c->dim[2] * c->dim[3], 0, c->op->scale,
                   c->op->flags & SL_OP_INVERSE ? -1 : 1);
  return SL_OK;
}

static void sgemm(const struct call *c, const float *a, const float *b, float *out, bool add) {
  sl_host_product(&(struct sl_product){.m = (int)c->dim[0],
                                       .n = (int)c->dim[1],
                                       .k = (int)c->dim[2],
                                       .trans_a = c->op->flags & SL_OP_TRANS_A,
                                       .trans_b = c->op->flags & SL_OP_TRANS_B,
                                       .add = add,
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

/* c = a b + bias. The bias goes into c first and the product on top of it: that replaces the pass in which sgemm would
 * zero c, so the bias is free. */
static void gemm_f32(const struct call *c, void *to) {
  const bool bias = c->op->flags & SL_OP_BIAS, fill = bias && !c->adds[2];
  if (fill) fill_rows(to, c->x[3], c->dim[0], c->dim[1]);
  sgemm(c, c->x[0], c->x[1], to, fill || c->adds[2]);
  if (bias && c->adds[2]) sl_reduce_bias_add(to, c->x[3], c->dim[0], c->dim[1]);
}

/* 16 bits: through fp32 copies in the op's workspace, the product rounded once. */
static void gemm_16(const struct call *c, void *to) {
  const size_t mk = c->dim[0] * c->dim[2], kn = c->dim[2] * c->dim[1], mn = c->dim[0] * c->dim[1];
  const enum sl_number type = type_of(c, 0);
  float *a = c->x[sl_gemm_operands(c->op).workspace], *b = a + mk, *out = b + kn;
  sl_convert(a, SL_NUMBER_F32, c->x[0], type, mk);
  sl_convert(b, SL_NUMBER_F32, c->x[1], type, kn);
  if (c->adds[2]) sl_convert(out, SL_NUMBER_F32, to, type_of(c, 2), mn);
  if (c->op->flags & SL_OP_BIAS) {
    sl_convert(out, SL_NUMBER_F32, c->x[3], type, c->dim[1]);
    fill_rows(out, out, c->dim[0], c->dim[1]);
  }
  sgemm(c, a, b, out, c->adds[2] || c->op->flags & SL_OP_BIAS);
  sl_convert(to, type_of(c, 2), out, SL_NUMBER_F32, mn);
}

/* OpenBLAS has no epilogues: the kernels of the ops that they stand for follow the product, so that a fused program has the
 * bits of the one that is not. */
static enum sl_status gemm(const struct call *c) {
  const unsigned flags = c->op->flags;
  const struct sl_gemm_operands at = sl_gemm_operands(c->op);
  void *to = flags & SL_OP_GELU ? c->x[at.aux] : c->x[2];
  if (flags & SL_OP_WORKSPACE)
    gemm_16(c, to);
  else
    gemm_f32(c, to);
  if (flags & SL_OP_GELU) c->k->gelu_forward(c->x[2], to, NULL, c->dim[0], c->dim[1]);
  if (flags & SL_OP_DGELU) c->k->gelu_backward(c->x[2], c->x[2], c->x[at.aux], NULL, c->dim[0], c->dim[1]);
  if (flags & SL_OP_BGRAD_A) c->k->reduce_bias_backward(c->x[at.dbias], c->x[0], c->dim[2], c->dim[0], 0);
  if (flags & SL_OP_BGRAD_B) c->k->reduce_bias_backward(c->x[at.dbias], c->x[1], c->dim[2], c->dim[1], 0);
  return SL_OK;
}

static enum sl_status bias_fwd(const struct call *c) {
  c->k->reduce_bias_add(c->x[0], c->x[1], c->dim[0], c->dim[1]);
  return SL_OK;
}

static enum sl_status bias_bwd(const struct call *c) {
  c->k->reduce_bias_backward(c->x[1], c->x[0], c->dim[0], c->dim[1], c->adds[1]);
  return SL_OK;
}

static enum sl_status attention_fwd(const struct call *c) {
  struct sl_dropout dropout;
  struct sl_attention_shape shape = attention_shape(c, &dropout);
  const struct qkv in = qkv_of(c, &shape, 0);
  const int i = in.next;
  const bool masked = c->op->flags & SL_OP_MASK; /* what dropout leaves, and its mask, stand behind the probabilities */
  size_t bytes;
  void *work = scratch(c, i + 2 + 2 * masked, &bytes);
  dropout.mask = mask_of(c, i + 3);
  if (c->op->kind == SL_OP_FLASH_FWD)
    c->k->flash_attention_forward(c->x[i], c->x[i + 1], in.q, in.k, in.v, &shape, &dropout, work, bytes);
  else
    c->k->attention_forward(c->x[i], c->x[i + 1], masked ? c->x[i + 2] : NULL, in.q, in.k, in.v, &shape, &dropout, work,
                            bytes);
  return SL_OK;
}

static enum sl_status attention_bwd(const struct call *c) {
  const bool flash = c->op->kind == SL_OP_FLASH_BWD; /* it has forward's out before what the softmax left */
  struct sl_dropout dropout;
  struct sl_attention_shape shape = attention_shape(c, &dropout);
  const struct qkv in = qkv_of(c, &shape, 1);
  const int kept = in.next + flash;
  const bool masked = c->op->flags & SL_OP_MASK;
  const struct qkv d = qkv_of(c, &shape, kept + 1 + 2 * masked);
  size_t bytes;
  void *work = scratch(c, d.next, &bytes);
  dropout.mask = mask_of(c, kept + 2);
  if (flash)
    c->k->flash_attention_backward(d.q, d.k, d.v, c->x[0], in.q, in.k, in.v, c->x[in.next], c->x[kept], &shape,
                                   &dropout, work, bytes);
  else
    c->k->attention_backward(d.q, d.k, d.v, c->x[0], in.q, in.k, in.v, c->x[kept], masked ? c->x[kept + 1] : NULL,
                             &shape, &dropout, work, bytes);
  return SL_OK;
}

static enum sl_status gelu_fwd(const struct call *c) {
  c->k->gelu_forward(c->x[1], c->x[0], NULL, c->dim[0], c->dim[1]);
  return SL_OK;
}

static enum sl_status gelu_bwd(const struct call *c) {
  c->k->gelu_backward(c->x[0], c->x[0], c->x[1], NULL, c->dim[0], c->dim[1]);
  return SL_OK;
}

static enum sl_status swiglu_fwd(const struct call *c) {
  c->k->llama_swiglu_forward(c->x[2], c->x[0], c->x[1], c->dim[0], c->dim[1], c->dim[1]);
  return SL_OK;
}

static enum sl_status swiglu_bwd(const struct call *c) {
  c->k->llama_swiglu_backward(c->x[1], c->x[2], c->x[0], c->x[1], c->x[2], c->dim[0], c->dim[1], c->dim[1]);
  return SL_OK;
}

/* Sequence parallel: the op's rows are those of its place in the micro-batch. */
static enum sl_status residual_fwd(const struct call *c) {
  struct sl_dropout dropout = row_dropout(c, place_of(c) * c->dim[0], c->dim[1]);
  const bool bias = c->op->flags & SL_OP_BIAS;
  c->k->dropout_residual(c->x[bias ? 3 : 2], c->x[0], c->x[1], bias ? c->x[2] : NULL, c->dim[0], c->dim[1], &dropout);
  return SL_OK;
}

static enum sl_status dropout(const struct call *c) {
  struct sl_dropout dropout = row_dropout(c, place_of(c) * c->dim[0], c->dim[1]);
  if (c->op->phase == SL_PHASE_BACKWARD)
    c->k->dropout_backward(c->x[1], c->x[0], c->dim[0], c->dim[1], &dropout);
  else
    c->k->dropout_forward(c->x[1], c->x[0], c->dim[0], c->dim[1], &dropout);
  return SL_OK;
}

static enum sl_status relu_fwd(const struct call *c) {
  c->k->mlp_relu_forward(c->x[0], c->x[0], NULL, c->dim[0], c->dim[1]);
  return SL_OK;
}

static enum sl_status relu_bwd(const struct call *c) {
  c->k->mlp_relu_backward(c->x[0], c->x[0], c->x[1], c->dim[0], c->dim[1]);
  return SL_OK;
}

/* Losses: the gradient carries the loss scale of fp16 training (1 otherwise), the reported loss does not. Where the
 * members of a group compute the same loss, the first of them alone reports it. */
static void report_loss(const struct call *c, struct sl_step_state *control, double sum) {
  if (place_of(c) == 0) control->loss_sum += sum * c->op->scale;
}

static enum sl_status classifier(const struct call *c) {
  struct sl_step_state *control = c->x[2];
  size_t bytes;
  double sum = 0, *losses = scratch(c, 3, &bytes);
  c->k->classifier_fused(&sum, losses, c->x[0], c->x[1], c->dim[0], c->dim[1], c->dim[2],
                         (float)(c->op->scale * control->loss_scale), 0);
  report_loss(c, control, sum);
  return SL_OK;
}

static enum sl_status classifier_stats(const struct call *c) {
  c->k->classifier_stats(c->x[2], c->x[0], c->x[1], c->dim[0], c->dim[1], place_of(c) * c->dim[1], c->dim[2]);
  return SL_OK;
}

static enum sl_status classifier_shard(const struct call *c) {
  struct sl_step_state *control = c->x[3];
  size_t bytes;
  double sum = 0, *losses = scratch(c, 4, &bytes);
  c->k->classifier_shard(&sum, losses, c->x[0], c->x[1], c->x[2], c->dim[0], c->dim[1], place_of(c) * c->dim[1],
                         c->dim[2], c->dim[3], (float)(c->op->scale * control->loss_scale), 0);
  report_loss(c, control, sum);
  return SL_OK;
}

static enum sl_status mse(const struct call *c) {
  struct sl_step_state *control = c->x[2];
  size_t bytes;
  double sum = 0;
  void *work = scratch(c, 3, &bytes);
  c->k->mlp_mse(&sum, c->x[0], c->x[0], c->x[1], c->dim[0] * c->dim[1], (float)(c->op->scale * control->loss_scale), 0,
                work);
  report_loss(c, control, sum);
  return SL_OK;
}

/* --- state --- */

static enum sl_status fill(const struct call *c) {
  if (c->op->scale == 0)
    memset(c->x[0], 0, c->bytes[0]);
  else
    c->k->reduce_fill(c->x[0], (float)c->op->scale, c->dim[0]);
  return SL_OK;
}

static enum sl_status copy(const struct call *c) {
  sl_convert(c->x[1], type_of(c, 1), c->x[0], type_of(c, 0), c->dim[0]);
  return SL_OK;
}

static enum sl_status add(const struct call *c) {
  sl_convert_add(c->x[1], type_of(c, 1), c->x[0], type_of(c, 0), c->dim[0]);
  return SL_OK;
}

static enum sl_status concat_columns(const struct call *c) {
  c->k->columns_concat(c->x[1], c->x[0], c->dim[0], c->dim[1], c->dim[2]);
  return SL_OK;
}

static enum sl_status split_columns(const struct call *c) {
  c->k->columns_split(c->x[1], c->x[0], c->dim[0], c->dim[1], c->dim[2], place_of(c));
  return SL_OK;
}

/* The elements [*first, *first + count) of its operand whose squares a norm adds; maybe none. */
static size_t norm_range(const struct call *c, size_t *first) {
  *first = 0;
  if (!(c->op->flags & SL_OP_SHARE_RANGE)) return c->dim[0];
  const int64_t n = c->op->dim[0], start = (int64_t)place_of(c) * c->op->dim[3];
  const int64_t lo = c->op->dim[1] - start, hi = c->op->dim[2] - start;
  const int64_t from = lo < 0 ? 0 : lo, to = hi > n ? n : hi;
  if (to <= from) return 0;
  *first = (size_t)from;
  return (size_t)(to - from);
}

/* A sum of squares in double is finite exactly when every float in it is. */
static enum sl_status norm(const struct call *c) {
  struct sl_step_state *control = c->x[1];
  size_t bytes, first;
  double sum = 0;
  void *work = scratch(c, 2, &bytes);
  const enum sl_number type = type_of(c, 0);
  const size_t n = norm_range(c, &first);
  sl_kernels_of(type)->reduce_sum_squares(&sum, (char *)c->x[0] + first * sl_convert_bytes(type), n, 0, work);
  if (!isfinite(sum)) control->overflow += 1;
  control->square_sum += c->op->scale * sum;
  return SL_OK;
}

static enum sl_status control_step(const struct call *c) {
  sl_step_state_advance(c->x[0], c->host->job->plan->config);
  return SL_OK;
}

/* + master, r gradient, + m, + v, r control [, w param] */
static enum sl_status adam(const struct call *c) {
  const struct sl_config *config = c->host->job->plan->config;
  const struct sl_step_state *control = c->x[4];
  if (control->grad_factor < 0) return SL_OK; /* an overflow: this step is skipped */
  double beta1, beta2;
  sl_config_betas(config, control->good_steps - 1, &beta1, &beta2);
  const struct sl_adam a = {.lr = control->lr,
                            .beta1 = beta1,
                            .beta2 = beta2,
                            .eps = config->optimizer.eps,
                            .weight_decay = config->optimizer.weight_decay,
                            .grad_scale = control->grad_factor,
                            .decoupled = c->op->kind == SL_OP_ADAMW,
                            .bias_correction = config->optimizer.bias_correction,
                            .step = control->good_steps};
  const bool parameter = c->op->flags & SL_OP_PARAM_COPY;
  sl_master_adam(c->x[0], c->x[2], c->x[3], c->x[1], type_of(c, 1), parameter ? c->x[5] : NULL,
                 parameter ? type_of(c, 5) : SL_NUMBER_F32, c->dim[0], &a);
  return SL_OK;
}

/* + master, r gradient, [+ momentum,] r control [, w param] */
static enum sl_status sgd(const struct call *c) {
  const struct sl_config *config = c->host->job->plan->config;
  const bool parameter = c->op->flags & SL_OP_PARAM_COPY, buffer = c->count - parameter > 3;
  const struct sl_step_state *control = c->x[c->count - 1 - parameter];
  if (control->grad_factor < 0) return SL_OK;
  const struct sl_sgd s = {.lr = control->lr,
                           .momentum = buffer ? config->optimizer.momentum : 0,
                           .dampening = config->optimizer.dampening,
                           .weight_decay = config->optimizer.weight_decay,
                           .grad_scale = control->grad_factor,
                           .nesterov = config->optimizer.nesterov,
                           .step = control->good_steps};
  const int last = c->count - 1;
  sl_master_sgd(c->x[0], buffer ? c->x[2] : NULL, c->x[1], type_of(c, 1), parameter ? c->x[last] : NULL,
                parameter ? type_of(c, last) : SL_NUMBER_F32, c->dim[0], &s);
  return SL_OK;
}

static enum sl_status init_tensor(const struct call *c) {
  return sl_tensors_init(&c->host->tensors, c->op);
}

static enum sl_status save_tensor(const struct call *c) {
  return sl_tensors_save(&c->host->tensors, c->op);
}

/* The end of a program; files are complete when the save program is. */
static enum sl_status join(const struct call *c) {
  return c->host->kind == SL_PROGRAM_SAVE ? sl_tensors_save_finish(&c->host->tensors) : SL_OK;
}

static enum sl_status (*const table[SL_OP_COUNT])(const struct call *) = {
    [SL_OP_LOAD_BATCH] = load_batch,
    [SL_OP_EMBED_FWD] = embed_fwd,
    [SL_OP_EMBED_BWD] = embed_bwd,
    [SL_OP_LAYERNORM_FWD] = layernorm_fwd,
    [SL_OP_LAYERNORM_BWD] = layernorm_bwd,
    [SL_OP_RMSNORM_FWD] = rmsnorm_fwd,
    [SL_OP_RMSNORM_BWD] = rmsnorm_bwd,
    [SL_OP_ROPE] = rope,
    [SL_OP_GEMM] = gemm,
    [SL_OP_BIAS_FWD] = bias_fwd,
    [SL_OP_BIAS_BWD] = bias_bwd,
    [SL_OP_ATTENTION_FWD] = attention_fwd,
    [SL_OP_ATTENTION_BWD] = attention_bwd,
    [SL_OP_FLASH_FWD] = attention_fwd,
    [SL_OP_FLASH_BWD] = attention_bwd,
    [SL_OP_GELU_FWD] = gelu_fwd,
    [SL_OP_GELU_BWD] = gelu_bwd,
    [SL_OP_SWIGLU_FWD] = swiglu_fwd,
    [SL_OP_SWIGLU_BWD] = swiglu_bwd,
    [SL_OP_RESIDUAL_FWD] = residual_fwd,
    [SL_OP_DROPOUT] = dropout,
    [SL_OP_CLASSIFIER] = classifier,
    [SL_OP_CLASSIFIER_STATS] = classifier_stats,
    [SL_OP_CLASSIFIER_SHARD] = classifier_shard,
    [SL_OP_RELU_FWD] = relu_fwd,
    [SL_OP_RELU_BWD] = relu_bwd,
    [SL_OP_MSE] = mse,
    [SL_OP_FILL] = fill,
    [SL_OP_COPY] = copy,
    [SL_OP_ADD] = add,
    [SL_OP_CONCAT_COLUMNS] = concat_columns,
    [SL_OP_SPLIT_COLUMNS] = split_columns,
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
  struct call c = {
      .host = host, .it = it, .op = it->op, .k = sl_kernels_of(number_of(it->op->dtype)), .count = it->op->slice_count};
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
  const struct sl_attention_shape shape = {.B = d[0], .T = d[1], .H = d[2], .KV = (size_t)op->dim[4], .D = d[3]};
  const int more = op->flags & SL_OP_APART ? 2 : 0;  /* operands by which q, k and v apart are more than packed ones */
  const int masked = op->flags & SL_OP_MASK ? 2 : 0; /* by dropout's mask and what it leaves of the probabilities */
  const bool halved = op->flags & SL_OP_WEIGHT_GRAD; /* without weight and dx */
  switch (op->kind) {
  case SL_OP_LAYERNORM_BWD:
    if (op->flags & SL_OP_INPUT_GRAD) return 0;
    return *operand = halved ? 5 : 7, sl_layernorm_scratch_bytes(d[0], d[1]);
  case SL_OP_RMSNORM_BWD:
    if (op->flags & SL_OP_INPUT_GRAD) return 0;
    return *operand = halved ? 4 : 6, sl_llama_rmsnorm_scratch_bytes(d[0], d[1]);
  case SL_OP_ATTENTION_FWD:
    return *operand = 3 + more + masked, sl_attention_forward_scratch_bytes(&shape, omp_get_max_threads());
  case SL_OP_ATTENTION_BWD:
    return *operand = 4 + 2 * more + masked, sl_attention_backward_scratch_bytes(&shape, omp_get_max_threads());
  case SL_OP_FLASH_FWD:
    return *operand = 3 + more, sl_flash_attention_forward_scratch_bytes(&shape, omp_get_max_threads());
  case SL_OP_FLASH_BWD:
    return *operand = 5 + 2 * more, sl_flash_attention_backward_scratch_bytes(&shape, omp_get_max_threads());
  case SL_OP_CLASSIFIER:
    return *operand = 3, d[0] * sizeof(double);
  case SL_OP_CLASSIFIER_SHARD:
    return *operand = 4, d[0] * sizeof(double);
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
  if (op->dtype == SL_TF32)
    return sl_fail(SL_ERR_INPUT,
                   "the host backend has no tf32, which is the matrix units' of a GPU; expected --backend "
                   "cuda, or \"tf32\": false");
  if (op->kind == SL_OP_GEMM && op->dtype != SL_F32 && !(op->flags & SL_OP_WORKSPACE))
    return sl_fail(SL_ERR_INPUT,
                   "the plan's %s products are those of a GPU; expected a cluster of CPUs here, such as "
                   "localhost",
                   sl_dtype_name(op->dtype));
  int operand = 0;
  size_t need = scratch_of(op, &operand);
  if (need == 0 || op->slice_count <= operand) return *scratch_bytes = need, SL_OK;
  int64_t given = program->slices[op->slice + operand].bytes;
  bool shrinks = sl_op_class_of(op->kind) == SL_CLASS_ATTENTION; /* fewer threads, then */
  if ((size_t)given < need && !shrinks)
    return sl_fail(SL_ERR_INTERNAL, "\"%s\" brings %lld bytes of scratch and needs %zu", sl_op_name(op->kind),
                   (long long)given, need);
  return SL_OK;
}
