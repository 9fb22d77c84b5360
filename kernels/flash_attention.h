/* Causal softmax attention whose memory grows with T, not T^2 (Dao, FlashAttention-2, arXiv:2307.08691).
 *
 * Computes the same as kernels/attention.h, with the same strides, grouped heads and dropout elements, but forward
 * stores one number per query instead of its row of probabilities:
 *   lse[b,h,t] = log of the sum over s <= t of exp(q[b,t,h] . k[b,s,g(h)] / sqrt(D))
 * and backward recomputes the probabilities tile by tile: P = exp(score - lse). The sum over s of P dP that it needs
 * equals dout . out, with or without dropout. Results agree with the materialised kernels up to rounding.
 *
 * Queries may be some of the tokens of sequences whose keys and values are all there (shape->keys, shape->at): q, out
 * and lse then have T rows a sequence, k and v shape->keys. */
#ifndef SL_KERNELS_FLASH_ATTENTION_H
#define SL_KERNELS_FLASH_ATTENTION_H

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

SL_KERNELS_BEGIN

/* Bytes of scratch for `threads` threads, O(T * D) per thread; fewer threads are allowed, as in kernels/attention.h. */
size_t SL_K(sl_flash_attention_forward_scratch_bytes)(const struct sl_attention_shape *shape, int threads);
size_t SL_K(sl_flash_attention_backward_scratch_bytes)(const struct sl_attention_shape *shape, int threads);

/* Writes out and lse (B,H,T). */
void SL_K(sl_flash_attention_forward)(sl_store *out, sl_real *lse, const sl_store *q, const sl_store *k,
                                      const sl_store *v, const struct sl_attention_shape *shape,
                                      const struct sl_dropout *dropout, void *scratch, size_t scratch_bytes);

/* Overwrites dq, dk, dv (laid out as q, k, v) from dout, forward's out (in the same layout) and forward's lse. */
void SL_K(sl_flash_attention_backward)(sl_store *dq, sl_store *dk, sl_store *dv, const sl_store *dout,
                                       const sl_store *q, const sl_store *k, const sl_store *v, const sl_store *out,
                                       const sl_real *lse, const struct sl_attention_shape *shape,
                                       const struct sl_dropout *dropout, void *scratch, size_t scratch_bytes);

SL_KERNELS_END

#endif
