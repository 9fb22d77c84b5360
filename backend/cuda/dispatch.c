/* Runs compute ops by the kernels of kernels/gpu/cuda.h and by cuBLASLt's matrix products, one short function per kind
 * of op. The functions whose kernels take the same arguments as the host's, and the table of all, are in
 * backend/common/dispatch.inc. This file mirrors backend/host/dispatch.c with addresses in device memory; both decode
 * ops with backend/common/call.c. Values that depend on data stay on the device: a kernel gets the address of a number
 * in the control block. The backward kernels draw a dropout mask again, which gives the same mask, and do not touch an
 * operand that could hold it. */
#include "backend/common/anomaly.h"
#include "backend/common/call.h"
#include "backend/common/offload.h"
#include "backend/cuda/control_step.h"
#include "backend/cuda/cuda.h"
#include "core/base/machine.h"
#include "core/op/wire.h"
#include "core/op/workspace.h"

#include "kernels/all.h"
#include "kernels/by_dtype.h"
#include "kernels/convert.h"
#include "kernels/gpu/cuda.h"

#include <stddef.h>
#include <string.h>

static struct sl_cuda *cuda_of(const struct sl_call *c) {
  return c->backend;
}

/* The status of a launch that returned `code`. */
static enum sl_status ran(const struct sl_call *c, int code) {
  return code == 0 ? SL_OK : sl_cuda_failed(sl_op_name(c->op->kind), (cudaError_t)code);
}

/* Where a kernel reads the step number, which keys dropout: device memory in a graph, or NULL if the number is in the
 * kernel's arguments. */
static const int64_t *step_of(const struct sl_call *c) {
  const struct sl_cuda_graphs *g = &cuda_of(c)->graphs;
  return g->recording ? g->step_here : NULL;
}

/* --- the model --- */

static enum sl_status load_batch(const struct sl_call *c) {
  return sl_cuda_load_batch(cuda_of(c), c->stream, c->it);
}

static enum sl_status embed_fwd(const struct sl_call *c) {
  const struct sl_dropout dropout = sl_call_dropout(c, 0, c->dim[2]);
  const struct sl_embedding_shape shape = sl_call_embedding(c);
  return ran(c, sl_cuda_embedding_forward(c->stream, c->type, c->x[SL_AT_OUT], c->x[SL_AT_TOKENS], c->x[SL_AT_WTE],
                                          c->x[SL_AT_WPE], &shape, &dropout, step_of(c)));
}

static enum sl_status embed_bwd(const struct sl_call *c) {
  const struct sl_dropout dropout = sl_call_dropout(c, 0, c->dim[2]);
  const struct sl_embedding_shape shape = sl_call_embedding(c);
  return ran(c, sl_cuda_embedding_backward(c->stream, c->type, c->x[SL_AT_DWTE], c->adds[SL_AT_DWTE], c->x[SL_AT_DWPE],
                                           c->dim[4], c->adds[SL_AT_DWPE], c->dtype[SL_AT_DWTE] == SL_F32,
                                           c->x[SL_AT_DOUT], c->x[SL_AT_TOKENS], &shape, &dropout, step_of(c)));
}

/* Where the inverse of a factor's scale is, behind it; NULL: it has none. */
static const void *inverse_scale(const struct sl_call *c, enum sl_at name) {
  return c->x[name] ? (const float *)c->x[name] + 1 : NULL;
}

/* A GPU multiplies 16-bit factors directly, so a workspace for converted copies, which is planned for a CPU, stays
 * unused. */
