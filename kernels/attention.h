/* Causal softmax attention with the probabilities materialised (Vaswani et al., arXiv:1706.03762).
 *
 *   P[b,h,t,s] = softmax over s <= t of q[b,t,h] . k[b,s,g(h)] / sqrt(D), 0 for s > t;  g(h) = h * KV / H
 *                (a model may also scale or cap scores, add ALiBi or limit attention to a window: kernels/scores.h)
 *   out[b,t,h] = sum over s of dropout(P)[b,h,t,s] v[b,s,g(h)]
 * q, k, v and out are strided by token (struct sl_attention_shape), so GPT-2's packed qkv (B,T,3C) is
 * q = qkv, k = qkv + C, v = qkv + 2C with strides 3C. P (B,H,T,T) is stored before dropout. Dropout numbers element
 * (b,h,t,s) as first_element + ((b * global_heads + h) * T + t) * T + s and does not use row_stride.
 *
 * With dropout->mask (B,H,T,T), which is 0 above the diagonal, `dropped` holds dropout(P) beside P, as Megatron-LM's
 * core attention stores them (arXiv:2205.05198, section 4.1), and backward reads both. Without a mask `dropped` is
 * NULL. In 16 bits the rounding of `dropped` shows in dv; in fp32 the results are bit-identical with and without it. */
#ifndef SL_KERNELS_ATTENTION_H
#define SL_KERNELS_ATTENTION_H

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

SL_KERNELS_BEGIN

/* Bytes of scratch that forward or backward needs for `threads` threads, O(T * D) per thread. A kernel uses as many
 * threads as OpenMP and its scratch allow, at least one: scratch for fewer threads makes it slower, not wrong. */
size_t SL_K(sl_attention_forward_scratch_bytes)(const struct sl_attention_shape *shape, int threads);
size_t SL_K(sl_attention_backward_scratch_bytes)(const struct sl_attention_shape *shape, int threads);

/* Writes out, probs and dropped (both (B,H,T,T)), including the zeros above the diagonal. */
void SL_K(sl_attention_forward)(sl_store *out, sl_store *probs, sl_store *dropped, const sl_store *q, const sl_store *k,
                                const sl_store *v, const struct sl_attention_shape *shape,
                                const struct sl_dropout *dropout, void *scratch, size_t scratch_bytes);

/* Overwrites dq, dk, dv (laid out as q, k, v) from dout (laid out as out) and forward's probs and dropped. */
void SL_K(sl_attention_backward)(sl_store *dq, sl_store *dk, sl_store *dv, const sl_store *dout, const sl_store *q,
                                 const sl_store *k, const sl_store *v, const sl_store *probs, const sl_store *dropped,
                                 const struct sl_attention_shape *shape, const struct sl_dropout *dropout,
                                 void *scratch, size_t scratch_bytes);

SL_KERNELS_END

#endif
