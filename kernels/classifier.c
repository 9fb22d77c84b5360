/* Softmax cross-entropy on the host (kernels/classifier.h).
 *
 * A row of a real vocabulary (200 KB) fits into the second-level cache but not into the first. It is processed in
 * chunks that do fit: each chunk's exponentials are computed once, relative to the chunk's own maximum. A second pass
 * over the row, now in the second-level cache, multiplies every chunk by the factor that makes it relative to the row's
 * maximum and sum. */
#include "kernels/classifier.h"
#include "kernels/numbers/run.h"
#include "kernels/parallel.h"
#include "kernels/vecmath.h"

#include <float.h>
#include <string.h>

#define MAX_CHUNKS ((size_t)64)
#define MIN_CHUNK ((size_t)(SL_STORE_IS_REAL ? 2048 : SL_ROOM))

struct row {
  size_t chunk; /* elements per chunk */
  sl_real chunk_max[MAX_CHUNKS];
  double max, sum; /* of the row, and of exp(x - max) */
};

static size_t chunk_size(size_t V) {
  size_t size = (V + MAX_CHUNKS - 1) / MAX_CHUNKS;
  return size < MIN_CHUNK ? MIN_CHUNK : size;
}

/* The maximum of a chunk. If all of it is minus infinity (a masked part of the vocabulary), a finite number is
 * returned, because inf - inf is NaN. */
static sl_real chunk_max(const sl_store *x, size_t n, sl_room room) {
  sl_real max = (sl_real)-FLT_MAX;
  for (size_t i0 = 0, m; i0 < n; i0 += m) {
    m = sl_run(n - i0);
    const sl_real here = sl_max_of(sl_open(room, x + i0, m), m);
    max = here < max ? max : here;
  }
  return max;
}

/* The sum of exp(x - max). Call after chunk_max. */
static sl_real chunk_sum(const sl_store *x, size_t n, sl_real max, sl_room room) {
  sl_real total = 0;
  for (size_t i0 = 0, m; i0 < n; i0 += m) {
    m = sl_run(n - i0);
    const sl_real *in = sl_reopen(room, x + i0, m, sl_one_run(n));
    sl_real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < m; i++) sum += sl_exp(in[i] - max);
    total += sum;
  }
  return total;
}

/* Replaces x by exp(x - max) factor. */
static void scaled_exp(sl_store *x, size_t n, sl_real max, sl_real factor) {
  sl_room room;
  for (size_t i0 = 0, m; i0 < n; i0 += m) {
    m = sl_run(n - i0);
    sl_real *e = sl_change(room, x + i0, m);
#pragma omp simd
    for (size_t i = 0; i < m; i++) e[i] = sl_exp(e[i] - max) * factor;
    sl_finish(x + i0, e, m);
  }
}

#if SL_STORE_IS_REAL
/* As chunk_sum, and replaces x by the exponentials. */
static sl_real chunk_exp(sl_store *x, size_t n, sl_real max, sl_room room) {
  sl_real sum = 0;
  (void)room;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n; i++) {
    sl_real e = sl_exp(x[i] - max);
    x[i] = e;
    sum += e;
  }
  return sum;
}

/* Turns a chunk's exponentials into its gradient. */
static void chunk_scale(sl_store *x, size_t n, sl_real max, sl_real factor) {
  (void)max;
#pragma omp simd
  for (size_t i = 0; i < n; i++) x[i] *= factor;
}
#else
/* 16-bit logits stay logits until the end: storing their exponentials would round a second time. */
#define chunk_exp chunk_sum
#define chunk_scale scaled_exp
#endif

/* Adds to the row a chunk whose maximum is `max` and whose sum of exp(x - max) is `sum`. */
static void row_add(struct row *row, size_t index, sl_real max, sl_real sum) {
  row->chunk_max[index] = max;
  if (index == 0) {
    row->max = (double)max;
    row->sum = (double)sum;
  } else if ((double)max > row->max) {
    row->sum = row->sum * exp(row->max - (double)max) + (double)sum;
    row->max = (double)max;
  } else {
    row->sum += (double)sum * exp((double)max - row->max);
  }
}

/* Returns the row's loss and replaces x by the gradient. */
static double row_fused(sl_store *x, size_t V, int32_t target, sl_real scale) {
  const double target_logit = (double)sl_load(x[target]);
  struct row row = {.chunk = chunk_size(V)};
  sl_room room;
  for (size_t at = 0, k = 0; at < V; at += row.chunk, k++) {
    size_t n = V - at < row.chunk ? V - at : row.chunk;
    sl_real max = chunk_max(x + at, n, room);
    row_add(&row, k, max, chunk_exp(x + at, n, max, room));
  }
  for (size_t at = 0, k = 0; at < V; at += row.chunk, k++) {
    size_t n = V - at < row.chunk ? V - at : row.chunk;
    const sl_real factor = (sl_real)(exp((double)row.chunk_max[k] - row.max) / row.sum * (double)scale);
    chunk_scale(x + at, n, row.chunk_max[k], factor);
  }
  /* p - 1 is computed in double, because p may be close to 1 */
  x[target] = sl_put((sl_real)((exp(target_logit - row.max) / row.sum - 1) * (double)scale));
  return log(row.sum) + (row.max - target_logit);
}

