/* Linear layers, cut over the tp group as Megatron-LM cuts them. */
#pragma once

#include "core/models/tape.h"

/* A weight of a product whose input several share (q, k and v; gate and up). */
struct sl_column {
  const char *name, *gradient_name; /* of the output */
  int weight, bias;                 /* tensors; of a bias -1: there is none */
  int64_t width;                    /* outputs of this member */
};
/* Column-parallel: out[i] = gather(x) w[i] + bias, (R, width), of this member's outputs. `apart`: the kernel set makes modules of
 * them, each of which sums the gradient of x over the tp group by itself. */
void sl_columns(struct sl_tape *tape, int x, int count, const struct sl_column *columns, bool apart, int *out);
/* Row-parallel: reduce(x w), (S, C). With tp == 1 the bias is added; else whoever adds the result to the residual stream does
 * that, once. */
int sl_row(struct sl_tape *tape, int x, int weight, int bias);
/* The head: logits of this member's part of the vocabulary, by weight (V, C) and a bias or -1. */
int sl_head(struct sl_tape *tape, int x, int weight, int bias);
