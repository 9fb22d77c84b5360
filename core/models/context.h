/* Context parallelism around attention. By all_gather every member of a cp group has part of the tokens
 * (core/op/chunks.h) and gets the keys and values of all by an all-gather; their gradients go back by a reduce-scatter
 * (Megatron-LM's --cp-comm-type all_gather; torchtitan's context_parallel_rotate_method "allgather", whose members also
 * gather whole keys and values; Llama 3, arXiv:2407.21783, section 3.3.2). They are gathered again for the backward, as
 * in both. By a2a members exchange heads for tokens before attention and back after it, so that each has all tokens of
 * 1 / cp of the heads (DeepSpeed-Ulysses, arXiv:2309.14509; Megatron-LM's --cp-comm-type a2a). */
#pragma once

#include "core/models/attention.h"

/* What this member's attention works on: T tokens of a sequence, H query heads and G key heads; cp > 1: with the keys
 * of all members, which an op says by dim[SL_OP_CP]. */
struct sl_context_share {
  int64_t t, h, g, cp;
};
struct sl_context_share sl_context_share(const struct sl_transformer *g);

/* What attention reads, of the queries, keys and values of this member's tokens; with one member what is given. Packed
 * rows become three values first. */
struct sl_qkv sl_context(struct sl_tape *tape, struct sl_qkv in);
/* All heads of this member's tokens, from attention's output. */
int sl_context_back(struct sl_tape *tape, int out);