static struct sl_cuda_product product_of(const struct sl_call *c) {
  const unsigned epilogues = SL_OP_BIAS | SL_OP_GELU | SL_OP_DGELU | SL_OP_BGRAD_A | SL_OP_BGRAD_B;
  const enum sl_at bias = c->x[SL_AT_DBIAS] ? SL_AT_DBIAS : SL_AT_BIAS;
  return (struct sl_cuda_product){.m = c->op->dim[0],
                                  .n = c->op->dim[1],
                                  .k = c->op->dim[2],
                                  .trans_a = c->op->flags & SL_OP_TRANS_A,
                                  .trans_b = c->op->flags & SL_OP_TRANS_B,
                                  .add = c->adds[SL_AT_C],
                                  .tf32 = c->op->dtype == SL_TF32,
                                  .epilogue = c->op->flags & epilogues,
                                  .type = c->dtype[SL_AT_A],
                                  .b_type = c->dtype[SL_AT_B],
                                  .scale_a = inverse_scale(c, SL_AT_SCALE_A),
                                  .scale_b = inverse_scale(c, SL_AT_SCALE_B),
                                  .out_type = c->dtype[SL_AT_C],
                                  .bias_type = c->dtype[bias],
                                  .a = c->x[SL_AT_A],
                                  .b = c->x[SL_AT_B],
                                  .c = c->x[SL_AT_C],
                                  .bias = c->x[bias],
                                  .aux = c->x[SL_AT_AUX]};
}

/* The product with its bias, if any. */
static enum sl_status biased(const struct sl_call *c, struct sl_cuda_product p) {
  const enum sl_status status = sl_cuda_gemm_run(cuda_of(c)->gemm, c->stream, &p, NULL);
  if (status != SL_DONE) return status;
  const void *bias = p.bias;
  p.epilogue = 0;
  p.bias = NULL;
  SL_TRY(sl_cuda_gemm_run(cuda_of(c)->gemm, c->stream, &p, NULL));
  return ran(c, sl_cuda_reduce_bias_add(c->stream, sl_call_type(c, SL_AT_C), p.c, bias, c->dim[0], c->dim[1]));
}

/* dbias = or += the column sums of `dout`, (rows,cols). */
static enum sl_status bias_sums(const struct sl_call *c, enum sl_at dout, size_t rows, size_t cols) {
  return ran(c, sl_cuda_reduce_bias_backward(c->stream, sl_call_type(c, dout), c->x[SL_AT_DBIAS],
                                             sl_call_type(c, SL_AT_DBIAS), c->adds[SL_AT_DBIAS], c->x[dout], rows, cols,
                                             cuda_of(c)->scratch));
}

static enum sl_status bias_bwd(const struct sl_call *c) {
  return bias_sums(c, SL_AT_DOUT, c->dim[0], c->dim[1]);
}

/* The product alone, followed by the kernel of the op that its epilogue replaces. */
static enum sl_status gemm_apart(const void *of, const struct sl_cuda_product *whole) {
  const struct sl_call *c = of;
  const unsigned flags = whole->epilogue;
  struct sl_cuda_product p = *whole;
  void *out = p.c, *aux = p.aux, *dbias = c->x[SL_AT_DBIAS];
  p.epilogue &= SL_OP_BIAS;
  p.aux = NULL;
  if (flags & SL_OP_GELU) p.c = aux;
  if (dbias) p.bias = NULL;
  SL_TRY(biased(c, p));
  if (flags & SL_OP_GELU) return ran(c, sl_cuda_gelu_forward(c->stream, c->type, out, aux, NULL, c->dim[0], c->dim[1]));
  if (flags & SL_OP_DGELU)
    return ran(c, sl_cuda_gelu_backward(c->stream, c->type, out, out, aux, NULL, c->dim[0], c->dim[1]));
  if (!dbias) return SL_OK;
  const bool of_a = flags & SL_OP_BGRAD_A;
  return bias_sums(c, of_a ? SL_AT_A : SL_AT_B, c->dim[2], c->dim[of_a ? 0 : 1]);
}

static enum sl_status gemm(const struct sl_call *c) {
  const struct sl_cuda_product product = product_of(c);
  const struct sl_cuda_apart apart = {gemm_apart, c};
  return sl_cuda_gemm_run(cuda_of(c)->gemm, c->stream, &product, &apart);
}

