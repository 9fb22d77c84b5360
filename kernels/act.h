/* Activations beside GPT-2's and Llama's own (kernels/gelu.h, kernels/llama.h), alone and gating.
 *
 *   gelu_tanh  kernels/gelu.h
 *   gelu       x Phi(x),  Phi(x) = erfc(-x / sqrt(2)) / 2                       (Hendrycks and Gimpel, arXiv:1606.08415)
 *   relu       max(x, 0)
 *   cap        cap tanh(x / cap)                                                (Gemma 2's soft cap, arXiv:2408.00118)
 *   silu       x / (1 + exp(-x)) */
#ifndef SL_KERNELS_ACT_H
#define SL_KERNELS_ACT_H

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

SL_KERNELS_BEGIN

/* out = act(x), (rows,cols); cap is of SL_ACT_CAP. out may be x (then backward has lost its input). */
void SL_K(sl_act_forward)(sl_store *out, const sl_store *x, size_t rows, size_t cols, enum sl_act act, float cap);
/* dx = dout act'(x); dx may be dout. */
void SL_K(sl_act_backward)(sl_store *dx, const sl_store *dout, const sl_store *x, size_t rows, size_t cols,
                           enum sl_act act, float cap);

/* out (rows,cols) = act(gate) up, gate and up with rows `stride` apart. */
void SL_K(sl_act_gated_forward)(sl_store *out, const sl_store *gate, const sl_store *up, size_t rows, size_t cols,
                                size_t stride, enum sl_act act);
/* dgate and dup lie as gate and up and may be the same memory. */
void SL_K(sl_act_gated_backward)(sl_store *dgate, sl_store *dup, const sl_store *dout, const sl_store *gate,
                                 const sl_store *up, size_t rows, size_t cols, size_t stride, enum sl_act act);

SL_KERNELS_END

#endif
