/* Causal softmax attention with the probabilities materialised (Vaswani et al., arXiv:1706.03762).
 *
 *   P[b,h,t,s] = softmax over s <= t of q[b,t,h] . k[b,s,g(h)] / sqrt(D), 0 for s > t;  g(h) = h * KV / H
 *                (a model may scale and cap scores otherwise, add ALiBi, and have a window: kernels/scores.h)
 *   out[b,t,h] = sum over s of dropout(P)[b,h,t,s] v[b,s,g(h)]
 * q, k, v and out are strided by token (struct sl_attention_shape), so GPT-2's packed qkv (B,T,3C) is
 * q = qkv, k = qkv + C, v = qkv + 2C with strides 3C. P (B,H,T,T) is kept without dropout; dropout's element of
 * (b,h,t,s) is first_element + ((b * global_heads + h) * T + t) * T + s, and row_stride is not used.
 *
 * With dropout->mask (B,H,T,T), which is 0 above the diagonal, `dropped` holds dropout(P) beside P, as Megatron-LM's core
 * attention keeps them (arXiv:2205.05198, section 4.1); backward reads both. Else `dropped` is NULL. In 16 bits its
 * rounding shows in dv; in fp32 the results are those without, to the bit. */
#ifndef SL_KERNELS_ATTENTION_H
#define SL_KERNELS_ATTENTION_H

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

SL_KERNELS_BEGIN

/* Scratch of forward or backward, in bytes, for `threads` threads: O(T * D) each. A kernel uses as many threads as both
 * OpenMP and the scratch that it is handed allow, at least one, so scratch planned for fewer threads is slower, not
 * wrong. */
size_t SL_K(sl_attention_forward_scratch_bytes)(const struct sl_attention_shape *shape, int threads);
size_t SL_K(sl_attention_backward_scratch_bytes)(const struct sl_attention_shape *shape, int threads);

/* Writes probs and dropped (B,H,T,T), zeros above the diagonal included, and out. */
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
