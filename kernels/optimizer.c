/* Adam, AdamW and SGD on the host (kernels/optimizer.h). Each is one pass over memory and runs at its bandwidth. */
#include "kernels/optimizer.h"
#include "kernels/parallel.h"
#include "kernels/vecmath.h"

/* What one step of Adam needs of its settings: every scalar formed in double and rounded once. */
struct adam_scalars {
  sl_real grad_scale, decay_l2, keep, one_minus_b1, b2, one_minus_b2, rate, inv_root, eps;
};

static struct adam_scalars adam_scalars_of(const struct sl_adam *a) {
  double c1 = 1, c2 = 1;
  if (a->bias_correction) {
    c1 = 1 - pow(a->beta1, (double)a->step);
    c2 = 1 - pow(a->beta2, (double)a->step);
  }
  struct adam_scalars s = {
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

void SL_K(sl_optimizer_adam)(sl_real *param, sl_real *m, sl_real *v, const sl_real *grad, size_t n,
                             const struct sl_adam *adam) {
  const struct adam_scalars s = adam_scalars_of(adam);
#pragma omp parallel for simd schedule(static) if (parallel : n > SL_PARALLEL_MIN)
  for (size_t i = 0; i < n; i++) {
    sl_real g = grad[i] * s.grad_scale + s.decay_l2 * param[i];
    sl_real mi = m[i] + s.one_minus_b1 * (g - m[i]);
    sl_real vi = s.b2 * v[i] + s.one_minus_b2 * g * g;
    m[i] = mi;
    v[i] = vi;
    param[i] = s.keep * param[i] - s.rate * (mi / (SL_SQRT(vi) * s.inv_root + s.eps));
  }
}

static void sgd_plain(sl_real *param, const sl_real *grad, size_t n, const struct sl_sgd *sgd) {
  const sl_real scale = (sl_real)sgd->grad_scale, decay = (sl_real)sgd->weight_decay, lr = (sl_real)sgd->lr;
#pragma omp parallel for simd schedule(static) if (parallel : n > SL_PARALLEL_MIN)
  for (size_t i = 0; i < n; i++) param[i] -= lr * (grad[i] * scale + decay * param[i]);
}

void SL_K(sl_optimizer_sgd)(sl_real *param, sl_real *buf, const sl_real *grad, size_t n, const struct sl_sgd *sgd) {
  if (sgd->momentum == 0) {
    sgd_plain(param, grad, n, sgd);
    return;
  }
  const sl_real scale = (sl_real)sgd->grad_scale, decay = (sl_real)sgd->weight_decay, lr = (sl_real)sgd->lr;
  const sl_real momentum = (sl_real)sgd->momentum;
  /* At the first step the buffer may hold anything, a NaN too: it must not be read, only replaced. */
  const int first = sgd->step <= 1;
  const sl_real fresh = first ? 1 : (sl_real)(1 - sgd->dampening);
  const sl_real own = sgd->nesterov ? 1 : 0, of_buf = sgd->nesterov ? momentum : 1;
#pragma omp parallel for simd schedule(static) if (parallel : n > SL_PARALLEL_MIN)
  for (size_t i = 0; i < n; i++) {
    sl_real g = grad[i] * scale + decay * param[i];
    sl_real old = first ? 0 : buf[i];
    sl_real b = momentum * old + fresh * g;
    buf[i] = b;
    param[i] -= lr * (own * g + of_buf * b);
  }
}
