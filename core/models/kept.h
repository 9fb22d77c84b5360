/* What a framework keeps from forward to backward although no op of ours reads it. */
#pragma once

#include "core/models/attention.h"

/* The last product of a block. Recomputation by op keeps every other product (recompute.h), the last one among them,
 * and a framework may hold it though nothing reads it again. For others this adds nothing. */
void sl_keep_product(struct sl_tape *tape);
/* What torch keeps beside `in`, the inputs of attention, and beside its output, where a kernel set's attention is that
 * of transformers (core/plan/kernels.h, torch_attention), or of compiled blocks:
 *   - Keys and values that are repeated for every query head: of materialised attention, and where a window gives
 *     scaled_dot_product_attention a mask (integrations/sdpa_attention.py, use_gqa_in_sdpa). Compiled blocks, which are
 *     torchtitan's (models/llama/model.py, repeat_kv), keep them always.
 *     A single key of all heads is not repeated by Falcon, which copies q, k and v from packed rows before it rotates
 *     them, and always has a mask (modeling_falcon.py, _split_heads).
 *   - That mask, unless compiled, which every layer converts to the type of q (ATen/native/transformers/attention.cpp,
 *     convert_boolean_attn_mask).
 *   - Of packed rows, q and k as they were before rotation: the rotated ones are new tensors, and v, a view, keeps all
 *     of the product's output.
 *   - The output in the order of (tokens, heads), if q was concatenated of what is rotated and what is not: that is
 *     laid out as (heads, tokens), flash attention's output with it, and the next product needs a copy. The kernel that
 *     takes masks and fp32 writes (tokens, heads) itself. */
void sl_keep_beside_attention(struct sl_tape *tape, struct sl_qkv in);
