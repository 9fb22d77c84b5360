/* Launchers of the GPU kernels, one per kernel, callable from C.
 *
 * sl_cuda_NAME computes the same as the host kernel sl_NAME, whose header documents shapes and formulas. It enqueues
 * work on `stream` and returns at once, with the cudaError_t of the launch as int, 0 = success. Pointers to tensors,
 * statistics, tokens, scratch and scalars that a kernel writes are device memory; the small structs (shape, dropout,
 * adam ...) are host memory, read before the call returns. Tensors are of the number type `type`, row-major, aligned to
 * their element; all arithmetic is float, rounded once to nearest even. No launcher allocates, synchronises or keeps
 * state, so every one can be captured in a graph; equal input gives equal bits.
 *
 * Scalars that depend on data (loss scale, step number, those of an update) are read on the device, from the control
 * block. Such a parameter is a pointer to one number in device memory. */
#pragma once

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

#include <stddef.h>
#include <stdint.h>

SL_KERNELS_BEGIN

typedef struct CUstream_st *sl_cuda_stream; /* cudaStream_t */

/* `dropout` parameters may be NULL. `step`, unless NULL, points to a number in device memory that replaces
 * dropout->key.step, so that a captured graph draws new masks at each replay. */

/* --- norms of rows; the function after each gives the bytes of scratch, at most those that core/op/workspace.h plans
 * --- */

/* What a norm takes in, with the bits that kernels of their own would leave. Forward: x is written, residual +
 * dropout(branch + bias); bias may be NULL. Backward, which reads none of them: dbranch =
 * dropout(dx); dbranch may be dout. The norms' parameter may be NULL: nothing. */
struct sl_cuda_taken_in {
  const void *residual, *branch, *bias;
  void *dbranch;
  const struct sl_dropout *dropout;
  const int64_t *step;
};

int sl_cuda_layernorm_forward(sl_cuda_stream stream, enum sl_number type, void *out, float *mean, float *rstd, void *x,
                              const void *weight, const void *bias, size_t rows, size_t C, float eps, int from_one,
                              const struct sl_cuda_taken_in *taken_in);
/* As on the host, dx or dweight (with dbias) may be NULL, without changing a bit of the other. With in_fp32 dweight and
 * dbias are fp32, whatever `type` is. */
int sl_cuda_layernorm_backward(sl_cuda_stream stream, enum sl_number type, void *dx, int accumulate_dx, void *dweight,
                               void *dbias, int in_fp32, int accumulate, const void *dout, const void *x,
                               const void *weight, const float *mean, const float *rstd, size_t rows, size_t C,
                               int from_one, void *scratch, const struct sl_cuda_taken_in *taken_in);
size_t sl_cuda_layernorm_scratch_bytes(size_t rows, size_t C);

int sl_cuda_llama_rmsnorm_forward(sl_cuda_stream stream, enum sl_number type, void *out, float *rstd, void *x,
                                  const void *weight, size_t rows, size_t C, float eps, int from_one,
                                  const struct sl_cuda_taken_in *taken_in);
int sl_cuda_llama_rmsnorm_backward(sl_cuda_stream stream, enum sl_number type, void *dx, int accumulate_dx,
                                   void *dweight, int in_fp32, int accumulate, const void *dout, const void *x,
                                   const void *weight, const float *rstd, size_t rows, size_t C, int from_one,
                                   void *scratch, const struct sl_cuda_taken_in *taken_in);
size_t sl_cuda_llama_rmsnorm_scratch_bytes(size_t rows, size_t C);

/* --- element by element --- */

int sl_cuda_llama_rope(sl_cuda_stream stream, enum sl_number type, void *x, const struct sl_rope_shape *shape,
                       size_t first_position, const struct sl_rope *rope, int direction);
int sl_cuda_llama_swiglu_forward(sl_cuda_stream stream, enum sl_number type, void *out, const void *gate,
                                 const void *up, size_t rows, size_t cols, size_t stride);
