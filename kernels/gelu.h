/* GELU in its tanh form ("gelu_new"), fused with the bias of the linear layer before it.
 *
 *   gelu(x) = x/2 (1 + tanh(u)) = x s,  u = sqrt(2/pi) (x + 0.044715 x^3),  s = 1 / (1 + exp(-2u))
 *   gelu'(x) = s + 2 x s (1 - s) u',    u' = sqrt(2/pi) (1 + 3 * 0.044715 x^2)
 * Hendrycks and Gimpel, arXiv:1606.08415. The second form keeps the relative accuracy of the negative tail. */
#ifndef SL_KERNELS_GELU_H
#define SL_KERNELS_GELU_H

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

SL_KERNELS_BEGIN

/* out = gelu(x + bias), (rows,cols); bias (cols) or NULL. out may be x, but backward needs x, so only where none
 * follows. */
void SL_K(sl_gelu_forward)(sl_store *out, const sl_store *x, const sl_store *bias, size_t rows, size_t cols);

/* dx = dout * gelu'(x + bias). dx may be dout. */
void SL_K(sl_gelu_backward)(sl_store *dx, const sl_store *dout, const sl_store *x, const sl_store *bias, size_t rows,
                            size_t cols);

SL_KERNELS_END

#endif
