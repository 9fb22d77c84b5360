/* Layer normalisation on the host (kernels/layernorm.h).
 *
 * Sums over a row run in sl_real over short chunks and in double across them. Backward makes one pass over the rows;
 * each block of rows leaves its partial dweight and dbias in scratch, and a second pass adds the blocks in order. */
#include "kernels/layernorm.h"
#include "kernels/numbers/run.h"
#include "kernels/parallel.h"
#include "kernels/row_blocks.h"

#include <math.h>
#include <string.h>

#define CHUNK ((size_t)1024) /* at most one run */
#define COLUMN_CHUNK ((size_t)128)

/* A thread's buffers for a row, and for the weights, which it keeps from row to row. */
struct rooms {
  sl_room x, weight, bias, dout, out;
};

static double row_mean(const sl_store *x, size_t C, struct rooms *rooms) {
  double total = 0;
  for (size_t c0 = 0; c0 < C; c0 += CHUNK) {
    const size_t n = C - c0 < CHUNK ? C - c0 : CHUNK;
    const sl_real *in = sl_open(rooms->x, x + c0, n);
    sl_real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t c = 0; c < n; c++) sum += in[c];
    total += (double)sum;
  }
  return total / (double)C;
}

/* The variance of a row. Call after row_mean. */
static double row_variance(const sl_store *x, sl_real mean, size_t C, struct rooms *rooms) {
  double total = 0;
  for (size_t c0 = 0; c0 < C; c0 += CHUNK) {
    const size_t n = C - c0 < CHUNK ? C - c0 : CHUNK;
    const sl_real *in = sl_reopen(rooms->x, x + c0, n, sl_one_run(C));
    sl_real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t c = 0; c < n; c++) sum += (in[c] - mean) * (in[c] - mean);
    total += (double)sum;
  }
  return total / (double)C;
}

/* Call after row_mean. `again`: the weights are the same as in the previous call. `one`: what is added to a weight. */
static void row_normalise(sl_store *out, const sl_store *x, const sl_store *weight, const sl_store *bias, sl_real mean,
                          sl_real rstd, sl_real one, size_t C, struct rooms *rooms, int again) {
  for (size_t c0 = 0, n; c0 < C; c0 += n) {
    n = sl_run(C - c0);
    const sl_real *in = sl_reopen(rooms->x, x + c0, n, sl_one_run(C));
    const sl_real *w = sl_reopen(rooms->weight, weight + c0, n, again && sl_one_run(C));
    const sl_real *b = bias ? sl_reopen(rooms->bias, bias + c0, n, again && sl_one_run(C)) : NULL;
    sl_real *o = sl_begin(rooms->out, out + c0);
    if (b) {
#pragma omp simd
      for (size_t c = 0; c < n; c++) o[c] = (in[c] - mean) * rstd * (w[c] + one) + b[c];
    } else {
#pragma omp simd
      for (size_t c = 0; c < n; c++) o[c] = (in[c] - mean) * rstd * (w[c] + one);
    }
    sl_finish(out + c0, o, n);
  }
}

void SL_K(sl_layernorm_forward)(sl_store *out, sl_real *mean, sl_real *rstd, const sl_store *x, const sl_store *weight,
                                const sl_store *bias, size_t rows, size_t C, float eps, int from_one) {
#pragma omp parallel if (rows * C > SL_PARALLEL_MIN)
  {
    struct rooms rooms;
    int again = 0;
#pragma omp for schedule(static)
    for (size_t r = 0; r < rows; r++) {
      const sl_store *in = x + r * C;
      sl_real m = (sl_real)row_mean(in, C, &rooms);
      sl_real s = (sl_real)(1.0 / sqrt(row_variance(in, m, C, &rooms) + (double)eps));
      row_normalise(out + r * C, in, weight, bias, m, s, from_one ? 1 : 0, C, &rooms, again);
      mean[r] = m;
      rstd[r] = s;
      again = 1;
    }
  }
}

size_t SL_K(sl_layernorm_scratch_bytes)(size_t rows, size_t C) {
  return 2 * sl_row_block_count(rows) * C * sizeof(sl_real);
}

/* Adds a row's contribution to dweight and dbias. dout and x stay in their rooms. */
static void row_weights(sl_real *restrict dweight, sl_real *restrict dbias, const sl_store *dout, const sl_store *x,
                        sl_real mean, sl_real rstd, size_t C, struct rooms *rooms) {
  for (size_t c0 = 0, n; c0 < C; c0 += n) {
    n = sl_run(C - c0);
    const sl_real *d = sl_open(rooms->dout, dout + c0, n), *in = sl_open(rooms->x, x + c0, n);
    sl_real *restrict dw = dweight + c0, *restrict db = dbias + c0;
#pragma omp simd
    for (size_t c = 0; c < n; c++) {
      dw[c] += d[c] * ((in[c] - mean) * rstd);
      db[c] += d[c];
    }
  }
}

/* The two row sums of backward: of g = dout * weight, and of g * norm. `held`: row_weights has just been called for
 * this row, which is one run; `again`: the weights are the same as in the previous call. */