int sl_cuda_llama_swiglu_backward(sl_cuda_stream stream, enum sl_number type, void *dgate, void *dup, const void *dout,
                                  const void *gate, const void *up, size_t rows, size_t cols, size_t stride);

int sl_cuda_gelu_forward(sl_cuda_stream stream, enum sl_number type, void *out, const void *x, const void *bias,
                         size_t rows, size_t cols);
int sl_cuda_gelu_backward(sl_cuda_stream stream, enum sl_number type, void *dx, const void *dout, const void *x,
                          const void *bias, size_t rows, size_t cols);

/* kernels/act.h */
int sl_cuda_act_forward(sl_cuda_stream stream, enum sl_number type, void *out, const void *x, size_t rows, size_t cols,
                        enum sl_act act, float cap);
int sl_cuda_act_backward(sl_cuda_stream stream, enum sl_number type, void *dx, const void *dout, const void *x,
                         size_t rows, size_t cols, enum sl_act act, float cap);
int sl_cuda_act_gated_forward(sl_cuda_stream stream, enum sl_number type, void *out, const void *gate, const void *up,
                              size_t rows, size_t cols, size_t stride, enum sl_act act);
int sl_cuda_act_gated_backward(sl_cuda_stream stream, enum sl_number type, void *dgate, void *dup, const void *dout,
                               const void *gate, const void *up, size_t rows, size_t cols, size_t stride,
                               enum sl_act act);

int sl_cuda_mlp_relu_forward(sl_cuda_stream stream, enum sl_number type, void *out, const void *x, const void *bias,
                             size_t rows, size_t cols);
int sl_cuda_mlp_relu_backward(sl_cuda_stream stream, enum sl_number type, void *dx, const void *dout, const void *out,
                              size_t rows, size_t cols);

/* Serves as dropout's backward too. */
int sl_cuda_dropout_forward(sl_cuda_stream stream, enum sl_number type, void *out, const void *x, size_t rows,
                            size_t cols, const struct sl_dropout *dropout, const int64_t *step);
int sl_cuda_dropout_residual(sl_cuda_stream stream, enum sl_number type, void *out, const void *residual, const void *x,
                             const void *bias, size_t rows, size_t cols, const struct sl_dropout *dropout,
                             const int64_t *step);

/* --- embedding: nothing is added by atomics, a 16-bit table is rounded once per token --- */

int sl_cuda_embedding_forward(sl_cuda_stream stream, enum sl_number type, void *out, const int32_t *tokens,
                              const void *wte, const void *wpe, const struct sl_embedding_shape *shape,
                              const struct sl_dropout *dropout, const int64_t *step);
int sl_cuda_embedding_backward(sl_cuda_stream stream, enum sl_number type, void *dwte, int accumulate_wte, void *dwpe,
                               size_t n_positions, int accumulate_wpe, int in_fp32, const void *dout,
                               const int32_t *tokens, const struct sl_embedding_shape *shape,
                               const struct sl_dropout *dropout, const int64_t *step);

/* --- losses, of at most 2^31 columns. The gradient carries scale times *loss_scale (NULL: 1); *loss_sum, unless NULL,
 * grows by scale times the sum of the losses. losses (N) doubles and scratch are device memory that holds nothing of
 * use afterwards. --- */

int sl_cuda_classifier_fused(sl_cuda_stream stream, enum sl_number type, double *loss_sum, double *losses, void *logits,
                             const int32_t *targets, size_t N, size_t V, size_t total, double scale,
                             const double *loss_scale);
int sl_cuda_classifier_stats(sl_cuda_stream stream, enum sl_number type, float *stats, const void *logits,
                             const int32_t *targets, size_t N, size_t V, size_t first, size_t total);
int sl_cuda_classifier_shard(sl_cuda_stream stream, enum sl_number type, double *loss_sum, double *losses, void *logits,
                             const int32_t *targets, const float *stats, size_t N, size_t V, size_t first, size_t total,
                             size_t members, double scale, const double *loss_scale);
