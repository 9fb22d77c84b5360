/* Flash attention on the tensor cores, backward (flash_mma.cuh, mma.cuh; the formulas are in
 * flash_attention_backward.c). There are two launches: dk and dv, where a block handles 64 keys of one key/value head
 * and iterates over the queries that attend to them, of all query heads or of a part of these, whose sums are then
 * added up; dq, where a block handles 64 queries. While a tile is processed, the next one is copied into shared memory.
 *
 * Each launch computes the probabilities and their gradients again, which makes seven products where
 * FlashAttention-2 has five: its dq is added up across blocks by atomics in fp32, whose order changes from run to
 * run, whereas here equal input gives equal bits. Adding in a fixed order would need a partial dq per tile of keys,
 * T / 64 times the queries in fp32, or blocks that wait for each other. */
#include "kernels/gpu/flash_mma_gradient.cuh"

namespace sl {
namespace {

template <int W> constexpr int across = mma_across(W);
/* The kernel of the keys has two sums. In its general form, which also handles every option of a model, registers
 * suffice for only half the rows. */
template <int W, mma_form F> constexpr int across_keys = F == mma_general ? mma_across(W) / 2 : mma_across(W);

/* c = the products of the 16 rows of `left` from row r with the N rows of `right`. */
template <typename T, int W, int N>
__device__ inline void products(float (&c)[N / 8][4], const half_tile<T, W> &left, int r,
                                const half_tile<T, W> &right) {
#pragma unroll
  for (int i = 0; i < N / 8; i++) c[i][0] = c[i][1] = c[i][2] = c[i][3] = 0;
#pragma unroll
  for (int d = 0; d < W; d += 16) {
    uint32_t x[4], y[4];
    left.as_a(x, r, d);
#pragma unroll
    for (int j = 0; j < N; j += 16) {
      right.as_b(y, j, d);
      mma<T>(c[j / 8], x, y[0], y[1]);
      mma<T>(c[j / 8 + 1], x, y[2], y[3]);
    }
  }
}

/* sum (16,W) += p (16,N), rounded, times the N rows of `rows`. */
template <typename T, int W, int N>
__device__ inline void add_products(float (&sum)[W / 8][4], const float (&p)[N / 8][4], const half_tile<T, W> &rows) {
#pragma unroll
  for (int j = 0; j < N; j += 16) {
    uint32_t x[4], y[4];
    as_left<T>(x, p[j / 8], p[j / 8 + 1]);
#pragma unroll
    for (int d = 0; d < W; d += 16) {
      rows.as_b_rows(y, j, d);
      mma<T>(sum[d / 8], x, y[0], y[1]);
      mma<T>(sum[d / 8 + 1], x, y[2], y[3]);
    }
  }
}

template <typename T, int W, mma_form F>
__global__ void __launch_bounds__(mma_threads)
    mma_keys_kernel(T *dk, T *dv, const T *dq, const T *dout, const T *q, const T *k, const T *v, const float *lse,
                    heads a, head_parts parts, bool wide) {
  SL_DYNAMIC_SHARED(shared);
  constexpr int N = across_keys<W, F>;
  __shared__ pack<kept_of_query, 2> kept[2][N / 2];
  const half_tile<T, W> K = {(T *)shared}, V = {K.row(mma_rows)}, Q = {V.row(mma_rows)}, dO = {Q.row(2 * N)};
  const keys_block mine(a, parts, blockIdx.x);
  const int j0 = mine.first, all = (int)a.s.keys;
  const unsigned b = mine.b, g = mine.g;
  const int warp_row = (int)threadIdx.x / 32 * 16, key = j0 + warp_row + (int)threadIdx.x % 32 / 4;
  const int column = (int)threadIdx.x % 4 * 2;
  const scores z = scores_of<F>(a);
  float sum_k[W / 8][4] = {}, sum_v[W / 8][4] = {};
  if (F != mma_lean) a.drop.begin();
  fill<F, mma_rows>(K, k + a.k_at(b, 0, g), (uint32_t)a.s.k_stride, j0, all, a, wide);
  fill<F, mma_rows>(V, v + a.v_at(b, 0, g), (uint32_t)a.s.v_stride, j0, all, a, wide);
  for (unsigned i = mine.run; i < mine.end; i++) {
    const unsigned h = a.head_of(i);
    const query_run run = a.run_seeing(i, j0, mma_rows);
    if (run.first >= run.end) continue;
    const T *const q0 = q + a.q_at(b, run.origin, h), *const d0 = dout + a.out_at(b, run.origin, h);
    const float slope = z.plain ? 0 : a.slope(h);
    const kept_of_head<T> numbers = kept_in(lse, dq, a, b, h, run.origin);
    /* starts the copy of the tile of queries from position t into half `at` of the buffer; the queries' numbers stay in
     * registers until they may be written */
    const auto bring = [&](int t, int at) {
      fill<F, N>(half_tile<T, W>{Q.row(at * N)}, q0, (uint32_t)a.s.q_stride, t, run.end, a, wide);
      fill<F, N>(half_tile<T, W>{dO.row(at * N)}, d0, (uint32_t)a.s.out_stride, t, run.end, a, wide);
      return threadIdx.x < N ? numbers.of(t + (int)threadIdx.x, run.end, z.scale, a) : kept_of_query{0, 0};
    };
    const auto note = [&](kept_of_query x, int at) {
      if (threadIdx.x < N) kept[at][threadIdx.x / 2].x[threadIdx.x % 2] = x;
    };
    __syncthreads(); /* other threads may still read the last run's tiles */
    note(bring(run.first, 0), 0);
    copy_commit();
    for (int t0 = run.first, at = 0; t0 < run.end; t0 += N, at ^= 1) {
      kept_of_query next = {0, 0};
      copy_wait<0>();
      __syncthreads(); /* this tile is complete, and no thread reads the previous one any more */
      if (t0 + N < run.end) next = bring(t0 + N, at ^ 1);
      copy_commit();
      const half_tile<T, W> Qt = {Q.row(at * N)}, dOt = {dO.row(at * N)};
      uint32_t bits = 0;
      if (drops<F>(a)) bits = drawn<true, N>(a, a.element(b, h, (size_t)(t0 + column)) + (uint64_t)key);
      float p[N / 8][4], ds[N / 8][4]; /* keys by queries */
      products<T, W, N>(p, K, warp_row, Qt);
      products<T, W, N>(ds, V, warp_row, dOt);
      if (at_edge(t0, N, j0, mma_rows, z.window)) hide<true, N>(p, key, t0 + column, z.window);
      keys_scores<F, N>(p, ds, a, z, slope, t0 + column, key, kept[at][0].x + column, bits);
      add_products<T, W, N>(sum_v, p, dOt);
      add_products<T, W, N>(sum_k, ds, Qt);
      note(next, at ^ 1);
    }
  }
  copy_commit(), copy_wait<0>(); /* of keys that no query here attends to, nothing has waited for the copies */
  put_keys<F, T, W>(dk, dv, parts, sum_k, sum_v, a);
}

template <typename T, int W, mma_form F>
__global__ void __launch_bounds__(mma_threads, F == mma_lean ? 3 : 2)
    mma_queries_kernel(T *dq, const T *dout, const T *q, const T *k, const T *v, const float *lse, heads a, bool wide) {
  SL_DYNAMIC_SHARED(shared);
  constexpr int N = across<W>;
  const half_tile<T, W> Q = {(T *)shared}, dO = {Q.row(mma_rows)}, K = {dO.row(mma_rows)}, V = {K.row(2 * N)};
  const query_block mine(a, mma_rows, blockIdx.x);
  const int t0 = mine.first, end = mine.keys_end(mma_rows), all = (int)a.s.keys;
  const size_t h = mine.h, b = mine.b, g = a.kv_of(h);
  const int warp_row = (int)threadIdx.x / 32 * 16, t = t0 + warp_row + (int)threadIdx.x % 32 / 4;
  const int column = (int)threadIdx.x % 4 * 2;
  const scores z = scores_of<F>(a);
  const float slope = z.plain ? 0 : a.slope(h);
  float sum[W / 8][4] = {};
  if (F != mma_lean) a.drop.begin();
  const T *const k0 = k + a.k_at(b, 0, g), *const v0 = v + a.v_at(b, 0, g);
  const auto bring = [&](int j, int at) {
    fill<F, N>(half_tile<T, W>{K.row(at * N)}, k0, (uint32_t)a.s.k_stride, j, all, a, wide);
    fill<F, N>(half_tile<T, W>{V.row(at * N)}, v0, (uint32_t)a.s.v_stride, j, all, a, wide);
  };
  int j0 = (int)a.first_key((size_t)t0) / N * N, at = 0;
  fill<F, mma_rows>(Q, q + a.q_at(b, mine.origin, h), (uint32_t)a.s.q_stride, t0, mine.end, a, wide);
  fill<F, mma_rows>(dO, dout + a.out_at(b, mine.origin, h), (uint32_t)a.s.out_stride, t0, mine.end, a, wide);
  bring(j0, 0);
  copy_commit();
  const kept_of_head<T> numbers = kept_in<T>(lse, dq, a, b, h, mine.origin);
  const kept_of_query queries[2] = {numbers.of(t, mine.end, z.scale, a), numbers.of(t + 8, mine.end, z.scale, a)};
  for (; j0 < end; j0 += N, at ^= 1) {
    copy_wait<0>();
    __syncthreads(); /* this tile is complete, and no thread reads the previous one any more */
    if (j0 + N < end) bring(j0 + N, at ^ 1);
    copy_commit();
    const half_tile<T, W> Kt = {K.row(at * N)}, Vt = {V.row(at * N)};
    uint32_t bits = 0;
    if (drops<F>(a)) bits = drawn<false, N>(a, a.element(b, h, (size_t)t) + (uint64_t)(j0 + column));
    float p[N / 8][4], ds[N / 8][4]; /* queries by keys */
    products<T, W, N>(p, Q, warp_row, Kt);
    products<T, W, N>(ds, dO, warp_row, Vt);
    if (at_edge(t0, mma_rows, j0, N, z.window)) hide<false, N>(p, t, j0 + column, z.window);
    queries_scores<F, N>(p, ds, a, z, slope, t, j0 + column, queries, bits);
    add_products<T, W, N>(sum, ds, Kt);
  }
  /* a query's dots were read by its own four threads before the first barrier, so its row may be overwritten */
  const query_block same(a, mma_rows, anew(blockIdx.x));
  put_rows<F, T, W>(dq + a.q_at(same.b, same.origin, same.h), a.s.q_stride, sum, t, same.end, a);
}

template <typename T, int W, mma_form F>
int launch_form(sl_cuda_stream stream, void *dq, void *dk, void *dv, const void *dout, const void *q, const void *k,
                const void *v, const float *lse, const heads &a, const head_parts &parts, bool wide) {
  const size_t bytes = mma_backward_shared(W);
  const unsigned sequences = (unsigned)a.s.B, keys = blocks_of(a.s.keys, mma_rows) * (unsigned)a.s.KV;
  int error = launch(stream, dim3(keys * sequences * (unsigned)parts.count), mma_threads, bytes,
                     mma_keys_kernel<T, W, F>, (T *)dk, (T *)dv, (const T *)dq, (const T *)dout, (const T *)q,
                     (const T *)k, (const T *)v, lse, a, parts, wide);
  if (!error) error = sum_parts<T>(stream, dk, dv, parts, a, wide);
  if (error) return error;
  return launch(stream, dim3(query_blocks(a.s, mma_rows) * (unsigned)a.s.H * sequences), mma_threads, bytes,
                mma_queries_kernel<T, W, F>, (T *)dq, (const T *)dout, (const T *)q, (const T *)k, (const T *)v, lse, a,
                wide);
}

template <typename T, int W>
int launch_backward(sl_cuda_stream stream, void *dq, void *dk, void *dv, const void *dout, const void *q, const void *k,
                    const void *v, const float *lse, const heads &a, const head_parts &parts, bool wide) {
  if (!wide || !sl_plain_scores(&a.s))
    return launch_form<T, W, mma_general>(stream, dq, dk, dv, dout, q, k, v, lse, a, parts, wide);
  return a.drop.on ? launch_form<T, W, mma_dropout>(stream, dq, dk, dv, dout, q, k, v, lse, a, parts, wide)
                   : launch_form<T, W, mma_lean>(stream, dq, dk, dv, dout, q, k, v, lse, a, parts, wide);
}

} /* namespace */

int mma_backward(sl_cuda_stream stream, enum sl_number type, void *dq, void *dk, void *dv, const void *dout,
                 const void *q, const void *k, const void *v, const float *lse, const sl_attention_shape *shape,
                 const sl_dropout *dropout, const int64_t *step, int count, float *sums) {
  const head_parts parts = {count, sums};
  const heads a = heads_of(shape, dropout, step);
  const bool wide = mma_wide(shape, q, k, v, dout), large = shape->D > 64;
  if (!mma_fits(&a.s)) return (int)cudaErrorInvalidValue;
  if (wgmma_takes(shape, wide))
    return wgmma_backward(stream, type, dq, dk, dv, dout, q, k, v, lse, shape, dropout, step, count, sums);
  if (type == SL_NUMBER_BF16)
    return large ? launch_backward<bf16, 128>(stream, dq, dk, dv, dout, q, k, v, lse, a, parts, wide)
                 : launch_backward<bf16, 64>(stream, dq, dk, dv, dout, q, k, v, lse, a, parts, wide);
  return large ? launch_backward<f16, 128>(stream, dq, dk, dv, dout, q, k, v, lse, a, parts, wide)
               : launch_backward<f16, 64>(stream, dq, dk, dv, dout, q, k, v, lse, a, parts, wide);
}

} /* namespace sl */
