/* Flash attention on the tensor cores of sm_90a, forward (wgmma.cuh); otherwise as flash_mma_forward.cu. A block
 * handles 128 queries of one head, 64 per warpgroup, which share the tiles of keys and values: read from the L2 cache
 * for 64 queries at a time these would take all that it gives. While a tile is processed, the next one is copied. */
#include "kernels/gpu/flash_mma_softmax.cuh"
#include "kernels/gpu/wgmma.cuh"

namespace sl {
namespace {

constexpr int threads = 256, queries = 128;

/* The queries, and two tiles of keys and values each, of which one is copied while the other is read. */
template <typename T, int W> struct tiles {
  static_assert(panel_slack + sizeof(T) * (queries + 4 * keys) * W == wgmma_forward_shared(W),
                "what a launch asks for");
  T *x;

  __device__ panel_tile<T, queries, W> Q() const {
    return {x};
  }
  __device__ panel_tile<T, keys, W> K(int at) const {
    return {x + (queries + 2 * at * keys) * W};
  }
  __device__ panel_tile<T, keys, W> V(int at) const {
    return {x + (queries + (2 * at + 1) * keys) * W};
  }
};

/* c = Q K^T, for the 64 queries from `row` and a tile of keys. */
template <typename T, int W>
__device__ inline void dot(float (&c)[8][4], const panel_tile<T, queries, W> &Q, int row,
                           const panel_tile<T, keys, W> &K) {
  wgmma_begin();
#pragma unroll
  for (int d = 0; d < W; d += 16) wgmma<T, false>(c, Q.columns(row, d), K.columns(0, d), d > 0);
  wgmma_commit();
  wgmma_wait<0>();
}

/* r.out += P V, with the probabilities `c` rounded to T. */
template <typename T, int W>
__device__ inline void add_values(running<W> &r, const float (&c)[8][4], const panel_tile<T, keys, W> &V) {
  uint32_t x[4][4];
#pragma unroll
  for (int j = 0; j < 4; j++) as_left<T>(x[j], c[2 * j], c[2 * j + 1]);
  wgmma_begin();
#pragma unroll
  for (int j = 0; j < 4; j++) {
#pragma unroll
    for (int w = 0; w < W / 64; w++) wgmma<T, true>(part_of(r.out, w), x[j], V.rows(16 * j, w), true);
  }
  wgmma_commit();
  wgmma_wait<0>();
}

template <typename T, int W, mma_form F>
__global__ void __launch_bounds__(threads, F == mma_lean ? 2 : 1)
    wgmma_forward_kernel(T *out, float *lse, const T *q, const T *k, const T *v, heads a) {
#ifdef SL_WGMMA
  SL_DYNAMIC_SHARED(shared);
  const tiles<T, W> in = {first_panel<T>(shared)};
  const query_block mine(a, queries, blockIdx.x);
  const int t0 = mine.first, end = mine.keys_end(queries), window = window_of(a);
  const unsigned h = mine.h, b = mine.b, g = (unsigned)a.kv_of(h);
  const int warp_row = (int)threadIdx.x / 32 * 16, t = t0 + warp_row + (int)threadIdx.x % 32 / 4;
  const int column = (int)threadIdx.x % 4 * 2, all = (int)a.s.keys, D = (int)a.s.D;
  const int group_row = (int)same_in_warp(threadIdx.x / 128) * 64, own = t0 + group_row; /* of the warpgroup */
  const float unit = log2_e * a.scale();
  const T *const k0 = k + a.k_at(b, 0, g), *const v0 = v + a.v_at(b, 0, g);
  const auto bring = [&](int j, int at) {
    in.K(at).template fill_async<threads>(k0, (uint32_t)a.s.k_stride, j, all, D);
    in.V(at).template fill_async<threads>(v0, (uint32_t)a.s.v_stride, j, all, D);
  };
  running<W> r = {{nothing, nothing}, {0, 0}, {}};
  if (F != mma_lean) a.drop.begin();
  const int first = (int)a.first_key((size_t)t0) / keys * keys;
  in.Q().template fill_async<threads>(q + a.q_at(b, mine.origin, h), (uint32_t)a.s.q_stride, t0, mine.end, D);
  bring(first, 0);
  copy_commit();
  for (int j0 = first, at = 0; j0 < end; j0 += keys, at ^= 1) {
    copy_wait<0>();
    show_to_wgmma();
    __syncthreads(); /* this tile is complete, and no warpgroup reads the previous one any more */
    if (j0 + keys < end) bring(j0 + keys, at ^ 1);
    copy_commit();
    if (j0 >= own + 64) continue; /* later than all of this warpgroup's queries */
    uint32_t bits = 0;
    if (F == mma_dropout) bits = drawn(a, a.element(b, h, (size_t)t) + (uint64_t)(j0 + column));
    float c[8][4];
    dot(c, in.Q(), group_row, in.K(at));
    if (at_edge(own, 64, j0, keys, window)) hide(c, t, j0 + column, window);
    grow(r, c, unit);
    soften<F>(c, r, a, bits, unit);
    add_values(r, c, in.V(at));
  }
  copy_wait<0>();
  const query_block same(a, queries, anew(blockIdx.x));
  const unsigned thread = anew(threadIdx.x);
  finish<F>(out, lse, r, a, same, same.first + (int)(thread / 32 * 16 + thread % 32 / 4), unit);
#else
  no_wgmma();
#endif
}

template <typename T, int W>
int launch_forward(sl_cuda_stream stream, void *out, float *lse, const void *q, const void *k, const void *v,
                   const heads &a) {
  const dim3 grid(query_blocks(a.s, queries) * (unsigned)(a.s.B * a.s.H));
  const auto kernel = a.drop.on ? wgmma_forward_kernel<T, W, mma_dropout> : wgmma_forward_kernel<T, W, mma_lean>;
  return launch(stream, grid, threads, wgmma_forward_shared(W), kernel, (T *)out, lse, (const T *)q, (const T *)k,
                (const T *)v, a);
}

} /* namespace */

bool wgmma_takes(const sl_attention_shape *shape, bool wide) {
  return wide && sl_plain_scores(shape) && has_wgmma();
}

int wgmma_forward(sl_cuda_stream stream, enum sl_number type, void *out, float *lse, const void *q, const void *k,
                  const void *v, const sl_attention_shape *shape, const sl_dropout *dropout, const int64_t *step) {
  const heads a = heads_of(shape, dropout, step);
  const bool large = shape->D > 64;
  if (type == SL_NUMBER_BF16)
    return large ? launch_forward<bf16, 128>(stream, out, lse, q, k, v, a)
                 : launch_forward<bf16, 64>(stream, out, lse, q, k, v, a);
  return large ? launch_forward<f16, 128>(stream, out, lse, q, k, v, a)
               : launch_forward<f16, 64>(stream, out, lse, q, k, v, a);
}

} /* namespace sl */