/* dprediction may be prediction, or NULL. scratch: sl_cuda_reduce_scratch_bytes(n). */
int sl_cuda_mlp_mse(sl_cuda_stream stream, enum sl_number type, double *loss_sum, void *dprediction,
                    const void *prediction, const void *target, size_t n, double scale, const double *loss_scale,
                    void *scratch);

/* --- attention. Backward keeps one float per query in the query's row of dq until it
 * writes dq, so a row needs at least four bytes (cudaErrorInvalidValue for 16 bits and D = 1). Flash attention supports
 * D <= 256, the materialised form T up to about 40000. Flash attention of 16-bit numbers with 2 <= D <= 128 runs on the
 * tensor cores and rounds probabilities and their gradients before the second product; tokens and strides may be at
 * most 2^30 elements (cudaErrorInvalidValue). --- */

int sl_cuda_attention_forward(sl_cuda_stream stream, enum sl_number type, void *out, void *probs, const void *q,
                              const void *k, const void *v, const struct sl_attention_shape *shape,
                              const struct sl_dropout *dropout, const int64_t *step);
int sl_cuda_attention_backward(sl_cuda_stream stream, enum sl_number type, void *dq, void *dk, void *dv,
                               const void *dout, const void *q, const void *k, const void *v, const void *probs,
                               const struct sl_attention_shape *shape, const struct sl_dropout *dropout,
                               const int64_t *step);
int sl_cuda_flash_attention_forward(sl_cuda_stream stream, enum sl_number type, void *out, float *lse, const void *q,
                                    const void *k, const void *v, const struct sl_attention_shape *shape,
                                    const struct sl_dropout *dropout, const int64_t *step);
/* On the tensor cores the H / KV query heads that share a key head are divided into `parts`, a divisor of them, of
 * which each has blocks of its own. With more than one, scratch holds the parts' sums: parts * 2 * B * keys * KV * D
 * floats. */
int sl_cuda_flash_attention_backward(sl_cuda_stream stream, enum sl_number type, void *dq, void *dk, void *dv,
                                     const void *dout, const void *q, const void *k, const void *v, const void *out,
                                     const float *lse, const struct sl_attention_shape *shape,
                                     const struct sl_dropout *dropout, const int64_t *step, int parts, void *scratch);

/* --- flat ranges, columns, bias --- */

/* Device scratch of the sums over n elements: one double per 4096. */
size_t sl_cuda_reduce_scratch_bytes(size_t n);
/* *sum += factor * sum of squares; *overflow (unless NULL) += 1 if the sum is not finite, that is, exactly if an
 * element is not finite. */
int sl_cuda_reduce_sum_squares(sl_cuda_stream stream, enum sl_number type, double *sum, double *overflow, const void *x,
                               size_t n, double factor, void *scratch);
int sl_cuda_reduce_fill(sl_cuda_stream stream, enum sl_number type, void *dst, float value, size_t n);
int sl_cuda_reduce_bias_add(sl_cuda_stream stream, enum sl_number type, void *out, const void *bias, size_t rows,
                            size_t cols);
/* dbias (cols) = or += the sums of dout's (rows,cols) columns; dbias_type: dout's type, or float. The sums of so many
 * rows each stand in the scratch before they are added up. */
enum { SL_CUDA_SUMMED_ROWS = 256 };
static inline size_t sl_cuda_reduce_bias_scratch_bytes(size_t rows, size_t cols) {
  return (rows + SL_CUDA_SUMMED_ROWS - 1) / SL_CUDA_SUMMED_ROWS * cols * sizeof(float);
}
int sl_cuda_reduce_bias_backward(sl_cuda_stream stream, enum sl_number type, void *dbias, enum sl_number dbias_type,
                                 int accumulate, const void *dout, size_t rows, size_t cols, void *scratch);

int sl_cuda_columns_copy(sl_cuda_stream stream, enum sl_number type, void *out, size_t out_row, size_t out_step,
                         const void *x, size_t x_row, size_t x_step, size_t rows, size_t groups, size_t width);
