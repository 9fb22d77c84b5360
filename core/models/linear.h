/* Linear layers, sharded over the tp group as in Megatron-LM. */
#pragma once

#include "core/models/tape.h"

/* A weight of a product that shares its input with others (q, k and v; gate and up). */
struct sl_column {
  const char *name, *gradient_name; /* of the output */
  int weight, bias;                 /* tensors; bias -1: there is none */
  int64_t width;                    /* outputs of this member */
};
/* Column-parallel layers: out[i] = gather(x) w[i] + bias, (R, width), of this member's outputs. `apart`: the kernel set
 * treats them as separate modules, each of which sums the gradient of x over the tp group by itself. */
void sl_columns(struct sl_tape *tape, int x, int count, const struct sl_column *columns, bool apart, int *out);
/* A row-parallel layer: reduce(x w), (S, C). With tp == 1 the bias is added here; otherwise the op that adds the result
 * to the residual stream adds it, once. */
int sl_row(struct sl_tape *tape, int x, int weight, int bias);
/* The LM head: the logits of this member's part of the vocabulary, or of all of it where every member has the whole head,
 * with weight (V, C) and a bias or -1. */
int sl_head(struct sl_tape *tape, int x, int weight, int bias);
