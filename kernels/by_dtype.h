/* A table of all kernels for each number type, for programs that choose the type at run time:
 *
 *   const struct sl_kernels *k = sl_kernels_of(SL_NUMBER_BF16);
 *   k->layernorm_forward(out, mean, rstd, x, weight, bias, rows, C, eps);
 * A void * parameter is a tensor of that type; float parameters (row statistics) and double ones (sums) are the same
 * for every type. k->NAME is sl_NAME in the kernels' own headers, which document it. Scratch has the same size for all
 * three types: ask the float kernels' functions for it. */
#pragma once

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

SL_KERNELS_BEGIN

/* This list generates the struct and, in by_dtype.c, the functions that fill it: name, parameters, arguments. */
/* clang-format off */
#define SL_KERNELS_MAP(X)                                                                                              \
  X(layernorm_forward, (void *out, float *mean, float *rstd, const void *x, const void *weight, const void *bias,      \
      size_t rows, size_t C, float eps, int from_one), (out, mean, rstd, x, weight, bias, rows, C, eps, from_one))     \
  X(layernorm_backward, (void *dx, int accumulate_dx, void *dweight, void *dbias, int in_fp32, int accumulate,         \
      const void *dout, const void *x, const void *weight, const float *mean, const float *rstd, size_t rows,          \
      size_t C, int from_one, void *scratch), (dx, accumulate_dx, dweight, dbias, in_fp32, accumulate, dout, x,        \
      weight, mean, rstd, rows, C, from_one, scratch))                                                                 \
  X(llama_rmsnorm_forward, (void *out, float *rstd, const void *x, const void *weight, size_t rows, size_t C, float    \
      eps, int from_one), (out, rstd, x, weight, rows, C, eps, from_one))                                              \
  X(llama_rmsnorm_backward, (void *dx, int accumulate_dx, void *dweight, int in_fp32, int accumulate, const void       \
      *dout, const void *x, const void *weight, const float *rstd, size_t rows, size_t C, int from_one, void           \
      *scratch), (dx, accumulate_dx, dweight, in_fp32, accumulate, dout, x, weight, rstd, rows, C, from_one, scratch)) \
  X(llama_rope, (void *x, const struct sl_rope_shape *shape, size_t first_position, const struct sl_rope *rope, int    \
      direction), (x, shape, first_position, rope, direction))                                                         \
  X(act_forward, (void *out, const void *x, size_t rows, size_t cols, enum sl_act act, float cap), (out, x, rows, cols, act, cap))              \
  X(act_backward, (void *dx, const void *dout, const void *x, size_t rows, size_t cols, enum sl_act act, float cap), (dx, dout, x,  \
      rows, cols, act, cap))                                                                                                       \
  X(act_gated_forward, (void *out, const void *gate, const void *up, size_t rows, size_t cols, size_t stride, enum     \
      sl_act act), (out, gate, up, rows, cols, stride, act))                                                           \
  X(act_gated_backward, (void *dgate, void *dup, const void *dout, const void *gate, const void *up, size_t rows,      \
      size_t cols, size_t stride, enum sl_act act), (dgate, dup, dout, gate, up, rows, cols, stride, act))             \
  X(llama_swiglu_forward, (void *out, const void *gate, const void *up, size_t rows, size_t cols, size_t stride),      \
      (out, gate, up, rows, cols, stride))                                                                             \
  X(llama_swiglu_backward, (void *dgate, void *dup, const void *dout, const void *gate, const void *up, size_t rows,   \
      size_t cols, size_t stride), (dgate, dup, dout, gate, up, rows, cols, stride))                                   \
  X(gelu_forward, (void *out, const void *x, const void *bias, size_t rows, size_t cols), (out, x, bias, rows,         \
      cols))                                                                                                           \
  X(gelu_backward, (void *dx, const void *dout, const void *x, const void *bias, size_t rows, size_t cols), (dx,       \
      dout, x, bias, rows, cols))                                                                                      \
  X(mlp_relu_forward, (void *out, const void *x, const void *bias, size_t rows, size_t cols), (out, x, bias, rows,     \
      cols))                                                                                                           \
  X(mlp_relu_backward, (void *dx, const void *dout, const void *out, size_t rows, size_t cols), (dx, dout, out,        \
      rows, cols))                                                                                                     \
  X(mlp_mse, (double *loss_sum, void *dprediction, const void *prediction, const void *target, size_t n, float         \
      scale, int accumulate, void *scratch), (loss_sum, dprediction, prediction, target, n, scale, accumulate,         \
      scratch))                                                                                                        \
  X(dropout_forward, (void *out, const void *x, size_t rows, size_t cols, const struct sl_dropout *dropout), (out,     \
      x, rows, cols, dropout))                                                                                         \
  X(dropout_residual, (void *out, const void *residual, const void *x, const void *bias, size_t rows, size_t cols,     \
      const struct sl_dropout *dropout), (out, residual, x, bias, rows, cols, dropout))                                \
  X(dropout_backward, (void *dx, const void *dout, size_t rows, size_t cols, const struct sl_dropout *dropout), (dx,   \
      dout, rows, cols, dropout))                                                                                      \
  X(embedding_forward, (void *out, const int32_t *tokens, const void *wte, const void *wpe, const struct               \
      sl_embedding_shape *shape, const struct sl_dropout *dropout), (out, tokens, wte, wpe, shape, dropout))           \
  X(embedding_backward, (void *dwte, int accumulate_wte, void *dwpe, size_t n_positions, int accumulate_wpe, int       \
      in_fp32, const void *dout, const int32_t *tokens, const struct sl_embedding_shape *shape, const struct           \
      sl_dropout *dropout), (dwte, accumulate_wte, dwpe, n_positions, accumulate_wpe, in_fp32, dout, tokens, shape,    \
      dropout))                                                                                                        \
  X(classifier_fused, (double *loss_sum, double *losses, void *logits, const int32_t *targets, size_t N, size_t V,     \
      size_t total, float scale, int accumulate), (loss_sum, losses, logits, targets, N, V, total, scale, accumulate))  \
  X(classifier_stats, (float *stats, const void *logits, const int32_t *targets, size_t N, size_t V, size_t first,       \
      size_t total), (stats, logits, targets, N, V, first, total))                                                     \
  X(classifier_shard, (double *loss_sum, double *losses, void *logits, const int32_t *targets, const float *stats,     \
      size_t N, size_t V, size_t first, size_t total, size_t members, float scale, int accumulate), (loss_sum,         \
      losses, logits, targets, stats, N, V, first, total, members, scale, accumulate))                                 \
  X(columns_copy, (void *out, size_t out_row, size_t out_step, const void *x, size_t x_row, size_t x_step, size_t     \
      rows, size_t groups, size_t width), (out, out_row, out_step, x, x_row, x_step, rows, groups, width))             \
  X(context_order, (void *out, const void *x, size_t B, size_t T, size_t C, size_t members, int direction), (out, x,   \
      B, T, C, members, direction))                                                                                    \
  X(quantize, (void *out, const void *x, const struct sl_quantized *shape, size_t pieces, size_t turn), (out, x,       \
      shape, pieces, turn))                                                                                            \
  X(quantize_back, (void *out, const void *x, const struct sl_quantized *shape, size_t pieces), (out, x, shape,        \
      pieces))                                                                                                         \
  X(quantize_sum, (void *out, const void *x, const struct sl_quantized *shape, size_t pieces, int accumulate), (out,   \
      x, shape, pieces, accumulate))                                                                                   \
  X(quantize_again, (void *out, const void *x, const struct sl_quantized *shape, size_t sources, size_t pieces), (out, \
      x, shape, sources, pieces))                                                                                      \
  X(attention_forward, (void *out, void *probs, void *dropped, const void *q, const void *k, const void *v, const      \
      struct sl_attention_shape *shape, const struct sl_dropout *dropout, void *scratch, size_t scratch_bytes), (out,  \
      probs, dropped, q, k, v, shape, dropout, scratch, scratch_bytes))                                                \
  X(attention_backward, (void *dq, void *dk, void *dv, const void *dout, const void *q, const void *k, const void      \
      *v, const void *probs, const void *dropped, const struct sl_attention_shape *shape, const struct sl_dropout      \
      *dropout, void *scratch, size_t scratch_bytes), (dq, dk, dv, dout, q, k, v, probs, dropped, shape, dropout,      \
      scratch, scratch_bytes))                                                                                         \
  X(flash_attention_forward, (void *out, float *lse, const void *q, const void *k, const void *v, const struct         \
      sl_attention_shape *shape, const struct sl_dropout *dropout, void *scratch, size_t scratch_bytes), (out, lse,    \
      q, k, v, shape, dropout, scratch, scratch_bytes))                                                                \
  X(flash_attention_backward, (void *dq, void *dk, void *dv, const void *dout, const void *q, const void *k, const     \
      void *v, const void *out, const float *lse, const struct sl_attention_shape *shape, const struct sl_dropout      \
      *dropout, void *scratch, size_t scratch_bytes), (dq, dk, dv, dout, q, k, v, out, lse, shape, dropout, scratch,   \
      scratch_bytes))                                                                                                  \
  X(reduce_sum_squares, (double *sum, const void *x, size_t n, int accumulate, void *scratch), (sum, x, n,             \
      accumulate, scratch))                                                                                            \
  X(reduce_fill, (void *dst, float value, size_t n), (dst, value, n))                                                  \
  X(reduce_bias_add, (void *out, const void *bias, size_t rows, size_t cols), (out, bias, rows, cols))                 \
  X(reduce_bias_backward, (void *dbias, const void *dout, size_t rows, size_t cols, int accumulate), (dbias, dout,     \
      rows, cols, accumulate))
/* clang-format on */

struct sl_kernels {
#define X(name, parameters, arguments) void(*name) parameters;
  SL_KERNELS_MAP(X)
#undef X
};

extern const struct sl_kernels sl_kernels_f32, sl_kernels_bf16, sl_kernels_f16;

static inline const struct sl_kernels *sl_kernels_of(enum sl_number type) {
  return type == SL_NUMBER_F16 ? &sl_kernels_f16 : type == SL_NUMBER_BF16 ? &sl_kernels_bf16 : &sl_kernels_f32;
}

SL_KERNELS_END