int sl_cuda_context_order(sl_cuda_stream stream, enum sl_number type, void *out, const void *x, size_t B, size_t T,
                          size_t C, size_t members, int direction);

int sl_cuda_quantize(sl_cuda_stream stream, enum sl_number type, void *out, const void *x,
                     const struct sl_quantized *shape, size_t pieces, size_t turn);
int sl_cuda_quantize_back(sl_cuda_stream stream, enum sl_number type, void *out, const void *x,
                          const struct sl_quantized *shape, size_t pieces);
int sl_cuda_quantize_sum(sl_cuda_stream stream, enum sl_number type, void *out, const void *x,
                         const struct sl_quantized *shape, size_t pieces, int accumulate);
int sl_cuda_quantize_again(sl_cuda_stream stream, enum sl_number type, void *out, const void *x,
                           const struct sl_quantized *shape, size_t sources, size_t pieces);

int sl_cuda_fp8_cast(sl_cuda_stream stream, enum sl_number type, uint8_t *out, uint8_t *transposed, const void *x,
                     size_t R, size_t C, enum sl_fp8 format, const float *scale, float *amax);
int sl_cuda_fp8_scale(sl_cuda_stream stream, float *scale, float *amax, float *history, size_t n, size_t H,
                      struct sl_fp8_rule rule);

int sl_cuda_convert(sl_cuda_stream stream, void *dst, enum sl_number dst_type, const void *src, enum sl_number src_type,
                    size_t n);
int sl_cuda_convert_add(sl_cuda_stream stream, void *dst, enum sl_number dst_type, const void *src,
                        enum sl_number src_type, size_t n);

/* The normal numbers of sl_philox_normal, up to the rounding of log, sin and cos. */
int sl_cuda_philox_normal(sl_cuda_stream stream, enum sl_number type, void *dst, const struct sl_philox_key *key,
                          uint64_t first_element, size_t n, float mean, float std);

/* --- optimizers: unscaling, clipping, update and cast in one pass --- */

/* The scalars of an update that depend on data, each in device memory: the factor of the gradient (negative: the step
 * is skipped and the parameter is copied from its master), the learning rate, the number of this update, counted from
 * 1, and Adam's beta1 (NULL: that of struct sl_adam). They replace grad_scale, lr and step. */
struct sl_cuda_update {
  const double *grad_factor, *lr;
  const int64_t *step;
  const double *beta1;
};

/* As sl_master_adam and sl_master_sgd; update may be NULL. */
int sl_cuda_master_adam(sl_cuda_stream stream, float *master, float *m, float *v, const void *grad,
                        enum sl_number grad_type, void *param, enum sl_number param_type, size_t n,
                        const struct sl_adam *adam, const struct sl_cuda_update *update);
int sl_cuda_master_sgd(sl_cuda_stream stream, float *master, float *buf, const void *grad, enum sl_number grad_type,
                       void *param, enum sl_number param_type, size_t n, const struct sl_sgd *sgd,
                       const struct sl_cuda_update *update);

/* --- one-bit momentum: as sl_onebit_NAME (kernels/onebit.h). update, grad_factor (as its) and param may be NULL; the
 * factor is multiplied by `scale`. squares: device memory. Packed pieces are aligned to 4 bytes. --- */

int sl_cuda_onebit_blend(sl_cuda_stream stream, float *error, const float *m, const void *grad,
                         enum sl_number grad_type, size_t n, double scale, double beta1,
                         const struct sl_cuda_update *update);
int sl_cuda_onebit_average(sl_cuda_stream stream, float *error, const void *packed, const struct sl_signs *shape,
                           const double *grad_factor);
int sl_cuda_onebit_pack(sl_cuda_stream stream, void *out, float *error, const double *squares,
                        const struct sl_signs *shape, const double *grad_factor);
int sl_cuda_onebit_adam(sl_cuda_stream stream, float *master, float *m, const float *v, const void *packed,
                        const struct sl_signs *shape, void *param, enum sl_number param_type, size_t n,
                        const struct sl_adam *adam, const struct sl_cuda_update *update);

SL_KERNELS_END
