/* Flash attention on the tensor cores, forward: what becomes of a tile of scores in registers, whichever instruction
 * made it. A warp holds 16 queries; a thread two rows of them, g and g + 8, as mma.cuh lays out a sum. */
#pragma once

#include "kernels/gpu/flash_mma_tile.cuh"

namespace sl {
namespace {

constexpr int keys = 64;
/* The maximum before any score. It is finite, so that a row is unchanged by a tile in which it attends to no key. */
constexpr float nothing = -1e30F;

/* The running maximum, sum and output of a warp's 16 queries. A thread holds rows g and g + 8. */
template <int W> struct running { float max[2], sum[2], out[W / 8][4]; };

/* Sets scores to minus infinity where a query does not attend to the key, in the thread's rows of positions t and t + 8
 * and its columns from `key` on. */
__device__ inline void hide(float (&s)[keys / 8][4], int t, int key, int window) {
#pragma unroll
  for (int i = 0; i < keys / 8; i++) {
#pragma unroll
    for (int e = 0; e < 4; e++)
      if (!near(t + (e >= 2 ? 8 : 0), key + 8 * i + e % 2, window)) s[i][e] = -INFINITY;
  }
}

/* Turns products into scores: applies scale, cap and ALiBi. */
__device__ inline void shape_scores(float (&s)[keys / 8][4], const heads &a, float slope, int t, int key) {
  const float scale = a.scale();
#pragma unroll
  for (int i = 0; i < keys / 8; i++) {
#pragma unroll
    for (int e = 0; e < 4; e++) {
      float by;
      s[i][e] = a.score(s[i][e] * scale, slope, (size_t)(t + (e >= 2 ? 8 : 0)), (size_t)(key + 8 * i + e % 2), &by);
    }
  }
}

/* Raises the rows' maxima to this tile's scores and rescales what was summed so far. `unit` times a score is an
 * exponent of 2. */
template <int W> __device__ inline void grow(running<W> &r, const float (&s)[keys / 8][4], float unit) {
#pragma unroll
  for (int half = 0; half < 2; half++) {
    float here = r.max[half];
#pragma unroll
    for (int i = 0; i < keys / 8; i++) here = fmaxf(fmaxf(here, s[i][2 * half]), s[i][2 * half + 1]);
    here = fmaxf(here, __shfl_xor_sync(0xffffffffu, here, 1));
    here = fmaxf(here, __shfl_xor_sync(0xffffffffu, here, 2));
    const float shrink = exp2_fast((r.max[half] - here) * unit); /* 0 at first */
    r.sum[half] *= shrink;
    r.max[half] = here;
#pragma unroll
    for (int i = 0; i < W / 8; i++) r.out[i][2 * half] *= shrink, r.out[i][2 * half + 1] *= shrink;
  }
}

/* Which of the thread's scores dropout keeps. `element`: that of its first row and first column. */
__device__ inline uint32_t drawn(const heads &a, uint64_t element) {
  const bool whole = whole_blocks(a);
  uint32_t bits = 0;
#pragma unroll
  for (int i = 0; i < keys / 8; i++) {
    const uint64_t e = element + (uint64_t)(8 * i);
    bits |= keeps_rows(a.drop, whole, e, e + 8 * (uint64_t)a.s.keys) << 4 * i;
  }
  return bits;
}

/* Turns scores into probabilities, times dropout's factors. */
template <mma_form F, int W>
__device__ inline void soften(float (&s)[keys / 8][4], running<W> &r, const heads &a, uint32_t bits, float unit) {
#pragma unroll
  for (int i = 0; i < keys / 8; i++) {
#pragma unroll
    for (int e = 0; e < 4; e++) {
      s[i][e] = exp2_fast(s[i][e] * unit - r.max[e / 2] * unit);
      r.sum[e / 2] += s[i][e];
      if (F == mma_dropout || (F == mma_general && a.drop.on)) {
        const float kept = kept_of(a.drop, bits, 4 * i + e);
        s[i][e] = s[i][e] == 0 ? 0 : s[i][e] * kept;
      }
    }
  }
}

/* Writes the thread's two rows of out and lse, of positions t and t + 8. */
template <mma_form F, typename T, int W>
__device__ inline void finish(T *out, float *lse, const running<W> &r, const heads &a, const query_block &mine, int t,
                              float unit) {
#pragma unroll
  for (int half = 0; half < 2; half++) {
    float sum = r.sum[half];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    if (t + 8 * half >= mine.end) continue;
    const size_t row = mine.origin + (size_t)(t + 8 * half);
    const float inverse = 1 / sum;
    T *const to = out + a.out_at(mine.b, row, mine.h);
#pragma unroll
    for (int i = 0; i < W / 8; i++)
      put_two<F>(to, 8 * i + (int)threadIdx.x % 4 * 2, (int)a.s.D, r.out[i][2 * half] * inverse,
                 r.out[i][2 * half + 1] * inverse);
    if (threadIdx.x % 4 == 0) lse[(mine.b * a.s.H + mine.h) * a.s.T + row] = r.max[half] * (unit / log2_e) + logf(sum);
  }
}

} /* namespace */
} /* namespace sl */