static enum sl_status attention_fwd(const struct sl_call *c) {
  struct sl_dropout dropout;
  const struct sl_attention_shape shape = sl_call_attention(c, &dropout);
  const void *q = c->x[SL_AT_Q], *k = c->x[SL_AT_K], *v = c->x[SL_AT_V];
  void *out = c->x[SL_AT_OUT], *softmax = c->x[SL_AT_SOFTMAX];
  return ran(
      c, c->op->kind == SL_OP_FLASH_FWD
             ? sl_cuda_flash_attention_forward(c->stream, c->type, out, softmax, q, k, v, &shape, &dropout, step_of(c))
             : sl_cuda_attention_forward(c->stream, c->type, out, softmax, q, k, v, &shape, &dropout, step_of(c)));
}

static enum sl_status attention_bwd(const struct sl_call *c) {
  struct sl_dropout dropout;
  const struct sl_attention_shape shape = sl_call_attention(c, &dropout);
  const void *q = c->x[SL_AT_Q], *k = c->x[SL_AT_K], *v = c->x[SL_AT_V], *dout = c->x[SL_AT_DOUT];
  void *dq = c->x[SL_AT_DQ], *dk = c->x[SL_AT_DK], *dv = c->x[SL_AT_DV], *softmax = c->x[SL_AT_SOFTMAX];
  const bool room = (int64_t)c->bytes[SL_AT_SCRATCH] >= sl_op_attention_parts_bytes(c->op->dim);
  const int parts = room ? sl_op_attention_parts(c->op->dim) : 1; /* a plan for CPUs brings none */
  return ran(c, c->op->kind == SL_OP_FLASH_BWD ? sl_cuda_flash_attention_backward(
                                                     c->stream, c->type, dq, dk, dv, dout, q, k, v, c->x[SL_AT_OUT],
                                                     softmax, &shape, &dropout, step_of(c), parts, c->x[SL_AT_SCRATCH])
                                               : sl_cuda_attention_backward(c->stream, c->type, dq, dk, dv, dout, q, k,
                                                                            v, softmax, &shape, &dropout, step_of(c)));
}

/* With sequence parallelism the op's rows start at this rank's place in the micro-batch. */
static enum sl_status residual_fwd(const struct sl_call *c) {
  const struct sl_dropout dropout = sl_call_dropout(c, c->place * c->dim[0], c->dim[1]);
  return ran(c, sl_cuda_dropout_residual(c->stream, c->type, c->x[SL_AT_OUT], c->x[SL_AT_RESIDUAL], c->x[SL_AT_X],
                                         c->x[SL_AT_BIAS], c->dim[0], c->dim[1], &dropout, step_of(c)));
}

static enum sl_status dropout(const struct sl_call *c) {
  const struct sl_dropout dropout = sl_call_dropout(c, c->place * c->dim[0], c->dim[1]);
  return ran(c, sl_cuda_dropout_forward(c->stream, c->type, c->x[SL_AT_OUT], c->x[SL_AT_X], c->dim[0], c->dim[1],
                                        &dropout, step_of(c)));
}

/* What a norm takes in, or NULL; `dropout` and `out` are the caller's room. */
static const struct sl_cuda_taken_in *taken_in(const struct sl_call *c, struct sl_dropout *dropout,
                                               struct sl_cuda_taken_in *out) {
  *dropout = sl_call_dropout(c, c->place * c->dim[0], c->dim[1]);
  *out = (struct sl_cuda_taken_in){.residual = c->x[SL_AT_RESIDUAL],
                                   .branch = c->x[SL_AT_BRANCH],
                                   .bias = c->x[SL_AT_BRANCH_BIAS],
                                   .dbranch = c->x[SL_AT_DBRANCH],
                                   .dropout = dropout,
                                   .step = step_of(c)};
  return c->op->flags & SL_OP_RESIDUAL ? out : NULL;
}

