/* Element-wise activations of the other model families, plain and gated. GPT-2's GELU with its bias is in
 * kernels/gelu.h, Llama's SwiGLU in kernels/llama.h.
 *
 *   gelu_tanh  kernels/gelu.h
 *   gelu       x Phi(x),  Phi(x) = erfc(-x / sqrt(2)) / 2                  (Hendrycks and Gimpel, arXiv:1606.08415)
 *   relu       max(x, 0)
 *   relu2      max(x, 0)^2                                                 (So et al., arXiv:2109.08668)
 *   cap        cap tanh(x / cap)                                           (Gemma 2's soft cap, arXiv:2408.00118)
 *   silu       x / (1 + exp(-x)) */
#ifndef SL_KERNELS_ACT_H
#define SL_KERNELS_ACT_H

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

SL_KERNELS_BEGIN

/* out = act(x), (rows,cols). Only SL_ACT_CAP reads `cap`. out may be x, but backward needs x, so only where none
 * follows. */
void SL_K(sl_act_forward)(sl_store *out, const sl_store *x, size_t rows, size_t cols, enum sl_act act, float cap);
/* dx = dout * act'(x), (rows,cols); dx may be dout. */
void SL_K(sl_act_backward)(sl_store *dx, const sl_store *dout, const sl_store *x, size_t rows, size_t cols,
                           enum sl_act act, float cap);

/* out (rows,cols) = act(gate) * up. Rows of gate and of up are `stride` elements apart. */
void SL_K(sl_act_gated_forward)(sl_store *out, const sl_store *gate, const sl_store *up, size_t rows, size_t cols,
                                size_t stride, enum sl_act act);
/* dgate and dup have the layout of gate and up and may overwrite them. */
void SL_K(sl_act_gated_backward)(sl_store *dgate, sl_store *dup, const sl_store *dout, const sl_store *gate,
                                 const sl_store *up, size_t rows, size_t cols, size_t stride, enum sl_act act);

SL_KERNELS_END

#endif
