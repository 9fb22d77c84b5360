/* Flash attention on the GPU without tensor cores, for every type and head size: what forward and backward share. Tiles
 * of 32 queries by 32 keys are in shared memory as float. */
#pragma once

#include "kernels/gpu/attention.cuh"

namespace sl {
namespace {

constexpr int flash_tile = 32, flash_threads = 256; /* eight threads per row */
constexpr int flash_most = 256;                     /* the largest head size */
constexpr int flash_each = flash_most / 8;          /* elements of a row that a thread adds up */

/* Loads rows [t0, t0 + 32) of a head, with zeros past T. The tile is (32, D + 1), so that a column is spread over 32
 * banks. */
template <typename T>
__device__ inline void load_tile(float *dst, const T *src, size_t stride, size_t t0, size_t T_, size_t D,
                                 float factor) {
  for (size_t i = threadIdx.x; i < flash_tile * D; i += flash_threads) {
    const size_t r = i / D, d = i % D;
    dst[r * (D + 1) + d] = t0 + r < T_ ? load(src[(t0 + r) * stride + d]) * factor : 0;
  }
}

/* The dot products of the thread's two rows of a and two of b: rows 2y and 2y+1 of a, rows x and x+16 of b. */
__device__ inline void tile_dots(float (&c)[2][2], const float *a, const float *b, size_t D) {
  const size_t y = threadIdx.x / 16 * 2, x = threadIdx.x % 16;
  const float *a0 = a + y * (D + 1), *a1 = a0 + D + 1, *b0 = b + x * (D + 1), *b1 = b0 + 16 * (D + 1);
  c[0][0] = c[0][1] = c[1][0] = c[1][1] = 0;
#pragma unroll 4
  for (size_t d = 0; d < D; d++) {
    c[0][0] += a0[d] * b0[d];
    c[0][1] += a0[d] * b1[d];
    c[1][0] += a1[d] * b0[d];
    c[1][1] += a1[d] * b1[d];
  }
}

/* Calls f(r, c, i, j) for the thread's four places (r, c) of a tile, which are [i][j] of tile_dots' result. */
template <typename F> __device__ inline void each_place(F f) {
#pragma unroll
  for (int i = 0; i < 2; i++) {
#pragma unroll
    for (int j = 0; j < 2; j++) f(threadIdx.x / 16 * 2 + (unsigned)i, threadIdx.x % 16 + 16 * (unsigned)j, i, j);
  }
}

/* Probabilities or scores of a tile: a float per place. */
typedef float flash_square[flash_tile][flash_tile + 1];

} /* namespace */
} /* namespace sl */
