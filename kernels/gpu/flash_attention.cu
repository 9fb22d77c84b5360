/* Flash attention on the GPU, forward (kernels/flash_attention.h; the backward is in flash_attention_backward.cu). A
 * block handles 32 queries of one head and iterates over the keys up to the diagonal, with the running maximum and sum
 * of flash_attention.c. 16-bit numbers use the tensor cores (flash_mma.cuh) if these support the head size. */
#include "kernels/gpu/flash_attention.cuh"
#include "kernels/gpu/flash_mma.cuh"

#include <float.h>

namespace sl {
namespace {

/* The eight threads of the row at position t turn its scores of the keys from `j0` on into probabilities, times
 * dropout's factors, and update the row's running maximum and sum. Returns the factor for what was summed before, 0 at
 * first. */
__device__ inline float soften(float *scores, float &max, float &sum, const heads &a, uint64_t element, size_t t,
                               size_t j0) {
  const int lane = (int)threadIdx.x % 8;
  float here = max, total = 0;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const size_t key = j0 + (size_t)(lane + 8 * i);
    if (a.sees(t, key)) here = fmaxf(here, scores[lane + 8 * i]);
  }
#pragma unroll
  for (int d = 4; d > 0; d /= 2) here = fmaxf(here, __shfl_xor_sync(0xffffffffu, here, d));
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const size_t key = j0 + (size_t)(lane + 8 * i);
    const float p = a.sees(t, key) ? expf(scores[lane + 8 * i] - here) : 0;
    total += p;
    scores[lane + 8 * i] = p * a.kept(element, key);
  }
#pragma unroll
  for (int d = 4; d > 0; d /= 2) total += __shfl_xor_sync(0xffffffffu, total, d);
  const float shrink = expf(max - here);
  sum = sum * shrink + total;
  max = here;
  return shrink;
}

/* acc = acc shrink + a row's probabilities times V. */
__device__ inline void add_values(float (&acc)[flash_each], const float *probabilities, const float *V, size_t D,
                                  float shrink) {
  const int lane = (int)threadIdx.x % 8;
#pragma unroll
  for (int i = 0; i < flash_each; i++) acc[i] *= shrink;
#pragma unroll 1
  for (int j = 0; j < flash_tile; j++) {
    const float p = probabilities[j], *row = V + (size_t)j * (D + 1);
#pragma unroll
    for (int i = 0; i < flash_each; i++) {
      const size_t d = (size_t)(lane + 8 * i);
      if (d < D) acc[i] += p * row[d];
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(flash_threads)
    flash_forward_kernel(T *out, float *lse, const T *q, const T *k, const T *v, heads a) {
  SL_DYNAMIC_SHARED(shared);
  __shared__ flash_square scores;
  const sl_attention_shape &s = a.s;
  const size_t D = s.D;
  float *Q = (float *)shared, *K = Q + flash_tile * (D + 1), *V = K + flash_tile * (D + 1);
  const query_block mine(a, flash_tile, blockIdx.x);
  const size_t t0 = (size_t)mine.first, end = (size_t)mine.end, b = mine.b, h = mine.h, g = a.kv_of(h);
  const int r = (int)threadIdx.x / 8, lane = (int)threadIdx.x % 8;
  const size_t t = t0 + (size_t)r;
  a.drop.begin();
  load_tile(Q, q + a.q_at(b, mine.origin, h), s.q_stride, t0, end, D, a.scale());
  float max = -FLT_MAX, sum = 0, acc[flash_each] = {};
  const float slope = a.slope(h);
  for (size_t j0 = a.first_key(t0) / flash_tile * flash_tile; j0 < (size_t)mine.keys_end(flash_tile);
       j0 += flash_tile) {
    float c[2][2];
    __syncthreads(); /* other threads may still read K, V and scores */
    load_tile(K, k + a.k_at(b, 0, g), s.k_stride, j0, s.keys, D, 1);
    load_tile(V, v + a.v_at(b, 0, g), s.v_stride, j0, s.keys, D, 1);
    __syncthreads();
    tile_dots(c, Q, K, D);
    each_place([&](unsigned y, unsigned x, int i, int j) {
      float by;
      scores[y][x] = a.score(c[i][j], slope, t0 + y, j0 + x, &by);
    });
    __syncthreads();
    const float shrink = soften(scores[r], max, sum, a, a.element(b, h, t), t, j0);
    __syncwarp(); /* a row's scores are shared by its eight threads */
    add_values(acc, scores[r], V, D, shrink);
  }
  if (t >= end) return;
  const float inverse = 1 / sum;
#pragma unroll
  for (int i = 0; i < flash_each; i++) {
    const size_t d = (size_t)(lane + 8 * i);
    if (d < D) out[a.out_at(b, mine.origin + t, h) + d] = put<T>(acc[i] * inverse);
  }
  if (lane == 0) lse[(b * s.H + h) * s.T + mine.origin + t] = max + logf(sum);
}

} /* namespace */
} /* namespace sl */

using namespace sl;

extern "C" int sl_cuda_flash_attention_forward(sl_cuda_stream stream, enum sl_number type, void *out, float *lse,
                                               const void *q, const void *k, const void *v,
                                               const struct sl_attention_shape *shape, const struct sl_dropout *dropout,
                                               const int64_t *step) {
  if (shape->D > flash_most) return (int)cudaErrorInvalidValue;
  if (mma_takes(type, shape)) return mma_forward(stream, type, out, lse, q, k, v, shape, dropout, step);
  const heads a = heads_of(shape, dropout, step);
  const unsigned blocks = query_blocks(*shape, flash_tile) * (unsigned)(shape->B * shape->H);
  return by_type(type, [&](auto zero) {
    using T = decltype(zero);
    return launch(stream, dim3(blocks), flash_threads, 3 * flash_tile * (shape->D + 1) * sizeof(float),
                  flash_forward_kernel<T>, (T *)out, lse, (const T *)q, (const T *)k, (const T *)v, a);
  });
}
