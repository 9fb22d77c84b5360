/* The kernels that Llama adds to GPT-2's: RMSNorm, rotary position embedding (RoPE) and SwiGLU. Grouped-query attention
 * is part of kernels/attention.h.
 *
 *   RMSNorm: out = x * rstd * weight, rstd = 1 / sqrt(mean(x^2) + eps)          (Zhang and Sennrich, arXiv:1910.07467)
 *   RoPE:    (x[i], x[i + D/2]) turned by position * base^(-2i/D), i < D/2       (Su et al., arXiv:2104.09864; pairs as
 *            in Hugging Face's rotate_half, not neighbouring elements)
 *   SwiGLU:  out = silu(gate) * up, silu(g) = g / (1 + exp(-g))                  (Shazeer, arXiv:2002.05202) */
#ifndef SL_KERNELS_LLAMA_H
#define SL_KERNELS_LLAMA_H

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

SL_KERNELS_BEGIN

/* out (rows,C); rstd (rows) is kept for backward. from_one: scale by 1 + weight instead of weight, as Gemma does. */
void SL_K(sl_llama_rmsnorm_forward)(sl_store *out, sl_real *rstd, const sl_store *x, const sl_store *weight,
                                    size_t rows, size_t C, float eps, int from_one);

/* Bytes of scratch for backward. */
size_t SL_K(sl_llama_rmsnorm_scratch_bytes)(size_t rows, size_t C);

/* dx (rows,C) and dweight (C) are overwritten or, with their accumulate flags, added to. dweight is a tensor of
 * sl_store or, with in_fp32, of float. Either may be NULL without changing a bit of the other: with dx NULL, weight is
 * not read; with dweight NULL, scratch is not used. */
void SL_K(sl_llama_rmsnorm_backward)(sl_store *dx, int accumulate_dx, void *dweight, int in_fp32, int accumulate,
                                     const sl_store *dout, const sl_store *x, const sl_store *weight,
                                     const sl_real *rstd, size_t rows, size_t C, int from_one, void *scratch);

/* Rotates the first rope->dim (even) elements of each head of B*T tokens in place, by the angles of kernels/rotary.h;
 * the other elements stay. Token (b,t) has position first_position + t, and its head h starts at x + (b*T + t) *
 * shape->stride + h * shape->step, plus shape->gap for every shape->group heads before it (group 0: no gaps). direction
 * 1: forward; -1: backward, which rotates by the negative angle (the transpose). */
void SL_K(sl_llama_rope)(sl_store *x, const struct sl_rope_shape *shape, size_t first_position,
                         const struct sl_rope *rope, int direction);

/* out, gate and up are (rows,cols). Rows of gate and up are `stride` elements apart, since one matrix product may write
 * both. */
void SL_K(sl_llama_swiglu_forward)(sl_store *out, const sl_store *gate, const sl_store *up, size_t rows, size_t cols,
                                   size_t stride);

/* dgate and dup have the layout of gate and up and may overwrite them. */
void SL_K(sl_llama_swiglu_backward)(sl_store *dgate, sl_store *dup, const sl_store *dout, const sl_store *gate,
                                    const sl_store *up, size_t rows, size_t cols, size_t stride);

SL_KERNELS_END

#endif
