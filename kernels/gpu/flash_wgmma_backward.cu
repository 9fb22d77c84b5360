/* Flash attention on the tensor cores of sm_90a, backward (wgmma.cuh); otherwise as flash_mma_backward.cu: a block
 * of one warpgroup handles 64 keys of a key/value head, or 64 queries, and iterates over the others in tiles of 64;
 * while a tile is processed, the next one is copied. */
#include "kernels/gpu/flash_mma_gradient.cuh"
#include "kernels/gpu/wgmma.cuh"

namespace sl {
namespace {

constexpr int threads = 128, rows = 64;
template <typename T, int W> using tile = panel_tile<T, rows, W>;

/* Two tiles that stay, and two of the others, of which one is copied while the other is read. */
template <typename T, int W> struct tiles {
  static_assert(panel_slack + sizeof(T) * 6 * rows * W == wgmma_backward_shared(W), "what a launch asks for");
  T *x;

  __device__ tile<T, W> mine(int which) const {
    return {x + which * rows * W};
  }
  __device__ tile<T, W> other(int at, int which) const {
    return {x + (2 + 2 * at + which) * rows * W};
  }
};

/* c = the products of the rows of `left` with the rows of `right`. Enqueues only. */
template <typename T, int W>
__device__ inline void products(float (&c)[8][4], const tile<T, W> &left, const tile<T, W> &right) {
#pragma unroll
  for (int d = 0; d < W; d += 16) wgmma<T, false>(c, left.columns(0, d), right.columns(0, d), d > 0);
}

template <typename T> __device__ inline void round_to(uint32_t (&x)[4][4], const float (&p)[8][4]) {
#pragma unroll
  for (int j = 0; j < 4; j++) as_left<T>(x[j], p[2 * j], p[2 * j + 1]);
}

/* sum (64,W) += x (64,64) times the rows of `right`. Enqueues only. */
template <typename T, int W>
__device__ inline void add_products(float (&sum)[W / 8][4], const uint32_t (&x)[4][4], const tile<T, W> &right) {
#pragma unroll
  for (int j = 0; j < 4; j++) {
#pragma unroll
    for (int w = 0; w < W / 64; w++) wgmma<T, true>(part_of(sum, w), x[j], right.rows(16 * j, w), true);
  }
}

/* As many blocks of a multiprocessor as registers suffice for. */
template <int W, mma_form F> constexpr int blocks_of_keys = W > 64 ? (F == mma_lean ? 2 : 1) : (F == mma_lean ? 3 : 2);

template <int W, mma_form F> constexpr int blocks_of_queries = W > 64 ? 2 : (F == mma_lean ? 4 : 3);

/* Where the scores of a tile lie: its first query and key, a thread's first of each, the head and the sequence. */
struct tile_place {
  int t0, j0, key, column;
  unsigned h, b;
};

/* Adds to the gradients of 64 keys and their values what the tile `at` of queries gives; `meanwhile` runs beside the
 * first products. */
template <typename T, int W, mma_form F, typename M>
__device__ inline void keys_tile(float (&sum_k)[W / 8][4], float (&sum_v)[W / 8][4], const tiles<T, W> &in, int at,
                                 const tile_place &s, const kept_of_query *kept, const heads &a, const scores &z,
                                 const M &meanwhile) {
  const tile<T, W> Q = in.other(at, 0), dO = in.other(at, 1);
  uint32_t bits = 0; /* drawn while registers are free */
  if (F == mma_dropout) bits = drawn<true, rows>(a, a.element(s.b, s.h, (size_t)(s.t0 + s.column)) + (uint64_t)s.key);
  float p[8][4], ds[8][4]; /* keys by queries */
  wgmma_begin();
  products(p, in.mine(0), Q);
  products(ds, in.mine(1), dO);
  wgmma_commit();
  uint32_t x[4][4], y[4][4];
  meanwhile();
  wgmma_wait<0>();
  if (at_edge(s.t0, rows, s.j0, rows, z.window)) hide<true, rows>(p, s.key, s.t0 + s.column, z.window);
  keys_scores<F, rows>(p, ds, a, z, 0, s.t0 + s.column, s.key, kept + s.column, bits);
  round_to<T>(x, p);
  round_to<T>(y, ds);
  wgmma_begin();
  add_products<T, W>(sum_v, x, dO);
  add_products<T, W>(sum_k, y, Q);
  wgmma_commit();
  wgmma_wait<0>();
}

template <typename T, int W, mma_form F>
__global__ void __launch_bounds__(threads, blocks_of_keys<W, F>)
    wgmma_keys_kernel(T *dk, T *dv, const T *dq, const T *dout, const T *q, const T *k, const T *v, const float *lse,
                      heads a, head_parts parts) {
#ifdef SL_WGMMA
  SL_DYNAMIC_SHARED(shared);
  __shared__ pack<kept_of_query, 2> kept[2][rows / 2];
  const tiles<T, W> in = {first_panel<T>(shared)};
  const keys_block mine(a, parts, blockIdx.x);
  const int j0 = mine.first;
  const int key = j0 + (int)threadIdx.x / 32 * 16 + (int)threadIdx.x % 32 / 4, column = (int)threadIdx.x % 4 * 2;
  const int all = (int)a.s.keys, D = (int)a.s.D;
  const scores z = scores_of<F>(a);
  float sum_k[W / 8][4] = {}, sum_v[W / 8][4] = {};
  if (F != mma_lean) a.drop.begin();
  in.mine(0).template fill_async<threads>(k + a.k_at(mine.b, 0, mine.g), (uint32_t)a.s.k_stride, j0, all, D);
  in.mine(1).template fill_async<threads>(v + a.v_at(mine.b, 0, mine.g), (uint32_t)a.s.v_stride, j0, all, D);
  for (unsigned i = mine.run; i < mine.end; i++) {
    const unsigned h = a.head_of(i), b = F == mma_lean || W > 64 ? anew(mine.b) : mine.b;
    const query_run run = a.run_seeing(i, j0, rows);
    if (run.first >= run.end) continue;
    const T *const q0 = q + a.q_at(b, run.origin, h), *const d0 = dout + a.out_at(b, run.origin, h);
    const kept_of_head<T> numbers = kept_in(lse, dq, a, b, h, run.origin);
    /* starts the copy of the tile of queries from position t; the queries' numbers stay in registers until they may be
     * written */
    const auto bring = [&](int t, int at) {
      in.other(at, 0).template fill_async<threads>(q0, (uint32_t)a.s.q_stride, t, run.end, D);
      in.other(at, 1).template fill_async<threads>(d0, (uint32_t)a.s.out_stride, t, run.end, D);
      return threadIdx.x < rows ? numbers.of(t + (int)threadIdx.x, run.end, z.scale, a) : kept_of_query{0, 0};
    };
    const auto note = [&](kept_of_query x, int at) {
      if (threadIdx.x < rows) kept[at][threadIdx.x / 2].x[threadIdx.x % 2] = x;
    };
    __syncthreads(); /* other threads may still read the last run's tiles */
    note(bring((int)anew((unsigned)run.first), 0), 0);
    copy_commit();
    for (int t0 = run.first, at = 0; t0 < run.end; t0 += rows, at ^= 1) {
      kept_of_query next = {0, 0};
      copy_wait<0>();
      show_to_wgmma();
      __syncthreads(); /* this tile is complete, and no thread reads the previous one any more */
      if (t0 + rows < run.end) next = bring(t0 + rows, at ^ 1);
      copy_commit();
      keys_tile<T, W, F>(sum_k, sum_v, in, at, {t0, j0, key, column, h, b}, kept[at][0].x, a, z,
                         [&] { note(next, at ^ 1); }); /* which nobody has read since the barrier */
    }
  }
  copy_commit(), copy_wait<0>(); /* of keys that no query here attends to, nothing has waited for the copies */
  put_keys<F, T, W>(dk, dv, parts, sum_k, sum_v, a);
#else
  no_wgmma();
#endif
}

template <typename T, int W, mma_form F>
__global__ void __launch_bounds__(threads, blocks_of_queries<W, F>)
    wgmma_queries_kernel(T *dq, const T *dout, const T *q, const T *k, const T *v, const float *lse, heads a) {
#ifdef SL_WGMMA
  SL_DYNAMIC_SHARED(shared);
  const tiles<T, W> in = {first_panel<T>(shared)};
  const query_block mine(a, rows, blockIdx.x);
  const int t0 = mine.first, end = mine.keys_end(rows);
  const size_t h = mine.h, b = mine.b, g = a.kv_of(h);
  const int t = t0 + (int)threadIdx.x / 32 * 16 + (int)threadIdx.x % 32 / 4, column = (int)threadIdx.x % 4 * 2;
  const int all = (int)a.s.keys, D = (int)a.s.D;
  const scores z = scores_of<F>(a);
  float sum[W / 8][4] = {};
  if (F != mma_lean) a.drop.begin();
  const T *const k0 = k + a.k_at(b, 0, g), *const v0 = v + a.v_at(b, 0, g);
  const auto bring = [&](int j, int at) {
    in.other(at, 0).template fill_async<threads>(k0, (uint32_t)a.s.k_stride, j, all, D);
    in.other(at, 1).template fill_async<threads>(v0, (uint32_t)a.s.v_stride, j, all, D);
  };
  int j0 = (int)a.first_key((size_t)t0) / rows * rows, at = 0;
  in.mine(0).template fill_async<threads>(q + a.q_at(b, mine.origin, h), (uint32_t)a.s.q_stride, t0, mine.end, D);
  in.mine(1).template fill_async<threads>(dout + a.out_at(b, mine.origin, h), (uint32_t)a.s.out_stride, t0, mine.end,
                                          D);
  bring(j0, 0);
  copy_commit();
  const kept_of_head<T> numbers = kept_in<T>(lse, dq, a, b, h, mine.origin);
  const kept_of_query queries[2] = {numbers.of(t, mine.end, z.scale, a), numbers.of(t + 8, mine.end, z.scale, a)};
  for (; j0 < end; j0 += rows, at ^= 1) {
    copy_wait<0>();
    show_to_wgmma();
    __syncthreads(); /* this tile is complete, and no thread reads the previous one any more */
    if (j0 + rows < end) bring(j0 + rows, at ^ 1);
    copy_commit();
    const tile<T, W> K = in.other(at, 0), V = in.other(at, 1);
    uint32_t bits = 0; /* drawn while registers are free */
    if (F == mma_dropout) bits = drawn<false, rows>(a, a.element(b, h, (size_t)t) + (uint64_t)(j0 + column));
    float p[8][4], ds[8][4]; /* queries by keys */
    wgmma_begin();
    products(p, in.mine(0), K);
    products(ds, in.mine(1), V);
    wgmma_commit();
    uint32_t x[4][4];
    wgmma_wait<0>();
    if (at_edge(t0, rows, j0, rows, z.window)) hide<false, rows>(p, t, j0 + column, z.window);
    queries_scores<F, rows>(p, ds, a, z, 0, t, j0 + column, queries, bits);
    round_to<T>(x, ds);
    wgmma_begin();
    add_products<T, W>(sum, x, K);
    wgmma_commit();
    wgmma_wait<0>();
  }
  /* a query's dots were read by its own four threads before the first barrier, so its row may be overwritten */
  put_rows<F, T, W>(dq + a.q_at(b, mine.origin, h), a.s.q_stride, sum, t, mine.end, a);
#else
  no_wgmma();
#endif
}

template <typename T, int W, mma_form F>
int launch_form(sl_cuda_stream stream, void *dq, void *dk, void *dv, const void *dout, const void *q, const void *k,
                const void *v, const float *lse, const heads &a, const head_parts &parts) {
  const unsigned sequences = (unsigned)a.s.B, keys = blocks_of(a.s.keys, rows) * (unsigned)a.s.KV;
  int error = launch(stream, dim3(keys * sequences * (unsigned)parts.count), threads, wgmma_backward_shared(W),
                     wgmma_keys_kernel<T, W, F>, (T *)dk, (T *)dv, (const T *)dq, (const T *)dout, (const T *)q,
                     (const T *)k, (const T *)v, lse, a, parts);
  if (!error) error = sum_parts<T>(stream, dk, dv, parts, a, true);
  if (error) return error;
  return launch(stream, dim3(query_blocks(a.s, rows) * (unsigned)a.s.H * sequences), threads, wgmma_backward_shared(W),
                wgmma_queries_kernel<T, W, F>, (T *)dq, (const T *)dout, (const T *)q, (const T *)k, (const T *)v, lse,
                a);
}

template <typename T, int W>
int launch_backward(sl_cuda_stream stream, void *dq, void *dk, void *dv, const void *dout, const void *q, const void *k,
                    const void *v, const float *lse, const heads &a, const head_parts &parts) {
  return a.drop.on ? launch_form<T, W, mma_dropout>(stream, dq, dk, dv, dout, q, k, v, lse, a, parts)
                   : launch_form<T, W, mma_lean>(stream, dq, dk, dv, dout, q, k, v, lse, a, parts);
}

} /* namespace */

int wgmma_backward(sl_cuda_stream stream, enum sl_number type, void *dq, void *dk, void *dv, const void *dout,
                   const void *q, const void *k, const void *v, const float *lse, const sl_attention_shape *shape,
                   const sl_dropout *dropout, const int64_t *step, int count, float *sums) {
  const head_parts parts = {count, sums};
  const heads a = heads_of(shape, dropout, step);
  const bool large = shape->D > 64;
  if (type == SL_NUMBER_BF16)
    return large ? launch_backward<bf16, 128>(stream, dq, dk, dv, dout, q, k, v, lse, a, parts)
                 : launch_backward<bf16, 64>(stream, dq, dk, dv, dout, q, k, v, lse, a, parts);
  return large ? launch_backward<f16, 128>(stream, dq, dk, dv, dout, q, k, v, lse, a, parts)
               : launch_backward<f16, 64>(stream, dq, dk, dv, dout, q, k, v, lse, a, parts);
}

} /* namespace sl */
