/* Context parallelism before attention: every member of a cp group has part of the tokens (core/op/chunks.h) and gets the
 * keys and values of all by an all-gather; their gradients go back by a reduce-scatter (Megatron-LM's
 * --cp-comm-type all_gather; torchtitan's context_parallel_rotate_method "allgather", whose members also gather whole
 * keys and values; Llama 3, arXiv:2407.21783, section 3.3.2). They are gathered again for the backward, as in both. */
#pragma once

#include "core/models/attention.h"

/* Heads of the keys and values that members exchange: each of theirs, or one for every query head, which attention then
 * reads. */
int64_t sl_context_key_heads(const struct sl_transformer *g);
/* Queries of this member's tokens, keys and values of all; with one member what is given. Packed rows become three
 * values first. */
struct sl_qkv sl_context(struct sl_tape *tape, struct sl_qkv in);