static enum sl_status layernorm_fwd(const struct sl_call *c) {
  float *mean = c->x[SL_AT_STATS], *rstd = mean + c->dim[0];
  struct sl_dropout dropout;
  struct sl_cuda_taken_in from;
  return ran(c, sl_cuda_layernorm_forward(c->stream, c->type, c->x[SL_AT_OUT], mean, rstd, c->x[SL_AT_X],
                                          c->x[SL_AT_WEIGHT], c->x[SL_AT_BIAS], c->dim[0], c->dim[1],
                                          (float)c->op->scale, sl_call_from_one(c), taken_in(c, &dropout, &from)));
}

/* All of it, or the half that makes dx, or the one that makes the weights' gradients: what a half has not is NULL. */
static enum sl_status layernorm_bwd(const struct sl_call *c) {
  const float *mean = c->x[SL_AT_STATS], *rstd = mean + c->dim[0];
  struct sl_dropout dropout;
  struct sl_cuda_taken_in from;
  /* the kernel has one flag for both; core gives both the same access, being neighbours in one buffer */
  return ran(c, sl_cuda_layernorm_backward(c->stream, c->type, c->x[SL_AT_DX], c->adds[SL_AT_DX], c->x[SL_AT_DWEIGHT],
                                           c->x[SL_AT_DBIAS], c->dtype[SL_AT_DWEIGHT] == SL_F32, c->adds[SL_AT_DWEIGHT],
                                           c->x[SL_AT_DOUT], c->x[SL_AT_X], c->x[SL_AT_WEIGHT], mean, rstd, c->dim[0],
                                           c->dim[1], sl_call_from_one(c), c->x[SL_AT_SCRATCH],
                                           taken_in(c, &dropout, &from)));
}

static enum sl_status rmsnorm_fwd(const struct sl_call *c) {
  struct sl_dropout dropout;
  struct sl_cuda_taken_in from;
  return ran(c, sl_cuda_llama_rmsnorm_forward(c->stream, c->type, c->x[SL_AT_OUT], c->x[SL_AT_STATS], c->x[SL_AT_X],
                                              c->x[SL_AT_WEIGHT], c->dim[0], c->dim[1], (float)c->op->scale,
                                              sl_call_from_one(c), taken_in(c, &dropout, &from)));
}

static enum sl_status rmsnorm_bwd(const struct sl_call *c) {
  struct sl_dropout dropout;
  struct sl_cuda_taken_in from;
  return ran(c,
             sl_cuda_llama_rmsnorm_backward(c->stream, c->type, c->x[SL_AT_DX], c->adds[SL_AT_DX], c->x[SL_AT_DWEIGHT],
                                            c->dtype[SL_AT_DWEIGHT] == SL_F32, c->adds[SL_AT_DWEIGHT], c->x[SL_AT_DOUT],
                                            c->x[SL_AT_X], c->x[SL_AT_WEIGHT], c->x[SL_AT_STATS], c->dim[0], c->dim[1],
                                            sl_call_from_one(c), c->x[SL_AT_SCRATCH], taken_in(c, &dropout, &from)));
}

/* The gradient of a loss carries the loss scale of fp16 training (1 otherwise), the reported loss does not. Where all
 * members of a group compute the same loss, only the first one reports it. */
static double *loss_of(const struct sl_call *c) {
  struct sl_step_state *control = c->x[SL_AT_CONTROL];
  return c->place == 0 ? &control->loss_sum : NULL;
}

static const double *loss_scale(const struct sl_call *c) {
  const struct sl_step_state *control = c->x[SL_AT_CONTROL];
  return &control->loss_scale;
}

static enum sl_status classifier(const struct sl_call *c) {
  return ran(c, sl_cuda_classifier_fused(c->stream, c->type, loss_of(c), c->x[SL_AT_SCRATCH], c->x[SL_AT_LOGITS],
                                         c->x[SL_AT_TARGETS], c->dim[0], c->dim[1], c->dim[2], c->op->scale,
                                         loss_scale(c)));
}

