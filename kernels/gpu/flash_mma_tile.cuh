/* What the tensor cores' attention kernels do with a tile of scores: masking, and dropout drawn once per four
 * elements. */
#pragma once

#include "kernels/gpu/attention.cuh"
#include "kernels/gpu/flash_mma.cuh"
#include "kernels/gpu/mma.cuh"

#include <limits.h>

namespace sl {
namespace {

/* Fills a tile with rows [t0, end) of a head, as a kernel of form F does. */
template <mma_form F, int ROWS, typename T, int W>
__device__ inline void fill(const half_tile<T, W> &tile, const T *src, uint32_t stride, int t0, int end, const heads &a,
                            bool wide) {
  if (F != mma_general || wide)
    tile.template fill_async<ROWS, mma_threads>(src, stride, t0, end, (int)a.s.D);
  else
    tile.template fill_slowly<ROWS, mma_threads>(src, stride, t0, end, (int)a.s.D);
}

/* A query attends to the keys fewer than this before it, itself included. */
__device__ inline int window_of(const heads &a) {
  return a.s.window && a.s.window < INT_MAX ? (int)a.s.window : INT_MAX;
}
/* Whether the query at position t attends to `key`. Rows past the last one may give any answer, since their results
 * are never read. */
__device__ inline bool near(int t, int key, int window) {
  return (unsigned)(t - key) < (unsigned)window;
}
/* Whether some pair of positions [t, t + queries) and keys [key, key + keys) is masked. */
__device__ inline bool at_edge(int t, int queries, int key, int keys, int window) {
  return key + keys - 1 > t || t + queries - 1 - key >= window;
}

/* --- dropout: which scores of a tile are kept, as bits drawn before the scores are computed, while registers are free
 * --- */

/* Bit i: element 4 block + i. */
__device__ inline uint32_t keeps_block(const mask &drop, uint64_t block) {
  uint32_t w[4];
  sl_philox_four(w, &drop.key, block);
  uint32_t bits = 0;
#pragma unroll
  for (int i = 0; i < 4; i++) bits |= (w[i] >> 8 >= drop.threshold ? 1U : 0U) << i;
  return bits;
}
__device__ inline uint32_t keeps_one(const mask &drop, uint64_t e) {
  return keeps_block(drop, e / 4) >> (unsigned)(e % 4) & 1;
}

/* Whether four neighbouring keys, from a multiple of four on, are in one Philox block in every row. */
__device__ inline bool whole_blocks(const heads &a) {
  return (a.drop.first | a.s.keys) % 4 == 0;
}

/* For rows of queries: bits 0 and 1 are those of global elements e0, e0 + 1, bits 2 and 3 those of e1, e1 + 1. With
 * whole blocks, two neighbouring lanes each need half of the same two blocks: each draws one of them, and they exchange
 * the results. */
__device__ inline uint32_t keeps_rows(const mask &drop, bool whole, uint64_t e0, uint64_t e1) {
  if (!whole)
    return keeps_one(drop, e0) | keeps_one(drop, e0 + 1) << 1 | keeps_one(drop, e1) << 2 | keeps_one(drop, e1 + 1) << 3;
  const bool odd = threadIdx.x % 2 != 0;
  const uint32_t mine = keeps_block(drop, (odd ? e1 : e0) / 4), other = __shfl_xor_sync(0xffffffffu, mine, 1);
  return odd ? other >> 2 | (mine & 12) : (mine & 3) | (other & 3) << 2;
}

/* For rows of keys: bit 0 is that of element e, whose key is `key`, bit 1 that of the next query, `row` elements
 * further on; bits 2 and 3 are the same for the key eight further on. With whole blocks, four neighbouring rows are in
 * one block: each lane draws one of the four bits for all. */
__device__ inline uint32_t keeps_columns(const mask &drop, bool whole, uint64_t e, uint64_t row) {
  if (!whole)
    return keeps_one(drop, e) | keeps_one(drop, e + row) << 1 | keeps_one(drop, e + 8) << 2 |
           keeps_one(drop, e + row + 8) << 3;
  const unsigned place = threadIdx.x / 4 % 4; /* of the key within its block */
  uint32_t all = keeps_block(drop, (e + (place % 2 ? row : 0) + (place >= 2 ? 8 : 0)) / 4) << 4 * place;
  all |= __shfl_xor_sync(0xffffffffu, all, 4);
  all |= __shfl_xor_sync(0xffffffffu, all, 8);
  all >>= place;
  return (all & 1) | (all >> 3 & 2) | (all >> 6 & 4) | (all >> 9 & 8);
}

/* Dropout's factor of a thread's score `which` of a tile. */
__device__ inline float kept_of(const mask &drop, uint32_t bits, int which) {
  return bits >> which & 1 ? drop.scale : 0;
}

/* Writes two neighbouring columns of the thread's row, from a (16,W) sum, to memory. */
template <mma_form F, typename T> __device__ inline void put_two(T *row, int d, int D, float x, float y) {
  if (F != mma_general) { /* D is a multiple of 8 */
    const float both[2] = {x, y};
    if (d < D) put_v<2>(row + d, both);
  } else {
    if (d < D) row[d] = put<T>(x);
    if (d + 1 < D) row[d + 1] = put<T>(y);
  }
}

} /* namespace */
} /* namespace sl */
