/* Flash attention on the tensor cores, forward (flash_mma.cuh, mma.cuh). A block handles 64 queries of one head, 16 per
 * warp, and iterates over tiles of 64 keys up to the diagonal; scores, probabilities and sums stay in registers. A
 * tile's values are copied into shared memory while its scores are computed, and the next tile's keys while the values
 * are added. */
#include "kernels/gpu/flash_mma_softmax.cuh"

namespace sl {
namespace {

/* c = Q K^T, for a warp's queries and a tile of keys. */
template <typename T, int W>
__device__ inline void dot(float (&c)[keys / 8][4], const half_tile<T, W> &Q, const half_tile<T, W> &K, int warp_row) {
#pragma unroll
  for (int d = 0; d < W; d += 16) {
    uint32_t x[4], y[4];
    Q.as_a(x, warp_row, d);
#pragma unroll
    for (int j = 0; j < keys; j += 16) {
      K.as_b(y, j, d);
      mma<T>(c[j / 8], x, y[0], y[1]);
      mma<T>(c[j / 8 + 1], x, y[2], y[3]);
    }
  }
}

/* r.out += P V, with the probabilities `c` rounded to T. */
template <typename T, int W>
__device__ inline void add_values(running<W> &r, const float (&c)[keys / 8][4], const half_tile<T, W> &V) {
#pragma unroll
  for (int j = 0; j < keys; j += 16) {
    uint32_t x[4], y[4];
    as_left<T>(x, c[j / 8], c[j / 8 + 1]);
#pragma unroll
    for (int d = 0; d < W; d += 16) {
      V.as_b_rows(y, j, d);
      mma<T>(r.out[d / 8], x, y[0], y[1]);
      mma<T>(r.out[d / 8 + 1], x, y[2], y[3]);
    }
  }
}

template <typename T, int W, mma_form F>
__global__ void __launch_bounds__(mma_threads, F != mma_lean ? 2
                                               : W > 64      ? 3
                                                             : 4)
    mma_forward_kernel(T *out, float *lse, const T *q, const T *k, const T *v, heads a, bool wide) {
  SL_DYNAMIC_SHARED(shared);
  const half_tile<T, W> Q = {(T *)shared}, K = {Q.row(mma_rows)}, V = {K.row(keys)};
  const query_block mine(a, mma_rows, blockIdx.x);
  const int t0 = mine.first, end = mine.keys_end(mma_rows), window = window_of(a);
  const size_t h = mine.h, b = mine.b, g = a.kv_of(h);
  const int warp_row = (int)threadIdx.x / 32 * 16, t = t0 + warp_row + (int)threadIdx.x % 32 / 4;
  const int column = (int)threadIdx.x % 4 * 2, all = (int)a.s.keys;
  const bool plain = F != mma_general || sl_plain_scores(&a.s);
  const float unit = plain ? log2_e * a.scale() : log2_e, slope = plain ? 0 : a.slope(h);
  const T *const k0 = k + a.k_at(b, 0, g), *const v0 = v + a.v_at(b, 0, g);
  const uint32_t k_stride = (uint32_t)a.s.k_stride, v_stride = (uint32_t)a.s.v_stride;
  running<W> r = {{nothing, nothing}, {0, 0}, {}};
  if (F != mma_lean) a.drop.begin();
  int j0 = (int)a.first_key((size_t)t0) / keys * keys;
  fill<F, mma_rows>(Q, q + a.q_at(b, mine.origin, h), (uint32_t)a.s.q_stride, t0, mine.end, a, wide);
  fill<F, keys>(K, k0, k_stride, j0, all, a, wide);
  copy_commit();
  for (; j0 < end; j0 += keys) {
    copy_wait<0>();
    __syncthreads(); /* these keys are complete, and no thread reads the previous values any more */
    fill<F, keys>(V, v0, v_stride, j0, all, a, wide);
    copy_commit();
    uint32_t bits = 0;
    if (F == mma_dropout || (F == mma_general && a.drop.on))
      bits = drawn(a, a.element(b, h, (size_t)t) + (uint64_t)(j0 + column));
    float c[keys / 8][4] = {};
    dot(c, Q, K, warp_row);
    if (!plain) shape_scores(c, a, slope, t, j0 + column);
    if (at_edge(t0, mma_rows, j0, keys, window)) hide(c, t, j0 + column, window);
    grow(r, c, unit);
    soften<F>(c, r, a, bits, unit);
    copy_wait<0>();
    __syncthreads(); /* these values are complete, and no thread reads the keys any more */
    if (j0 + keys < end) fill<F, keys>(K, k0, k_stride, j0 + keys, all, a, wide);
    copy_commit();
    add_values(r, c, V);
  }
  finish<F>(out, lse, r, a, query_block(a, mma_rows, anew(blockIdx.x)), t, unit);
}

template <typename T, int W, mma_form F>
int launch_form(sl_cuda_stream stream, void *out, float *lse, const void *q, const void *k, const void *v,
                const heads &a, bool wide) {
  const unsigned blocks = query_blocks(a.s, mma_rows) * (unsigned)(a.s.B * a.s.H);
  return launch(stream, dim3(blocks), mma_threads, mma_forward_shared(W), mma_forward_kernel<T, W, F>, (T *)out, lse,
                (const T *)q, (const T *)k, (const T *)v, a, wide);
}

template <typename T, int W>
int launch_forward(sl_cuda_stream stream, void *out, float *lse, const void *q, const void *k, const void *v,
                   const heads &a, bool wide) {
  if (!wide || !sl_plain_scores(&a.s)) return launch_form<T, W, mma_general>(stream, out, lse, q, k, v, a, wide);
  return a.drop.on ? launch_form<T, W, mma_dropout>(stream, out, lse, q, k, v, a, wide)
                   : launch_form<T, W, mma_lean>(stream, out, lse, q, k, v, a, wide);
}

} /* namespace */

int mma_forward(sl_cuda_stream stream, enum sl_number type, void *out, float *lse, const void *q, const void *k,
                const void *v, const sl_attention_shape *shape, const sl_dropout *dropout, const int64_t *step) {
  const heads a = heads_of(shape, dropout, step);
  const bool wide = mma_wide(shape, q, k, v, out), large = shape->D > 64;
  if (!mma_fits(&a.s)) return (int)cudaErrorInvalidValue;
  if (wgmma_takes(shape, wide)) return wgmma_forward(stream, type, out, lse, q, k, v, shape, dropout, step);
  if (type == SL_NUMBER_BF16)
    return large ? launch_forward<bf16, 128>(stream, out, lse, q, k, v, a, wide)
                 : launch_forward<bf16, 64>(stream, out, lse, q, k, v, a, wide);
  return large ? launch_forward<f16, 128>(stream, out, lse, q, k, v, a, wide)
               : launch_forward<f16, 64>(stream, out, lse, q, k, v, a, wide);
}

} /* namespace sl */