static enum sl_status classifier_shard(const struct sl_call *c) {
  return ran(c, sl_cuda_classifier_shard(c->stream, c->type, loss_of(c), c->x[SL_AT_SCRATCH], c->x[SL_AT_LOGITS],
                                         c->x[SL_AT_TARGETS], c->x[SL_AT_STATS], c->dim[0], c->dim[1],
                                         c->place * c->dim[1], c->dim[2], c->dim[3], c->op->scale, loss_scale(c)));
}

static enum sl_status mse(const struct sl_call *c) {
  return ran(c, sl_cuda_mlp_mse(c->stream, c->type, loss_of(c), c->x[SL_AT_X], c->x[SL_AT_X], c->x[SL_AT_TARGETS],
                                c->dim[0] * c->dim[1], c->op->scale, loss_scale(c), c->x[SL_AT_SCRATCH]));
}

/* --- state --- */

/* Buffers in host memory and on NVMe are filled by the CPU when a run begins: they need not be accessible to a GPU. */
static enum sl_status fill_here(const struct sl_call *c) {
  SL_CUDA_TRY(cudaStreamSynchronize(c->stream)); /* until the ops that this one waits for are complete */
  if (c->op->scale == 0)
    memset(c->x[SL_AT_X], 0, c->bytes[SL_AT_X]);
  else
    sl_kernels_of(c->type)->reduce_fill(c->x[SL_AT_X], (float)c->op->scale, c->dim[0]);
  return SL_OK;
}

static enum sl_status fill(const struct sl_call *c) {
  if (sl_cuda_space(c->it, 0) != SL_SPACE_DEVICE) return fill_here(c);
  if (c->op->scale != 0)
    return ran(c, sl_cuda_reduce_fill(c->stream, c->type, c->x[SL_AT_X], (float)c->op->scale, c->dim[0]));
  SL_CUDA_TRY(cudaMemsetAsync(c->x[SL_AT_X], 0, c->bytes[SL_AT_X], c->stream));
  return SL_OK;
}

/* Between two buffers of one number type the copy engine does the copy. Otherwise a kernel converts or adds on the way;
 * it accesses the host's pinned memory as it does the device's. */
static enum sl_status copy(const struct sl_call *c) {
  if (sl_op_is_copy(c->op) && c->dtype[SL_AT_OUT] == c->dtype[SL_AT_X]) {
    SL_CUDA_TRY(cudaMemcpyAsync(c->x[SL_AT_OUT], c->x[SL_AT_X], c->bytes[SL_AT_X], cudaMemcpyDefault, c->stream));
    return SL_OK;
  }
  const struct sl_taken taken = sl_call_taken(c);
  if (taken.count == 0) return SL_OK;
  return ran(c, sl_cuda_convert(c->stream, taken.to, sl_call_type(c, SL_AT_OUT), taken.from, sl_call_type(c, SL_AT_X),
                                taken.count));
}

static enum sl_status add(const struct sl_call *c) {
  const struct sl_taken taken = sl_call_taken(c);
  if (taken.count == 0) return SL_OK;
  return ran(c, sl_cuda_convert_add(c->stream, taken.to, sl_call_type(c, SL_AT_OUT), taken.from,
                                    sl_call_type(c, SL_AT_X), taken.count));
}

static enum sl_status norm(const struct sl_call *c) {
  struct sl_step_state *control = c->x[SL_AT_CONTROL];
  const enum sl_number type = sl_call_type(c, SL_AT_GRADIENT);
  const char *gradient = c->x[SL_AT_GRADIENT];
  size_t first;
  const size_t n = sl_call_norm_range(c, &first);
  if (n == 0) return SL_OK;
  return ran(c, sl_cuda_reduce_sum_squares(c->stream, type, &control->square_sum, &control->overflow,
                                           gradient + first * sl_convert_bytes(type), n, c->op->scale,
                                           c->x[SL_AT_SCRATCH]));
}

