/* Blocks of a pre-norm decoder: x_mid = x + attention(norm_1(x)), out = x_mid + mlp(norm_2(x_mid)). What families differ in
 * is a row: where a block's tensors stand, whether q, k and v are one product, and what the MLP does between its products.
 * Positions are rotary where the model has no table of them. The letters of models/transformer.h. */
#pragma once

#include "core/models/activation.h"
#include "core/models/tape.h"

struct sl_block_kind {
  int wte, wpe;       /* tensors in front of the blocks; wpe -1: positions are rotary */
  int first, tensors; /* of the first block, in model order; of each block */
  /* where they stand in it; qkv[1] = 0: q, k and v are one weight; in[1] = 0: the MLP has one weight before its last one */
  int norm_1, qkv[3], attention_out, norm_2, in[2], mlp_out;
  const char *norms[2], *in_names[2]; /* of values */
  struct sl_activation act;           /* of the one product, or of the two */
};

/* Drafts of one micro-batch on the stage at hand, forward and backward. Whether norms are RMSNorm and how weights lie is set in
 * `g`; the final norm stands behind the blocks. */
enum sl_status sl_block_stage(struct sl_transformer g, const struct sl_block_kind *kind);
