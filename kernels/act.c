/* Activations on the host (kernels/act.h). */
#include "kernels/act.h"
#include "kernels/numbers/run.h"
#include "kernels/parallel.h"

#include <math.h>

#if SL_REAL_IS_DOUBLE
#define EXP exp
#define ERFC erfc
#define TANH tanh
#else
#define EXP expf
#define ERFC erfcf
#define TANH tanhf
#endif

static const sl_real root = (sl_real)0.79788456080286535588; /* sqrt(2/pi) */
static const sl_real cubic = (sl_real)0.044715;
static const sl_real root_half = (sl_real)0.70710678118654752440; /* sqrt(1/2) */
static const sl_real density = (sl_real)0.39894228040143267794;   /* 1 / sqrt(2 pi) */

/* An upper bound on the argument of an exponential, so that it stays finite (as in gelu.c). */
static inline sl_real bounded(sl_real x) {
  return x > 80 ? 80 : x;
}

/* The activation of one number, and its derivative. */
static inline sl_real act_at(sl_real x, enum sl_act act, sl_real cap) {
  switch (act) {
  case SL_ACT_GELU_TANH:
    return x / (1 + EXP(bounded(-2 * root * (x + cubic * x * x * x))));
  case SL_ACT_GELU:
    return x * (ERFC(-x * root_half) / 2);
  case SL_ACT_SILU:
    return x / (1 + EXP(bounded(-x)));
  case SL_ACT_RELU:
    return x > 0 ? x : 0;
  case SL_ACT_RELU2:
    return x > 0 ? x * x : 0;
  default:
    return cap * TANH(x / cap);
  }
}

static inline sl_real act_slope(sl_real x, enum sl_act act, sl_real cap) {
  switch (act) {
  case SL_ACT_GELU_TANH: {
    const sl_real e = EXP(bounded(-2 * root * (x + cubic * x * x * x))), s = 1 / (1 + e);
    return s + x * s * (s * e) * 2 * root * (1 + 3 * cubic * x * x);
  }
  case SL_ACT_GELU:
    return (ERFC(-x * root_half) / 2) + x * density * EXP(-x * x / 2);
  case SL_ACT_SILU: {
    const sl_real e = EXP(bounded(-x)), s = 1 / (1 + e);
    return s + x * s * (s * e);
  }
  case SL_ACT_RELU:
    return x > 0 ? 1 : 0;
  case SL_ACT_RELU2:
    return x > 0 ? 2 * x : 0;
  default: {
    const sl_real t = TANH(x / cap);
    return 1 - t * t;
  }
  }
}

void SL_K(sl_act_forward)(sl_store *out, const sl_store *x, size_t rows, size_t cols, enum sl_act act, float cap) {
#pragma omp parallel for schedule(static) if (rows * cols > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++)
    for (size_t i = r * cols; i < (r + 1) * cols; i++) out[i] = sl_put(act_at(sl_load(x[i]), act, (sl_real)cap));
}

void SL_K(sl_act_backward)(sl_store *dx, const sl_store *dout, const sl_store *x, size_t rows, size_t cols,
                           enum sl_act act, float cap) {
#pragma omp parallel for schedule(static) if (rows * cols > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++)
    for (size_t i = r * cols; i < (r + 1) * cols; i++)
      dx[i] = sl_put(sl_load(dout[i]) * act_slope(sl_load(x[i]), act, (sl_real)cap));
}

void SL_K(sl_act_gated_forward)(sl_store *out, const sl_store *gate, const sl_store *up, size_t rows, size_t cols,
                                size_t stride, enum sl_act act) {
#pragma omp parallel for schedule(static) if (rows * cols > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++)
    for (size_t c = 0; c < cols; c++)
      out[r * cols + c] = sl_put(act_at(sl_load(gate[r * stride + c]), act, 0) * sl_load(up[r * stride + c]));
}

void SL_K(sl_act_gated_backward)(sl_store *dgate, sl_store *dup, const sl_store *dout, const sl_store *gate,
                                 const sl_store *up, size_t rows, size_t cols, size_t stride, enum sl_act act) {
#pragma omp parallel for schedule(static) if (rows * cols > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++)
    for (size_t c = 0; c < cols; c++) {
      const size_t at = r * stride + c;
      const sl_real g = sl_load(gate[at]), u = sl_load(up[at]), d = sl_load(dout[r * cols + c]);
      dup[at] = sl_put(d * act_at(g, act, 0));
      dgate[at] = sl_put(d * u * act_slope(g, act, 0));
    }
}
