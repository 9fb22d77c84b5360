/* Layer normalisation on the host (kernels/layernorm.h).
 *
 * Sums over a row run in sl_real over short chunks and in double across them. Backward makes one pass over the rows;
 * each block of rows leaves its partial dweight and dbias in scratch, and a second pass adds the blocks in order. */
#include "kernels/layernorm.h"
#include "kernels/parallel.h"

#include <math.h>
#include <string.h>

#define CHUNK ((size_t)1024)
#define COLUMN_CHUNK ((size_t)128)
#define MAX_BLOCKS ((size_t)128)

static double row_mean(const sl_store *x, size_t C) {
  double total = 0;
  for (size_t c0 = 0; c0 < C; c0 += CHUNK) {
    size_t c1 = c0 + CHUNK < C ? c0 + CHUNK : C;
    sl_real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t c = c0; c < c1; c++) sum += sl_load(x[c]);
    total += (double)sum;
  }
  return total / (double)C;
}

static double row_variance(const sl_store *x, sl_real mean, size_t C) {
  double total = 0;
  for (size_t c0 = 0; c0 < C; c0 += CHUNK) {
    size_t c1 = c0 + CHUNK < C ? c0 + CHUNK : C;
    sl_real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t c = c0; c < c1; c++) sum += (sl_load(x[c]) - mean) * (sl_load(x[c]) - mean);
    total += (double)sum;
  }
  return total / (double)C;
}

void SL_K(sl_layernorm_forward)(sl_store *out, sl_real *mean, sl_real *rstd, const sl_store *x, const sl_store *weight,
                                const sl_store *bias, size_t rows, size_t C, float eps) {
#pragma omp parallel for schedule(static) if (rows * C > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++) {
    const sl_store *in = x + r * C;
    sl_store *o = out + r * C;
    sl_real m = (sl_real)row_mean(in, C);
    sl_real s = (sl_real)(1.0 / sqrt(row_variance(in, m, C) + (double)eps));
#pragma omp simd
    for (size_t c = 0; c < C; c++) o[c] = sl_put((sl_load(in[c]) - m) * s * sl_load(weight[c]) + sl_load(bias[c]));
    mean[r] = m;
    rstd[r] = s;
  }
}

static size_t block_rows(size_t rows) {
  size_t each = (rows + MAX_BLOCKS - 1) / MAX_BLOCKS;
  return each < 8 ? 8 : each;
}

static size_t block_count(size_t rows) {
  return (rows + block_rows(rows) - 1) / block_rows(rows);
}

size_t SL_K(sl_layernorm_scratch_bytes)(size_t rows, size_t C) {
  return 2 * block_count(rows) * C * sizeof(sl_real);
}

/* A row's share in dweight and dbias. */
static void row_weights(sl_real *restrict dweight, sl_real *restrict dbias, const sl_store *dout, const sl_store *x,
                        sl_real mean, sl_real rstd, size_t C) {
#pragma omp simd
  for (size_t c = 0; c < C; c++) {
    const sl_real d = sl_load(dout[c]);
    dweight[c] += d * ((sl_load(x[c]) - mean) * rstd);
    dbias[c] += d;
  }
}

/* The two row sums of backward: of g = dout * weight, and of g * norm. */
static void row_sums(double sums[2], const sl_store *dout, const sl_store *x, const sl_store *weight, sl_real mean,
                     sl_real rstd, size_t C) {
  sums[0] = sums[1] = 0;
  for (size_t c0 = 0; c0 < C; c0 += CHUNK) {
    size_t c1 = c0 + CHUNK < C ? c0 + CHUNK : C;
    sl_real sum_g = 0, sum_gn = 0;
#pragma omp simd reduction(+ : sum_g, sum_gn)
    for (size_t c = c0; c < c1; c++) {
      sl_real g = sl_load(dout[c]) * sl_load(weight[c]), norm = (sl_load(x[c]) - mean) * rstd;
      sum_g += g;
      sum_gn += g * norm;
    }
    sums[0] += (double)sum_g;
    sums[1] += (double)sum_gn;
  }
}

static void row_dx(sl_store *dx, int accumulate, const sl_store *dout, const sl_store *x, const sl_store *weight,
                   sl_real mean, sl_real rstd, const double sums[2], size_t C) {
  const sl_real mean_g = (sl_real)(sums[0] / (double)C), mean_gn = (sl_real)(sums[1] / (double)C);
  if (accumulate) {
#pragma omp simd
    for (size_t c = 0; c < C; c++) {
      sl_real g = sl_load(dout[c]) * sl_load(weight[c]), norm = (sl_load(x[c]) - mean) * rstd;
      dx[c] = sl_put(sl_load(dx[c]) + rstd * (g - mean_g - norm * mean_gn));
    }
  } else {
#pragma omp simd
    for (size_t c = 0; c < C; c++) {
      sl_real g = sl_load(dout[c]) * sl_load(weight[c]), norm = (sl_load(x[c]) - mean) * rstd;
      dx[c] = sl_put(rstd * (g - mean_g - norm * mean_gn));
    }
  }
}

/* dst (C) = or += the sum over blocks of partial (blocks, 2*C), each column in block order, whatever the thread. */
static void add_partials(sl_store *dst, const sl_real *partial, size_t blocks, size_t C, int accumulate) {
#pragma omp parallel for schedule(static) if (blocks * C > SL_PARALLEL_MIN)
  for (size_t c0 = 0; c0 < C; c0 += COLUMN_CHUNK) {
    const size_t n = C - c0 < COLUMN_CHUNK ? C - c0 : COLUMN_CHUNK;
    double total[COLUMN_CHUNK] = {0};
    for (size_t b = 0; b < blocks; b++) {
      const sl_real *row = partial + b * 2 * C + c0;
#pragma omp simd
      for (size_t c = 0; c < n; c++) total[c] += (double)row[c];
    }
    for (size_t c = 0; c < n; c++) {
      dst[c0 + c] = sl_put((sl_real)(accumulate ? (double)sl_load(dst[c0 + c]) + total[c] : total[c]));
    }
  }
}

void SL_K(sl_layernorm_backward)(sl_store *dx, int accumulate_dx, sl_store *dweight, sl_store *dbias, int accumulate,
                                 const sl_store *dout, const sl_store *x, const sl_store *weight, const sl_real *mean,
                                 const sl_real *rstd, size_t rows, size_t C, void *scratch) {
  sl_real *partial = scratch;
  const size_t blocks = block_count(rows), each = block_rows(rows);
#pragma omp parallel for schedule(static) if (rows * C > SL_PARALLEL_MIN)
  for (size_t b = 0; b < blocks; b++) {
    sl_real *dw = dweight ? partial + b * 2 * C : NULL;
    size_t end = (b + 1) * each < rows ? (b + 1) * each : rows;
    if (dw) memset(dw, 0, 2 * C * sizeof *dw);
    for (size_t r = b * each; r < end; r++) {
      /* dx may be dout: the weights come first */
      if (dw) row_weights(dw, dw + C, dout + r * C, x + r * C, mean[r], rstd[r], C);
      if (!dx) continue;
      double sums[2];
      row_sums(sums, dout + r * C, x + r * C, weight, mean[r], rstd[r], C);
      row_dx(dx + r * C, accumulate_dx, dout + r * C, x + r * C, weight, mean[r], rstd[r], sums, C);
    }
  }
  if (!dweight) return;
  add_partials(dweight, partial, blocks, C, accumulate);
  add_partials(dbias, partial + C, blocks, C, accumulate);
}
