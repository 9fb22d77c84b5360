/* Sums, fills and the bias gradient on the host (kernels/reduce.h). */
#include "kernels/reduce.h"
#include "kernels/numbers/run.h"
#include "kernels/parallel.h"

#include <omp.h>

#define BLOCK ((size_t)4096)       /* elements of one partial sum */
#define COLUMN_CHUNK ((size_t)256) /* columns summed at a time: their sums stay in the first-level cache */
#define ROW_CHUNK ((size_t)128)    /* rows summed in sl_real before the sum is added in double */

size_t SL_K(sl_reduce_scratch_bytes)(size_t n) {
  return (n + BLOCK - 1) / BLOCK * sizeof(double);
}

static double sum_squares_block(const sl_store *x, size_t n) {
  sl_room room;
  double total = 0;
  for (size_t i0 = 0, m; i0 < n; i0 += m) {
    m = sl_run(n - i0);
    const sl_real *in = sl_open(room, x + i0, m);
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < m; i++) sum += (double)in[i] * (double)in[i];
    total += sum;
  }
  return total;
}

void SL_K(sl_reduce_sum_squares)(double *sum, const sl_store *x, size_t n, int accumulate, void *scratch) {
  double *partial = scratch;
  size_t blocks = (n + BLOCK - 1) / BLOCK;
#pragma omp parallel for schedule(static) if (n > SL_PARALLEL_MIN)
  for (size_t b = 0; b < blocks; b++) {
    partial[b] = sum_squares_block(x + b * BLOCK, n - b * BLOCK < BLOCK ? n - b * BLOCK : BLOCK);
  }
  double total = 0;
  for (size_t b = 0; b < blocks; b++) total += partial[b];
  *sum = accumulate ? *sum + total : total;
}

void SL_K(sl_reduce_fill)(sl_store *dst, sl_real value, size_t n) {
  const sl_store stored = sl_put(value);
#pragma omp parallel for simd schedule(static) if (parallel : n > SL_PARALLEL_MIN)
  for (size_t i = 0; i < n; i++) dst[i] = stored;
}

void SL_K(sl_reduce_bias_add)(sl_store *out, const sl_store *bias, size_t rows, size_t cols) {
#pragma omp parallel for schedule(static) if (rows * cols > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++) sl_sum(out + r * cols, out + r * cols, bias, cols);
}

/* The sums of columns [c0, c0 + n), n <= COLUMN_CHUNK, in row order. A column's result does not depend on its
 * neighbours, so any split of the columns over threads gives the same bits. */
static void column_sums(sl_store *dbias, const sl_store *dout, size_t rows, size_t cols, size_t c0, size_t n,
                        int accumulate) {
  double total[COLUMN_CHUNK] = {0};
  for (size_t r0 = 0; r0 < rows; r0 += ROW_CHUNK) {
    sl_real part[COLUMN_CHUNK] = {0};
    size_t r1 = r0 + ROW_CHUNK < rows ? r0 + ROW_CHUNK : rows;
    for (size_t r = r0; r < r1; r++) sl_accumulate(part, dout + r * cols + c0, n);
    for (size_t c = 0; c < n; c++) total[c] += (double)part[c];
  }
  for (size_t c = 0; c < n; c++) {
    const double before = accumulate ? (double)sl_load(dbias[c0 + c]) : 0;
    dbias[c0 + c] = sl_put((sl_real)(total[c] + before));
  }
}

void SL_K(sl_reduce_bias_backward)(sl_store *dbias, const sl_store *dout, size_t rows, size_t cols, int accumulate) {
#pragma omp parallel for schedule(static) if (rows * cols > SL_PARALLEL_MIN)
  for (size_t c0 = 0; c0 < cols; c0 += COLUMN_CHUNK) {
    column_sums(dbias, dout, rows, cols, c0, cols - c0 < COLUMN_CHUNK ? cols - c0 : COLUMN_CHUNK, accumulate);
  }
}