static enum sl_status fp8_cast(const struct sl_call *c) {
  const enum sl_at to = c->x[SL_AT_OUT] ? SL_AT_OUT : SL_AT_TRANSPOSED;
  return ran(c, sl_cuda_fp8_cast(c->stream, sl_call_type(c, SL_AT_X), c->x[SL_AT_OUT], c->x[SL_AT_TRANSPOSED],
                                 c->x[SL_AT_X], c->dim[0], c->dim[1], sl_call_fp8(c, to), c->x[SL_AT_SCALE],
                                 c->x[SL_AT_AMAX]));
}

static enum sl_status fp8_scale(const struct sl_call *c) {
  return ran(c, sl_cuda_fp8_scale(c->stream, c->x[SL_AT_SCALE], c->x[SL_AT_AMAX], c->x[SL_AT_HISTORY], c->dim[0],
                                  c->dim[1], sl_call_fp8_rule(c)));
}

static enum sl_status control_step(const struct sl_call *c) {
  return ran(c, sl_cuda_control_step(c->stream, c->x[SL_AT_CONTROL], &cuda_of(c)->rules));
}

/* What an update reads from the control block on the device. */
static struct sl_cuda_update update_of(const struct sl_call *c) {
  const struct sl_step_state *control = c->x[SL_AT_CONTROL];
  return (struct sl_cuda_update){.grad_factor = &control->grad_factor,
                                 .lr = &control->lr,
                                 .step = &control->good_steps,
                                 .beta1 = &control->momentum};
}

static enum sl_status adam(const struct sl_call *c) {
  const struct sl_cuda_update update = update_of(c);
  const struct sl_adam a = sl_call_adam(c, 0); /* of its fields only beta1 changes from step to step */
  return ran(c, sl_cuda_master_adam(c->stream, c->x[SL_AT_MASTER], c->x[SL_AT_MOMENT1], c->x[SL_AT_MOMENT2],
                                    c->x[SL_AT_GRADIENT], sl_call_type(c, SL_AT_GRADIENT), c->x[SL_AT_PARAM],
                                    sl_call_type(c, SL_AT_PARAM), c->dim[0], &a, &update));
}

static enum sl_status sgd(const struct sl_call *c) {
  const struct sl_cuda_update update = update_of(c);
  const struct sl_sgd s = sl_call_sgd(c);
  return ran(c, sl_cuda_master_sgd(c->stream, c->x[SL_AT_MASTER], c->x[SL_AT_MOMENT1], c->x[SL_AT_GRADIENT],
                                   sl_call_type(c, SL_AT_GRADIENT), c->x[SL_AT_PARAM], sl_call_type(c, SL_AT_PARAM),
                                   c->dim[0], &s, &update));
}

/* The sum of the squares of n errors, stored behind the partial sums. It stays on the device. */
static enum sl_status squares_of(const struct sl_call *c, size_t n, double **sum) {
  char *scratch = c->x[SL_AT_SCRATCH];
  *sum = (double *)(void *)(scratch + sl_cuda_reduce_scratch_bytes(n));
  SL_TRY(ran(c, sl_cuda_reduce_fill(c->stream, SL_NUMBER_F32, *sum, 0, sizeof **sum / sizeof(float))));
  return ran(c, sl_cuda_reduce_sum_squares(c->stream, SL_NUMBER_F32, *sum, NULL, c->x[SL_AT_ERROR], n, 1, scratch));
}

static enum sl_status sign_pack(const struct sl_call *c) {
  const struct sl_cuda_update update = update_of(c);
  const struct sl_adam a = sl_call_adam(c, 0);
  const struct sl_signs shape = {c->dim[1], c->dim[2], c->bytes[SL_AT_OUT] / c->dim[2]};
  double *squares;
  SL_TRY(ran(c, sl_cuda_onebit_blend(c->stream, c->x[SL_AT_ERROR], c->x[SL_AT_MOMENT1], c->x[SL_AT_GRADIENT],
                                     sl_call_type(c, SL_AT_GRADIENT), c->dim[0], c->op->scale, a.beta1, &update)));
  SL_TRY(squares_of(c, c->dim[1] * c->dim[2], &squares));
  return ran(c,
             sl_cuda_onebit_pack(c->stream, c->x[SL_AT_OUT], c->x[SL_AT_ERROR], squares, &shape, update.grad_factor));
}