static void row_sums(double sums[2], const sl_store *dout, const sl_store *x, const sl_store *weight, sl_real mean,
                     sl_real rstd, sl_real one, size_t C, struct rooms *rooms, int held, int again) {
  sums[0] = sums[1] = 0;
  for (size_t c0 = 0; c0 < C; c0 += CHUNK) {
    const size_t n = C - c0 < CHUNK ? C - c0 : CHUNK;
    const sl_real *d = sl_reopen(rooms->dout, dout + c0, n, held), *in = sl_reopen(rooms->x, x + c0, n, held);
    const sl_real *w = sl_reopen(rooms->weight, weight + c0, n, again && sl_one_run(C));
    sl_real sum_g = 0, sum_gn = 0;
#pragma omp simd reduction(+ : sum_g, sum_gn)
    for (size_t c = 0; c < n; c++) {
      sl_real norm = (in[c] - mean) * rstd, g = d[c] * (w[c] + one);
      sum_g += g;
      sum_gn += g * norm;
    }
    sums[0] += (double)sum_g;
    sums[1] += (double)sum_gn;
  }
}

/* The gradient of a row. Call after row_sums. */
static void row_dx(sl_store *dx, int accumulate, const sl_store *dout, const sl_store *x, const sl_store *weight,
                   sl_real mean, sl_real rstd, sl_real one, const double sums[2], size_t C, struct rooms *rooms) {
  const sl_real mean_g = (sl_real)(sums[0] / (double)C), mean_gn = (sl_real)(sums[1] / (double)C);
  const int held = sl_one_run(C);
  for (size_t c0 = 0, n; c0 < C; c0 += n) {
    n = sl_run(C - c0);
    const sl_real *d = sl_reopen(rooms->dout, dout + c0, n, held), *in = sl_reopen(rooms->x, x + c0, n, held);
    const sl_real *w = sl_reopen(rooms->weight, weight + c0, n, held);
    sl_real *o = accumulate ? sl_change(rooms->out, dx + c0, n) : sl_begin(rooms->out, dx + c0);
    if (accumulate) {
#pragma omp simd
      for (size_t c = 0; c < n; c++) o[c] += rstd * (d[c] * (w[c] + one) - mean_g - (in[c] - mean) * rstd * mean_gn);
    } else {
#pragma omp simd
      for (size_t c = 0; c < n; c++) o[c] = rstd * (d[c] * (w[c] + one) - mean_g - (in[c] - mean) * rstd * mean_gn);
    }
    sl_finish(dx + c0, o, n);
  }
}

/* dst (C) = or += the sum over blocks of partial (blocks, 2*C). Every column is added in block order, on whatever
 * thread. */
static void add_partials(void *dst, int in_fp32, const sl_real *partial, size_t blocks, size_t C, int accumulate) {
#pragma omp parallel for schedule(static) if (blocks * C > SL_PARALLEL_MIN)
  for (size_t c0 = 0; c0 < C; c0 += COLUMN_CHUNK) {
    const size_t n = C - c0 < COLUMN_CHUNK ? C - c0 : COLUMN_CHUNK;
    double total[COLUMN_CHUNK] = {0};
    for (size_t b = 0; b < blocks; b++) {
      const sl_real *row = partial + b * 2 * C + c0;
#pragma omp simd
      for (size_t c = 0; c < n; c++) total[c] += (double)row[c];
    }
    for (size_t c = 0; c < n; c++) sl_put_sum(dst, c0 + c, in_fp32, total[c], accumulate);
  }
}

void SL_K(sl_layernorm_backward)(sl_store *dx, int accumulate_dx, void *dweight, void *dbias, int in_fp32,
                                 int accumulate, const sl_store *dout, const sl_store *x, const sl_store *weight,
                                 const sl_real *mean, const sl_real *rstd, size_t rows, size_t C, int from_one,
                                 void *scratch) {
  sl_real *partial = scratch;
  const sl_real one = from_one ? 1 : 0;
  const size_t blocks = sl_row_block_count(rows), each = sl_row_block_rows(rows);
#pragma omp parallel for schedule(static) if (rows * C > SL_PARALLEL_MIN)
  for (size_t b = 0; b < blocks; b++) {
    sl_real *dw = dweight ? partial + b * 2 * C : NULL;
    size_t end = (b + 1) * each < rows ? (b + 1) * each : rows;
    struct rooms rooms;
    if (dw) memset(dw, 0, 2 * C * sizeof *dw);
    for (size_t r = b * each; r < end; r++) {
      /* dx may be dout: the weights come first */
      if (dw) row_weights(dw, dw + C, dout + r * C, x + r * C, mean[r], rstd[r], C, &rooms);
      if (!dx) continue;
      double sums[2];
      row_sums(sums, dout + r * C, x + r * C, weight, mean[r], rstd[r], one, C, &rooms, dw && sl_one_run(C),
               r > b * each);
      row_dx(dx + r * C, accumulate_dx, dout + r * C, x + r * C, weight, mean[r], rstd[r], one, sums, C, &rooms);
    }
  }
  if (!dweight) return;
  add_partials(dweight, in_fp32, partial, blocks, C, accumulate);
  if (dbias) add_partials(dbias, in_fp32, partial + C, blocks, C, accumulate);
}