static void add_losses(double *loss_sum, const double *losses, size_t N, int accumulate) {
  double total = 0;
  for (size_t n = 0; n < N; n++) total += losses[n];
  *loss_sum = accumulate ? *loss_sum + total : total;
}

void SL_K(sl_classifier_fused)(double *loss_sum, double *losses, sl_store *logits, const int32_t *targets, size_t N,
                               size_t V, size_t total, sl_real scale, int accumulate) {
#pragma omp parallel for schedule(static) if (N * V > SL_PARALLEL_MIN)
  for (size_t n = 0; n < N; n++) {
    sl_store *x = logits + n * V;
    const size_t kept = targets[n] < 0 ? 0 : total;
    losses[n] = targets[n] < 0 ? 0 : row_fused(x, total, targets[n], scale);
    memset(x + kept, 0, (V - kept) * sizeof *x);
  }
  add_losses(loss_sum, losses, N, accumulate);
}

/* --- a vocabulary split by columns --- */

/* How many of the V columns from `first` on exist. */
static size_t held_columns(size_t V, size_t first, size_t total) {
  const size_t here = first < total ? total - first : 0;
  return here < V ? here : V;
}

static void row_stats(sl_real stats[3], const sl_store *x, size_t n, size_t first, int32_t target) {
  struct row row = {.chunk = chunk_size(n), .max = -INFINITY};
  sl_room room;
  for (size_t at = 0, k = 0; at < n; at += row.chunk, k++) {
    const size_t m = n - at < row.chunk ? n - at : row.chunk;
    const sl_real max = chunk_max(x + at, m, room);
    row_add(&row, k, max, chunk_sum(x + at, m, max, room));
  }
  const int here = target >= 0 && (size_t)target >= first && (size_t)target - first < n;
  stats[0] = (sl_real)row.max;
  stats[1] = (sl_real)row.sum;
  stats[2] = here ? sl_load(x[(size_t)target - first]) : 0;
}

void SL_K(sl_classifier_stats)(sl_real *stats, const sl_store *logits, const int32_t *targets, size_t N, size_t V,
                               size_t first, size_t total) {
  const size_t n = held_columns(V, first, total);
#pragma omp parallel for schedule(static) if (N * V > SL_PARALLEL_MIN)
  for (size_t r = 0; r < N; r++) row_stats(stats + 3 * r, logits + r * V, n, first, targets[r]);
}

/* A row of the whole vocabulary, combined from its members' statistics: the first are at `stats`, the next `stride`
 * further on, and so on. A member without columns contributes nothing; a NaN makes the whole row NaN, as it should. */
struct whole_row {
  double max, sum, target;
};

static struct whole_row whole_row(const sl_real *stats, size_t stride, size_t members) {
  struct whole_row row = {.max = -INFINITY};
  for (size_t m = 0; m < members; m++) {
    const double max = (double)stats[m * stride];
    row.max = max > row.max ? max : row.max;
    row.target += (double)stats[m * stride + 2];
  }
  for (size_t m = 0; m < members; m++) {
    const double max = (double)stats[m * stride];
    if (max != -INFINITY) row.sum += (double)stats[m * stride + 1] * exp(max - row.max);
  }
  return row;
}

/* The gradient of this member's n columns. The exponentials are relative to the maximum of these columns, not of the
 * row, as in row_fused, and are then multiplied by one factor. */
static void shard_gradient(sl_store *x, size_t n, size_t first, int32_t target, const struct whole_row *row,
                           double local_max, sl_real scale) {
  const sl_real max = (sl_real)local_max, factor = (sl_real)(exp(local_max - row->max) / row->sum * (double)scale);
  scaled_exp(x, n, max, factor);
  if ((size_t)target >= first && (size_t)target - first < n)
    x[(size_t)target - first] = sl_put((sl_real)((exp(row->target - row->max) / row->sum - 1) * (double)scale));
}

void SL_K(sl_classifier_shard)(double *loss_sum, double *losses, sl_store *logits, const int32_t *targets,
                               const sl_real *stats, size_t N, size_t V, size_t first, size_t total, size_t members,
                               sl_real scale, int accumulate) {
  const size_t n = held_columns(V, first, total), place = V > 0 ? first / V : 0;
#pragma omp parallel for schedule(static) if (N * V > SL_PARALLEL_MIN)
  for (size_t r = 0; r < N; r++) {
    sl_store *x = logits + r * V;
    const size_t clear = targets[r] < 0 ? 0 : n;
    memset(x + clear, 0, (V - clear) * sizeof *x);
    losses[r] = 0;
    if (targets[r] < 0) continue;
    const struct whole_row row = whole_row(stats + 3 * r, 3 * N, members);
    losses[r] = log(row.sum) + (row.max - row.target);
    shard_gradient(x, n, first, targets[r], &row, (double)stats[3 * (place * N + r)], scale);
  }
  add_losses(loss_sum, losses, N, accumulate);
}
