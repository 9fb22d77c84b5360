/* Compute ops as launches of kernels/gpu/cuda.h and products of cuBLASLt: one short function per kind, and a table of them.
 * It is the host's dispatch (backend/host/dispatch.c) with addresses in device memory; what depends on data stays there:
 * a kernel gets the address of a number in the step state. */
#include "backend/cuda/control_step.h"
#include "backend/cuda/cuda.h"

#include "kernels/convert.h"
#include "kernels/gpu/cuda.h"

#include <stddef.h>
#include <string.h>

/* An op about to be launched: its operands' addresses, in the order of SL_OP_MAP. */
struct call {
  struct sl_cuda *cuda;
  cudaStream_t stream;
  const struct sl_issued *it;
  const struct sl_op *op;
  enum sl_number type; /* the op's */
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
static enum sl_dtype dtype_of(const struct call *c, int i) {
  const struct sl_slice *s = &c->it->program->slices[c->op->slice + i];
  return c->it->rank_class->buffers[s->buffer].dtype;
}

static enum sl_number type_of(const struct call *c, int i) {
  return number_of(dtype_of(c, i));
}

/* What a launch answered. */
static enum sl_status ran(const struct call *c, int code) {
  return code == 0 ? SL_OK : sl_cuda_failed(sl_op_name(c->op->kind), (cudaError_t)code);
}

/* Scratch: the operand where the op brings one that is large enough, else the backend's own. */
static void *scratch(const struct call *c) {
  int i;
  const int64_t need = sl_cuda_workspace_scratch(c->op, &i);
  return i >= 0 && i < c->count && (int64_t)c->bytes[i] >= need ? c->x[i] : c->cuda->scratch;
}

/* The rank's index in the op's group: which piece of something cut over that group is here. */
static size_t place_of(const struct call *c) {
  const enum sl_group group = c->op->place_group;
  return group == SL_GROUP_NONE ? 0 : (size_t)c->cuda->members[group].index;
}

static uint64_t first_sequence(const struct call *c) {
  return (uint64_t)sl_input_first_sequence(c->cuda->job->plan, c->cuda->coord.dp, c->it);
}

/* --- random numbers --- */

static struct sl_dropout dropout_of(const struct call *c, uint64_t first, uint64_t row_stride) {
  return (struct sl_dropout){.p = (float)c->op->dropout,
                             .key = {(uint32_t)c->cuda->job->plan->config->sl.seed, SL_STREAM_DROPOUT,
                                     (uint32_t)c->cuda->step, (uint32_t)c->op->stream},
                             .first_element = first,
                             .row_stride = row_stride};
}

/* Operands without a dropout's mask that stands behind them. The kernels draw a mask anew in backward, the same one, and
 * leave the operand as it is. */
static int unmasked_count(const struct call *c) {
  return c->count - (c->op->flags & SL_OP_MASK ? 1 : 0);
}

/* Rows are tokens: global row = (sequence's place in the global batch) x T + t, `skipped` rows into the micro-batch. */
static struct sl_dropout row_dropout(const struct call *c, size_t skipped, size_t columns) {
  const uint64_t row = first_sequence(c) * (uint64_t)c->cuda->job->plan->seq + skipped;
  return dropout_of(c, row * columns, columns);
}

static struct sl_attention_shape attention_shape(const struct call *c, struct sl_dropout *dropout) {
  size_t b = c->dim[0], t = c->dim[1], h = c->dim[2], d = c->dim[3];
  size_t heads = (size_t)c->cuda->job->plan->model->n_head;
  uint64_t first = first_sequence(c) * heads + (h < heads ? (uint64_t)c->cuda->coord.tp * h : 0);
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

static enum sl_status load_batch(const struct call *c) {
  return sl_cuda_load_batch(c->cuda, c->stream, c->it);
}

/* Every member has all tokens, and its rows of the table. */
static struct sl_embedding_shape embedding_shape(const struct call *c) {
  const size_t rows = c->dim[3];
  return (struct sl_embedding_shape){
      .B = c->dim[0], .T = c->dim[1], .C = c->dim[2], .first_row = place_of(c) * rows, .n_rows = rows};
}

static enum sl_status embed_fwd(const struct call *c) {
  const struct sl_dropout dropout = row_dropout(c, 0, c->dim[2]);
  const struct sl_embedding_shape shape = embedding_shape(c);
  const int out = unmasked_count(c) - 1; /* a position table may stand before it */
  return ran(c, sl_cuda_embedding_forward(c->stream, c->type, c->x[out], c->x[0], c->x[1], out > 2 ? c->x[2] : NULL,
                                          &shape, &dropout, NULL));
}

static enum sl_status embed_bwd(const struct call *c) {
  const struct sl_dropout dropout = row_dropout(c, 0, c->dim[2]);
  const struct sl_embedding_shape shape = embedding_shape(c);
  const bool positions = unmasked_count(c) > 3;
  return ran(c,
             sl_cuda_embedding_backward(c->stream, c->type, c->x[2], c->adds[2], positions ? c->x[3] : NULL, c->dim[4],
                                        positions && c->adds[3], c->x[1], c->x[0], &shape, &dropout, NULL));
}

static enum sl_status layernorm_fwd(const struct call *c) {
  float *mean = c->x[4], *rstd = mean + c->dim[0];
  return ran(c, sl_cuda_layernorm_forward(c->stream, c->type, c->x[3], mean, rstd, c->x[0], c->x[1], c->x[2], c->dim[0],
                                          c->dim[1], (float)c->op->scale));
}

/* The backward of a norm of rows, or a half of it: where the operands stand, -1 for one that the half has not. */
struct norm_operands {
  int weight, stats, dx, dweight, dbias;
};

static struct norm_operands norm_operands(const struct call *c, bool bias) {
  if (c->op->flags & SL_OP_INPUT_GRAD) return (struct norm_operands){2, 3, 4, -1, -1};
  if (c->op->flags & SL_OP_WEIGHT_GRAD) return (struct norm_operands){-1, 2, -1, 3, bias ? 4 : -1};
  return (struct norm_operands){2, 3, 4, 5, bias ? 6 : -1};
}

static void *operand(const struct call *c, int i) {
  return i < 0 ? NULL : c->x[i];
}

static bool adds(const struct call *c, int i) {
  return i >= 0 && c->adds[i];
}

static enum sl_status layernorm_bwd(const struct call *c) {
  const struct norm_operands at = norm_operands(c, true);
  const float *mean = c->x[at.stats], *rstd = mean + c->dim[0];
  /* the kernel has one flag for both; core gives both the same access, being neighbours in one buffer */
  return ran(c,
             sl_cuda_layernorm_backward(c->stream, c->type, operand(c, at.dx), adds(c, at.dx), operand(c, at.dweight),
                                        operand(c, at.dbias), adds(c, at.dweight), c->x[0], c->x[1],
                                        operand(c, at.weight), mean, rstd, c->dim[0], c->dim[1], scratch(c)));
}

static enum sl_status rmsnorm_fwd(const struct call *c) {
  return ran(c, sl_cuda_llama_rmsnorm_forward(c->stream, c->type, c->x[2], c->x[3], c->x[0], c->x[1], c->dim[0],
                                              c->dim[1], (float)c->op->scale));
}

static enum sl_status rmsnorm_bwd(const struct call *c) {
  const struct norm_operands at = norm_operands(c, false);
  return ran(c, sl_cuda_llama_rmsnorm_backward(
                    c->stream, c->type, operand(c, at.dx), adds(c, at.dx), operand(c, at.dweight), adds(c, at.dweight),
                    c->x[0], c->x[1], operand(c, at.weight), c->x[at.stats], c->dim[0], c->dim[1], scratch(c)));
}

static enum sl_status rope(const struct call *c) {
  return ran(c, sl_cuda_llama_rope(c->stream, c->type, c->x[0], c->dim[0], c->dim[1], c->dim[2], c->dim[3],
                                   c->dim[2] * c->dim[3], 0, c->op->scale, c->op->flags & SL_OP_INVERSE ? -1 : 1));
}

/* On a GPU 16-bit factors are multiplied as they are: a workspace for copies, planned for a CPU, stays unused. */
static struct sl_cuda_product product_of(const struct call *c, struct sl_gemm_operands at) {
  const unsigned epilogues = SL_OP_BIAS | SL_OP_GELU | SL_OP_DGELU | SL_OP_BGRAD_A | SL_OP_BGRAD_B;
  const int bias = at.dbias >= 0 ? at.dbias : at.bias;
  return (struct sl_cuda_product){.m = c->op->dim[0],
                                  .n = c->op->dim[1],
                                  .k = c->op->dim[2],
                                  .trans_a = c->op->flags & SL_OP_TRANS_A,
                                  .trans_b = c->op->flags & SL_OP_TRANS_B,
                                  .add = c->adds[2],
                                  .tf32 = c->op->dtype == SL_TF32,
                                  .epilogue = c->op->flags & epilogues,
                                  .type = dtype_of(c, 0),
                                  .out_type = dtype_of(c, 2),
                                  .bias_type = bias >= 0 ? dtype_of(c, bias) : SL_F32,
                                  .a = c->x[0],
                                  .b = c->x[1],
                                  .c = c->x[2],
                                  .bias = operand(c, bias),
                                  .aux = operand(c, at.aux)};
}

/* The product with its bias, if it has one. */
static enum sl_status biased(const struct call *c, struct sl_cuda_product p) {
  const enum sl_status status = sl_cuda_gemm_run(c->cuda->gemm, c->stream, &p);
  if (status != SL_DONE) return status;
  const void *bias = p.bias;
  p.epilogue = 0;
  p.bias = NULL;
  SL_TRY(sl_cuda_gemm_run(c->cuda->gemm, c->stream, &p));
  return ran(c, sl_cuda_reduce_bias_add(c->stream, type_of(c, 2), p.c, bias, c->dim[0], c->dim[1]));
}

/* The product, and then its epilogue by the kernel of the op that it stands for. */
static enum sl_status gemm_apart(const struct call *c, struct sl_cuda_product p) {
  const unsigned flags = p.epilogue;
  void *aux = p.aux, *dbias = flags & (SL_OP_BGRAD_A | SL_OP_BGRAD_B) ? p.bias : NULL;
  p.epilogue &= SL_OP_BIAS;
  p.aux = NULL;
  if (flags & SL_OP_GELU) p.c = aux;
  if (dbias) p.bias = NULL;
  SL_TRY(biased(c, p));
  if (flags & SL_OP_GELU)
    return ran(c, sl_cuda_gelu_forward(c->stream, c->type, c->x[2], aux, NULL, c->dim[0], c->dim[1]));
  if (flags & SL_OP_DGELU)
    return ran(c, sl_cuda_gelu_backward(c->stream, c->type, c->x[2], c->x[2], aux, NULL, c->dim[0], c->dim[1]));
  if (!dbias) return SL_OK;
  const bool of_a = flags & SL_OP_BGRAD_A;
  return ran(c, sl_cuda_reduce_bias_backward(c->stream, c->type, dbias, c->x[of_a ? 0 : 1], c->dim[2],
                                             c->dim[of_a ? 0 : 1], 0));
}

static enum sl_status gemm(const struct call *c) {
  const struct sl_cuda_product product = product_of(c, sl_gemm_operands(c->op));
  const enum sl_status status = sl_cuda_gemm_run(c->cuda->gemm, c->stream, &product);
  return status == SL_DONE ? gemm_apart(c, product) : status;
}

static enum sl_status bias_fwd(const struct call *c) {
  return ran(c, sl_cuda_reduce_bias_add(c->stream, c->type, c->x[0], c->x[1], c->dim[0], c->dim[1]));
}

static enum sl_status bias_bwd(const struct call *c) {
  return ran(c, sl_cuda_reduce_bias_backward(c->stream, c->type, c->x[1], c->x[0], c->dim[0], c->dim[1], c->adds[1]));
}

static enum sl_status attention_fwd(const struct call *c) {
  struct sl_dropout dropout;
  const struct sl_attention_shape shape = attention_shape(c, &dropout);
  const struct qkv in = qkv_of(c, &shape, 0);
  const int i = in.next;
  return ran(c, c->op->kind == SL_OP_FLASH_FWD
                    ? sl_cuda_flash_attention_forward(c->stream, c->type, c->x[i], c->x[i + 1], in.q, in.k, in.v,
                                                      &shape, &dropout, NULL)
                    : sl_cuda_attention_forward(c->stream, c->type, c->x[i], c->x[i + 1], in.q, in.k, in.v, &shape,
                                                &dropout, NULL));
}

static enum sl_status attention_bwd(const struct call *c) {
  const bool flash = c->op->kind == SL_OP_FLASH_BWD; /* it has forward's out before what the softmax left */
  struct sl_dropout dropout;
  const struct sl_attention_shape shape = attention_shape(c, &dropout);
  const struct qkv in = qkv_of(c, &shape, 1);
  const int kept = in.next + flash;
  /* what dropout leaves of the probabilities, and its mask, stand between */
  const struct qkv d = qkv_of(c, &shape, kept + 1 + (c->op->flags & SL_OP_MASK ? 2 : 0));
  return ran(c, flash ? sl_cuda_flash_attention_backward(c->stream, c->type, d.q, d.k, d.v, c->x[0], in.q, in.k, in.v,
                                                         c->x[in.next], c->x[kept], &shape, &dropout, NULL)
                      : sl_cuda_attention_backward(c->stream, c->type, d.q, d.k, d.v, c->x[0], in.q, in.k, in.v,
                                                   c->x[kept], &shape, &dropout, NULL));
}

static enum sl_status gelu_fwd(const struct call *c) {
  return ran(c, sl_cuda_gelu_forward(c->stream, c->type, c->x[1], c->x[0], NULL, c->dim[0], c->dim[1]));
}

static enum sl_status gelu_bwd(const struct call *c) {
  return ran(c, sl_cuda_gelu_backward(c->stream, c->type, c->x[0], c->x[0], c->x[1], NULL, c->dim[0], c->dim[1]));
}

static enum sl_status swiglu_fwd(const struct call *c) {
  return ran(
      c, sl_cuda_llama_swiglu_forward(c->stream, c->type, c->x[2], c->x[0], c->x[1], c->dim[0], c->dim[1], c->dim[1]));
}

static enum sl_status swiglu_bwd(const struct call *c) {
  return ran(c, sl_cuda_llama_swiglu_backward(c->stream, c->type, c->x[1], c->x[2], c->x[0], c->x[1], c->x[2],
                                              c->dim[0], c->dim[1], c->dim[1]));
}

/* Sequence parallel: the op's rows are those of its place in the micro-batch. */
static enum sl_status residual_fwd(const struct call *c) {
  const struct sl_dropout dropout = row_dropout(c, place_of(c) * c->dim[0], c->dim[1]);
  const bool bias = c->op->flags & SL_OP_BIAS;
  return ran(c, sl_cuda_dropout_residual(c->stream, c->type, c->x[bias ? 3 : 2], c->x[0], c->x[1],
                                         bias ? c->x[2] : NULL, c->dim[0], c->dim[1], &dropout, NULL));
}

static enum sl_status dropout(const struct call *c) {
  const struct sl_dropout dropout = row_dropout(c, place_of(c) * c->dim[0], c->dim[1]);
  return ran(c, sl_cuda_dropout_forward(c->stream, c->type, c->x[1], c->x[0], c->dim[0], c->dim[1], &dropout, NULL));
}

static enum sl_status relu_fwd(const struct call *c) {
  return ran(c, sl_cuda_mlp_relu_forward(c->stream, c->type, c->x[0], c->x[0], NULL, c->dim[0], c->dim[1]));
}

static enum sl_status relu_bwd(const struct call *c) {
  return ran(c, sl_cuda_mlp_relu_backward(c->stream, c->type, c->x[0], c->x[0], c->x[1], c->dim[0], c->dim[1]));
}

/* Losses: the gradient carries the loss scale of fp16 training (1 otherwise), the reported loss does not. Where the
 * members of a group compute the same loss, the first of them alone reports it. */
static double *loss_of(const struct call *c, struct sl_step_state *control) {
  return place_of(c) == 0 ? &control->loss_sum : NULL;
}

static enum sl_status classifier(const struct call *c) {
  struct sl_step_state *control = c->x[2];
  return ran(c, sl_cuda_classifier_fused(c->stream, c->type, loss_of(c, control), scratch(c), c->x[0], c->x[1],
                                         c->dim[0], c->dim[1], c->dim[2], c->op->scale, &control->loss_scale));
}

static enum sl_status classifier_stats(const struct call *c) {
  return ran(c, sl_cuda_classifier_stats(c->stream, c->type, c->x[2], c->x[0], c->x[1], c->dim[0], c->dim[1],
                                         place_of(c) * c->dim[1], c->dim[2]));
}

static enum sl_status classifier_shard(const struct call *c) {
  struct sl_step_state *control = c->x[3];
  return ran(c, sl_cuda_classifier_shard(c->stream, c->type, loss_of(c, control), scratch(c), c->x[0], c->x[1], c->x[2],
                                         c->dim[0], c->dim[1], place_of(c) * c->dim[1], c->dim[2], c->dim[3],
                                         c->op->scale, &control->loss_scale));
}

static enum sl_status mse(const struct call *c) {
  struct sl_step_state *control = c->x[2];
  return ran(c, sl_cuda_mlp_mse(c->stream, c->type, loss_of(c, control), c->x[0], c->x[0], c->x[1],
                                c->dim[0] * c->dim[1], c->op->scale, &control->loss_scale, scratch(c)));
}

/* --- state --- */

static enum sl_status fill(const struct call *c) {
  if (c->op->scale != 0)
    return ran(c, sl_cuda_reduce_fill(c->stream, c->type, c->x[0], (float)c->op->scale, c->dim[0]));
  SL_CUDA_TRY(cudaMemsetAsync(c->x[0], 0, c->bytes[0], c->stream));
  return SL_OK;
}

static enum sl_status copy(const struct call *c) {
  return ran(c, sl_cuda_convert(c->stream, c->x[1], type_of(c, 1), c->x[0], type_of(c, 0), c->dim[0]));
}

static enum sl_status add(const struct call *c) {
  return ran(c, sl_cuda_convert_add(c->stream, c->x[1], type_of(c, 1), c->x[0], type_of(c, 0), c->dim[0]));
}

static enum sl_status concat_columns(const struct call *c) {
  return ran(c, sl_cuda_columns_concat(c->stream, c->type, c->x[1], c->x[0], c->dim[0], c->dim[1], c->dim[2]));
}

static enum sl_status split_columns(const struct call *c) {
  return ran(c,
             sl_cuda_columns_split(c->stream, c->type, c->x[1], c->x[0], c->dim[0], c->dim[1], c->dim[2], place_of(c)));
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

static enum sl_status norm(const struct call *c) {
  struct sl_step_state *control = c->x[1];
  size_t first;
  const enum sl_number type = type_of(c, 0);
  const size_t n = norm_range(c, &first);
  if (n == 0) return SL_OK;
  return ran(c,
             sl_cuda_reduce_sum_squares(c->stream, type, &control->square_sum, &control->overflow,
                                        (char *)c->x[0] + first * sl_convert_bytes(type), n, c->op->scale, scratch(c)));
}

static enum sl_status control_step(const struct call *c) {
  return ran(c, sl_cuda_control_step(c->stream, c->x[0], &c->cuda->rules));
}

/* What an update reads of the step state, where that stands on the device. */
static struct sl_cuda_update update_of(const struct sl_step_state *control) {
  return (struct sl_cuda_update){.grad_factor = &control->grad_factor,
                                 .lr = &control->lr,
                                 .step = &control->good_steps,
                                 .beta1 = &control->momentum};
}

/* + master, r gradient, + m, + v, r control [, w param] */
static enum sl_status adam(const struct call *c) {
  const struct sl_config *config = c->cuda->job->plan->config;
  const struct sl_cuda_update update = update_of(c->x[4]);
  double beta1, beta2; /* of the two only beta1 changes from step to step */
  sl_config_betas(config, 0, &beta1, &beta2);
  const struct sl_adam a = {.beta1 = beta1,
                            .beta2 = beta2,
                            .eps = config->optimizer.eps,
                            .weight_decay = config->optimizer.weight_decay,
                            .decoupled = c->op->kind == SL_OP_ADAMW,
                            .bias_correction = config->optimizer.bias_correction};
  const bool parameter = c->op->flags & SL_OP_PARAM_COPY;
  return ran(c, sl_cuda_master_adam(c->stream, c->x[0], c->x[2], c->x[3], c->x[1], type_of(c, 1),
                                    parameter ? c->x[5] : NULL, parameter ? type_of(c, 5) : SL_NUMBER_F32, c->dim[0],
                                    &a, &update));
}

/* + master, r gradient, [+ momentum,] r control [, w param] */
static enum sl_status sgd(const struct call *c) {
  const struct sl_config *config = c->cuda->job->plan->config;
  const bool parameter = c->op->flags & SL_OP_PARAM_COPY, buffer = c->count - parameter > 3;
  const struct sl_cuda_update update = update_of(c->x[c->count - 1 - parameter]);
  const struct sl_sgd s = {.momentum = buffer ? config->optimizer.momentum : 0,
                           .dampening = config->optimizer.dampening,
                           .weight_decay = config->optimizer.weight_decay,
                           .nesterov = config->optimizer.nesterov};
  const int last = c->count - 1;
  return ran(c, sl_cuda_master_sgd(c->stream, c->x[0], buffer ? c->x[2] : NULL, c->x[1], type_of(c, 1),
                                   parameter ? c->x[last] : NULL, parameter ? type_of(c, last) : SL_NUMBER_F32,
                                   c->dim[0], &s, &update));
}

static enum sl_status init_tensor(const struct call *c) {
  return sl_cuda_init_tensor(c->cuda, c->stream, c->it);
}

static enum sl_status save_tensor(const struct call *c) {
  return sl_cuda_save_tensor(c->cuda, c->stream, c->it);
}

/* The end of a program; files are complete when the save program is. */
static enum sl_status join(const struct call *c) {
  return c->cuda->kind == SL_PROGRAM_SAVE ? sl_tensors_save_finish(&c->cuda->tensors) : SL_OK;
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

enum sl_status sl_cuda_run(struct sl_cuda *cuda, cudaStream_t stream, const struct sl_issued *it) {
  struct call c = {.cuda = cuda,
                   .stream = stream,
                   .it = it,
                   .op = it->op,
                   .type = number_of(it->op->dtype),
                   .count = it->op->slice_count};
  for (int i = 0; i < 5; i++) c.dim[i] = (size_t)it->op->dim[i];
  for (int i = 0; i < c.count; i++) {
    const struct sl_slice *s = &it->program->slices[it->op->slice + i];
    c.x[i] = sl_cuda_operand(cuda, it, i);
    c.bytes[i] = (size_t)s->bytes;
    c.adds[i] = s->access == SL_READ_WRITE;
  }
  return table[it->op->kind](&c);
}

enum sl_status sl_cuda_supports(const struct sl_op *op) {
  if (sl_cuda_communicates(op)) return SL_OK;
  if (!table[op->kind]) return sl_fail(SL_ERR_INPUT, "the cuda backend has no \"%s\"", sl_op_name(op->kind));
  if (op->slice_count > 16)
    return sl_fail(SL_ERR_INTERNAL, "\"%s\" with %d operands", sl_op_name(op->kind), op->slice_count);
  return SL_OK;
}
