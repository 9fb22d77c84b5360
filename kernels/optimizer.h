/* Optimizer updates over flat ranges: param, its gradient and its states, n elements each.
 *
 * Formulas and rounding follow torch.optim (Adam, AdamW, SGD, `foreach` off). With g = grad * grad_scale:
 *   Adam:   g += wd * p (AdamW: p *= 1 - lr * wd instead);  m += (1-b1)(g - m);  v = b2 v + (1-b2) g^2
 *           p -= lr / (1-b1^t) * m / (sqrt(v) / sqrt(1-b2^t) + eps)
 *   SGD:    g += wd * p;  buf = t == 1 ? g : mu buf + (1-dampening) g;  p -= lr * (nesterov ? g + mu buf : buf)
 * Scalars are computed in double. The gradient is not changed. */
#ifndef SL_KERNELS_OPTIMIZER_H
#define SL_KERNELS_OPTIMIZER_H

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

SL_KERNELS_BEGIN

void SL_K(sl_optimizer_adam)(sl_real *param, sl_real *m, sl_real *v, const sl_real *grad, size_t n,
                             const struct sl_adam *adam);

/* buf may be NULL when momentum is 0. */
void SL_K(sl_optimizer_sgd)(sl_real *param, sl_real *buf, const sl_real *grad, size_t n, const struct sl_sgd *sgd);

SL_KERNELS_END

#endif
