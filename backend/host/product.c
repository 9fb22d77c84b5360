/* Matrix products on all threads of a rank: c is divided into one block per thread, and each block is an OpenBLAS
 * product on that thread alone.
 *
 * OpenBLAS's own threads pack the operands together and read each other's packs. That costs little if the cores share a
 * cache, and much if they do not: two cores between which a word takes 350 ns both ways, instead of 55, ran 1024 x 128
 * x 128 at 71 GFLOPS instead of 151. With separate blocks they ran at 190 and 200. */
#include "backend/host/product.h"

#include <cblas.h>
#include <omp.h>
#include <stddef.h>
#include <stdint.h>

enum {
  EDGE = 16,            /* blocks begin at a multiple of a register tile */
  LEAST_FLOPS = 1 << 19 /* below this OpenBLAS also uses one thread */
};

/* The number of rows into which `threads` blocks are arranged: short edges, since these have to be read, and preferably
 * rows, because the kernels that follow work by rows and then find theirs in the cache of the same core. */
static int block_rows(const struct sl_product *p, int threads) {
  int best = threads;
  double least = -1;
  for (int rows = 1; rows <= threads; rows++) {
    if (threads % rows != 0) continue;
    const int columns = threads / rows;
    const double edge = (double)p->m / rows + (double)p->n / columns / 2;
    if (least < 0 || edge < least) least = edge, best = rows;
  }
  return best;
}

/* Where part `i` of `count` begins in [0, n). */
static int edge_of(int n, int i, int count) {
  return i == count ? n : (int)((int64_t)n * i / count / EDGE * EDGE);
}

static void run_block(const struct sl_product *p, int row, int row_end, int column, int column_end) {
  const size_t m = (size_t)p->m, n = (size_t)p->n, k = (size_t)p->k;
  const float *a = p->a + (p->trans_a ? (size_t)row : (size_t)row * k);
  const float *b = p->b + (p->trans_b ? (size_t)column * k : (size_t)column);
  if (row >= row_end || column >= column_end) return;
  cblas_sgemm(CblasRowMajor, p->trans_a ? CblasTrans : CblasNoTrans, p->trans_b ? CblasTrans : CblasNoTrans,
              row_end - row, column_end - column, p->k, p->scale, a, (int)(p->trans_a ? m : k), b,
              (int)(p->trans_b ? k : n), p->add ? 1.0f : 0.0f, p->c + (size_t)row * n + (size_t)column, (int)n);
}

void sl_host_product(const struct sl_product *p) {
  const double flops = 2.0 * p->m * p->n * p->k;
  const int threads = flops < LEAST_FLOPS ? 1 : omp_get_max_threads(), rows = block_rows(p, threads);
  const int columns = threads / rows;
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (threads > 1)
  for (int i = 0; i < threads; i++) {
    const int row = i / columns, column = i % columns;
    run_block(p, edge_of(p->m, row, rows), edge_of(p->m, row + 1, rows), edge_of(p->n, column, columns),
              edge_of(p->n, column + 1, columns));
  }
}
