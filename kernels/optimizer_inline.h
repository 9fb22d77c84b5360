/* The update of one element for each optimizer, inline. optimizer.c and master.c share it, so both give identical
 * bits. */
#pragma once

#include "kernels/numbers/types.h"
#include "kernels/vecmath.h"

/* The scalars of one Adam step, each computed in double and rounded once. */
struct sl_adam_scalars {
  sl_real grad_scale, decay_l2, keep, one_minus_b1, b2, one_minus_b2, rate, inv_root, eps;
};

static inline struct sl_adam_scalars sl_adam_scalars_of(const struct sl_adam *a) {
  double c1 = 1, c2 = 1;
  if (a->bias_correction) {
    c1 = 1 - pow(a->beta1, (double)a->step);
    c2 = 1 - pow(a->beta2, (double)a->step);
  }
  struct sl_adam_scalars s = {
      .grad_scale = (sl_real)a->grad_scale,
      .decay_l2 = a->decoupled ? 0 : (sl_real)a->weight_decay,
      .keep = a->decoupled ? (sl_real)(1 - a->lr * a->weight_decay) : 1,
      .one_minus_b1 = (sl_real)(1 - a->beta1),
      .b2 = (sl_real)a->beta2,
      .one_minus_b2 = (sl_real)(1 - a->beta2),
      .rate = (sl_real)(a->lr / c1),
      .inv_root = (sl_real)(1 / sqrt(c2)),
      .eps = (sl_real)a->eps,
  };
  return s;
}

static inline void sl_adam_one(sl_real *param, sl_real *m, sl_real *v, sl_real grad, struct sl_adam_scalars s) {
  sl_real g = grad * s.grad_scale + s.decay_l2 * *param;
  sl_real mi = *m + s.one_minus_b1 * (g - *m);
  sl_real vi = s.b2 * *v + s.one_minus_b2 * g * g;
  *m = mi;
  *v = vi;
  *param = s.keep * *param - s.rate * (mi / (SL_SQRT(vi) * s.inv_root + s.eps));
}

struct sl_sgd_scalars {
  sl_real grad_scale, decay, lr, momentum, fresh, own, of_buf;
  int first; /* at the first step the buffer may hold anything, even a NaN: it is overwritten, never read */
};

static inline struct sl_sgd_scalars sl_sgd_scalars_of(const struct sl_sgd *sgd) {
  struct sl_sgd_scalars s = {
      .grad_scale = (sl_real)sgd->grad_scale,
      .decay = (sl_real)sgd->weight_decay,
      .lr = (sl_real)sgd->lr,
      .momentum = (sl_real)sgd->momentum,
      .first = sgd->step <= 1,
      .own = sgd->nesterov ? 1 : 0,
      .of_buf = sgd->nesterov ? (sl_real)sgd->momentum : 1,
  };
  s.fresh = s.first ? 1 : (sl_real)(1 - sgd->dampening);
  return s;
}

/* SGD without momentum. */
static inline void sl_sgd_plain_one(sl_real *param, sl_real grad, struct sl_sgd_scalars s) {
  *param -= s.lr * (grad * s.grad_scale + s.decay * *param);
}

static inline void sl_sgd_one(sl_real *param, sl_real *buf, sl_real grad, struct sl_sgd_scalars s) {
  sl_real g = grad * s.grad_scale + s.decay * *param;
  sl_real old = s.first ? 0 : *buf;
  sl_real b = s.momentum * old + s.fresh * g;
  *buf = b;
  *param -= s.lr * (s.own * g + s.of_buf * b);
}
