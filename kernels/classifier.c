/* Softmax cross-entropy on the host (kernels/classifier.h).
 *
 * A row of a real vocabulary (200 KB) fits the second-level cache but not the first, so the maximum and the sum of
 * exponentials are taken together, chunk by chunk: the row comes from memory once, and from the cache once more. */
#include "kernels/classifier.h"
#include "kernels/vecmath.h"

#include <string.h>

#define CHUNK ((size_t)2048)

struct row_sum {
  sl_real max;
  double sum; /* of exp(x - max) */
};

static sl_real chunk_sum(const sl_real *x, size_t n, sl_real max) {
  sl_real sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n; i++) sum += sl_exp(x[i] - max);
  return sum;
}

static struct row_sum row_sum_of(const sl_real *x, size_t V) {
  struct row_sum row = {x[0], 0};
  for (size_t i = 0; i < V; i += CHUNK) {
    size_t n = V - i < CHUNK ? V - i : CHUNK;
    sl_real max = sl_max_of(x + i, n);
    if (max > row.max) {
      row.sum *= exp((double)row.max - (double)max);
      row.max = max;
    }
    row.sum += (double)chunk_sum(x + i, n, row.max);
  }
  return row;
}

static double row_loss(struct row_sum row, sl_real target_logit) {
  return log(row.sum) + ((double)row.max - (double)target_logit);
}

static void row_gradient(sl_real *x, size_t V, struct row_sum row, int32_t target, sl_real scale) {
  const sl_real factor = (sl_real)((double)scale / row.sum), max = row.max;
  /* At the target, p - 1 is formed before scaling, where p may be close to 1. */
  double p = exp((double)x[target] - (double)max) / row.sum;
#pragma omp simd
  for (size_t i = 0; i < V; i++) x[i] = sl_exp(x[i] - max) * factor;
  x[target] = (sl_real)((p - 1) * (double)scale);
}

static void add_losses(double *loss_sum, const double *losses, size_t N, int accumulate) {
  double total = 0;
  for (size_t n = 0; n < N; n++) total += losses[n];
  *loss_sum = accumulate ? *loss_sum + total : total;
}

void SL_K(sl_classifier_fused)(double *loss_sum, double *losses, sl_real *logits, const int32_t *targets, size_t N,
                               size_t V, sl_real scale, int accumulate) {
#pragma omp parallel for schedule(static)
  for (size_t n = 0; n < N; n++) {
    sl_real *x = logits + n * V;
    if (targets[n] < 0) {
      losses[n] = 0;
      memset(x, 0, V * sizeof *x);
      continue;
    }
    struct row_sum row = row_sum_of(x, V);
    losses[n] = row_loss(row, x[targets[n]]);
    row_gradient(x, V, row, targets[n], scale);
  }
  add_losses(loss_sum, losses, N, accumulate);
}

void SL_K(sl_classifier_loss)(double *loss_sum, double *losses, const sl_real *logits, const int32_t *targets, size_t N,
                              size_t V, int accumulate) {
#pragma omp parallel for schedule(static)
  for (size_t n = 0; n < N; n++) {
    const sl_real *x = logits + n * V;
    losses[n] = targets[n] < 0 ? 0 : row_loss(row_sum_of(x, V), x[targets[n]]);
  }
  add_losses(loss_sum, losses, N, accumulate);
}