static enum sl_status sign_sum(const struct sl_call *c) {
  const struct sl_cuda_update update = update_of(c);
  const struct sl_signs all = {c->dim[0], c->dim[1], c->bytes[SL_AT_OUT]}, own = {c->dim[0], 1, c->bytes[SL_AT_OUT]};
  double *squares;
  SL_TRY(ran(c, sl_cuda_onebit_average(c->stream, c->x[SL_AT_ERROR], c->x[SL_AT_X], &all, update.grad_factor)));
  SL_TRY(squares_of(c, c->dim[0], &squares));
  return ran(c, sl_cuda_onebit_pack(c->stream, c->x[SL_AT_OUT], c->x[SL_AT_ERROR], squares, &own, update.grad_factor));
}

static enum sl_status onebit_adam(const struct sl_call *c) {
  const struct sl_cuda_update update = update_of(c);
  const struct sl_adam a = sl_call_adam(c, 0);
  const struct sl_signs shape = {c->dim[1], c->dim[2], c->bytes[SL_AT_X] / c->dim[2]};
  return ran(c,
             sl_cuda_onebit_adam(c->stream, c->x[SL_AT_MASTER], c->x[SL_AT_MOMENT1], c->x[SL_AT_MOMENT2], c->x[SL_AT_X],
                                 &shape, c->x[SL_AT_PARAM], sl_call_type(c, SL_AT_PARAM), c->dim[0], &a, &update));
}

static enum sl_status init_tensor(const struct sl_call *c) {
  return sl_cuda_init_tensor(cuda_of(c), c->stream, c->it);
}

static enum sl_status save_tensor(const struct sl_call *c) {
  return sl_cuda_save_tensor(cuda_of(c), c->stream, c->it);
}

/* The end of a program. At the end of the save program the files are complete. */
static enum sl_status join(const struct sl_call *c) {
  return cuda_of(c)->kind == SL_PROGRAM_SAVE ? sl_tensors_save_finish(&cuda_of(c)->tensors) : SL_OK;
}

#define KERNEL(c, name, ...) ran(c, sl_cuda_##name((c)->stream, (c)->type, __VA_ARGS__))
#include "backend/common/dispatch.inc"

enum sl_status sl_cuda_run(struct sl_cuda *cuda, cudaStream_t stream, const struct sl_issued *it) {
  const struct sl_call_rank rank = sl_cuda_call_rank(cuda);
  struct sl_call call;
  sl_call_decode(&call, &rank, it);
  call.backend = cuda;
  call.stream = stream;
  return table[it->op->kind](&call);
}

static enum sl_status fetch(void *context, void *to, const void *from, size_t bytes) {
  (void)context;
  SL_CUDA_TRY(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
  return SL_OK;
}

enum sl_status sl_cuda_look(struct sl_cuda *cuda, cudaStream_t stream, const struct sl_issued *it) {
  if (!cuda->options.detect_anomaly || sl_op_is_comm(it->op->kind)) return SL_OK;
  const struct sl_call_rank rank = sl_cuda_call_rank(cuda);
  SL_CUDA_TRY(cudaStreamSynchronize(stream)); /* its results must be complete, and the next op must not have begun */
  const double at_s = sl_machine_clock() - cuda->epoch_s;
  return sl_anomaly_look(&cuda->anomaly, &rank, it, at_s, fetch, NULL);
}

enum sl_status sl_cuda_supports(const struct sl_op *op) {
  const bool here = op->lane == SL_LANE_HOST; /* such ops run in helpers.c */
  if (sl_op_is_comm(op->kind) || (here ? sl_offload_update(op->kind) != NULL : table[op->kind] != NULL)) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "the cuda backend has no \"%s\"", sl_op_name(op->kind));
}
