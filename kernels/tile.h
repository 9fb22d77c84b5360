/* Small matrix products on packed, padded operands, for the host attention.
 *
 * A "tile" is SL_TILE_ROWS rows by up to SL_TILE_VECS vectors of the result, held in registers. The right operand is
 * row-major with rows padded to whole vectors; the left one is read one number at a time with any two strides, so
 * the same code serves A B and A^T B. The register tile is explicit through GCC's vector types, which clang supports
 * too. */
#pragma once

#include "kernels/numbers/real.h"

#include <stddef.h>

#if defined(__AVX512F__)
#define SL_VEC_BYTES 64
#define SL_TILE_ROWS 8 /* of 32 registers, the tile takes 16; 4 by 4 vectors was a sixth slower */
#else
#define SL_VEC_BYTES 32
#define SL_TILE_ROWS 4 /* of 16 registers, 8 */
#endif
#define SL_TILE_VECS 2
#define SL_LANES (SL_VEC_BYTES / sizeof(sl_real))
#define SL_PANEL (SL_TILE_VECS * SL_LANES) /* columns of a full tile */

typedef sl_real sl_vec __attribute__((vector_size(SL_VEC_BYTES), may_alias));

static inline size_t sl_round_up(size_t n, size_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

/* c (SL_TILE_ROWS, vecs vectors) = or += sum over k < K of a[r * a_row + k * a_k] * b[k * ldb ...]. */
static inline __attribute__((always_inline)) void sl_tile_fixed(int vecs, size_t K, const sl_real *a, size_t a_row,
                                                                size_t a_k, const sl_real *b, size_t ldb, sl_real *c,
                                                                size_t ldc, int add) {
  sl_vec acc[SL_TILE_ROWS][SL_TILE_VECS];
  for (int r = 0; r < SL_TILE_ROWS; r++) {
    for (int v = 0; v < vecs; v++) acc[r][v] = add ? ((const sl_vec *)(c + (size_t)r * ldc))[v] : (sl_vec){0};
  }
  for (size_t k = 0; k < K; k++) {
    const sl_vec *row = (const sl_vec *)(b + k * ldb);
    for (int r = 0; r < SL_TILE_ROWS; r++) {
      sl_real x = a[(size_t)r * a_row + k * a_k];
      for (int v = 0; v < vecs; v++) acc[r][v] += x * row[v];
    }
  }
  for (int r = 0; r < SL_TILE_ROWS; r++) {
    for (int v = 0; v < vecs; v++) ((sl_vec *)(c + (size_t)r * ldc))[v] = acc[r][v];
  }
}

/* The same for vecs of 1 or 2. */
static void sl_tile(size_t vecs, size_t K, const sl_real *a, size_t a_row, size_t a_k, const sl_real *b, size_t ldb,
                    sl_real *c, size_t ldc, int add) {
  if (vecs == 1) {
    sl_tile_fixed(1, K, a, a_row, a_k, b, ldb, c, ldc, add);
  } else {
    sl_tile_fixed(2, K, a, a_row, a_k, b, ldb, c, ldc, add);
  }
}

/* One row of tiles over n columns (a multiple of SL_LANES). */
static inline void sl_tile_row(size_t n, size_t K, const sl_real *a, size_t a_row, size_t a_k, const sl_real *b,
                               size_t ldb, sl_real *c, size_t ldc, int add) {
  for (size_t j = 0; j < n; j += SL_PANEL) {
    size_t vecs = (n - j < SL_PANEL ? n - j : SL_PANEL) / SL_LANES;
    sl_tile(vecs, K, a, a_row, a_k, b + j, ldb, c + j, ldc, add);
  }
}
