/* Linear layers and the regions of tensor and sequence parallelism between them. */
#pragma once

#include "core/models/transformer.h"

/* Between the regions of tensor and sequence parallelism. Gather: S rows become R (all_gather; without sequence parallelism
 * the operand itself). Reduce: partial sums of R rows in a temporary become S rows of the whole sum (reduce_scatter or
 * all_reduce in place; without tensor parallelism the operand itself). */
enum sl_status sl_transformer_gather(struct sl_transformer *g, int layer, enum sl_half half, struct sl_operand x,
                                     struct sl_operand *out);
enum sl_status sl_transformer_reduce(struct sl_transformer *g, int layer, struct sl_operand partial,
                                     struct sl_operand *out);

/* A collective of `count` elements of activations over the tp group. */
struct sl_op sl_transformer_tp_call(const struct sl_transformer *g, enum sl_op_kind kind, int layer, int64_t count);

/* A product in which the layer's input is shared by several weights (q, k and v; gate and up). */
struct sl_column {
  int w;       /* the weight's tensor */
  int64_t n;   /* outputs of this member */
  int32_t out; /* (R, n), or its gradient */
  bool apart;  /* the kernel set makes modules of them, each with a sum of its own over the tp group */
};
/* Column-parallel: every `out` = gather(x) w + bias, of this member's outputs. *gathered: the buffer of gather(x), where the
 * kernel set keeps that for the backward; -1: it does not. */
enum sl_status sl_transformer_columns(struct sl_transformer *g, int layer, struct sl_operand x, int count,
                                      const struct sl_column *columns, int32_t *gathered);
/* Its gradients: *dx (S, C) and the weights'. The input gradient's communication runs beside the weight gradients' products. */
enum sl_status sl_transformer_columns_bwd(struct sl_transformer *g, int layer, struct sl_operand x, int32_t gathered,
                                          int count, const struct sl_column *columns, struct sl_operand *dx);
/* Row-parallel: *out (S, C) = reduce(x(R, k) w), k inputs of this member. With tp == 1 its bias is added; else whoever adds
 * the result to the residual stream does that, once. */
enum sl_status sl_transformer_row(struct sl_transformer *g, int layer, int32_t x, int w, int64_t k,
                                  struct sl_operand *out);
/* dx(R, k) and the weight's and bias's gradients from `dout` (S, C). */
enum sl_status sl_transformer_row_bwd(struct sl_transformer *g, int layer, struct sl_operand dout, int32_t x, int w,
                                      int64_t k, int32_t dx);
