/* Forward of the norms of rows on the GPU (kernels/gpu/norm.cuh). */
#pragma once

#include "kernels/gpu/norm_taken_in.cuh"

#include <math.h>

namespace sl {
namespace {

constexpr int norm_warps = 4; /* of a block */

/* Rows of any length: a lane writes its elements of x before it reads them again. */
template <typename T, int V, bool MEAN>
__global__ void __launch_bounds__(32 * norm_warps)
    norm_forward_kernel(T *out, float *mean, float *rstd, T *x, const T *weight, const T *bias, size_t rows, size_t C,
                        float eps, float one, norm_taken_in<T> from) {
  const size_t r = (size_t)blockIdx.x * norm_warps + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (r >= rows) return; /* a whole warp */
  T *in = x + r * C;
  float m = 0, sum = 0, v[V], w[V], b[V];
  from.drop.begin();
  for (size_t c = lane * V; from.residual && c < C; c += 32 * V) {
    from.sum(v, r, c, C);
    put_v(in + c, v);
  }
  if (MEAN) {
    for (size_t c = lane * V; c < C; c += 32 * V) {
      load_v(v, in + c);
#pragma unroll
      for (int i = 0; i < V; i++) sum += v[i];
    }
    m = (float)(warp_sum((double)sum) / (double)C);
    sum = 0;
  }
  for (size_t c = lane * V; c < C; c += 32 * V) {
    load_v(v, in + c);
#pragma unroll
    for (int i = 0; i < V; i++) sum += (v[i] - m) * (v[i] - m);
  }
  const float s = (float)(1 / sqrt(warp_sum((double)sum) / (double)C + (double)eps));
  for (size_t c = lane * V; c < C; c += 32 * V) {
    load_v(v, in + c);
    load_v(w, weight + c);
    if (MEAN && bias) load_v(b, bias + c);
#pragma unroll
    for (int i = 0; i < V; i++) v[i] = (v[i] - m) * s * (w[i] + one) + (MEAN && bias ? b[i] : 0);
    put_v(out + r * C + c, v);
  }
  if (lane > 0) return;
  if (MEAN) mean[r] = m;
  rstd[r] = s;
}

/* Where vector k of a lane starts in a row that WARPS warps share: lane l has vectors l, l + 32 WARPS, ... */
template <int WARPS, int V> __device__ inline size_t norm_column(int k) {
  return ((size_t)(32 * WARPS * k) + threadIdx.x % (32 * WARPS)) * V;
}

/* How many vectors' loads go out together. Between loads and what follows there are writes that may have their
 * addresses, as far as the compiler knows: so a lane that reads, computes and writes one vector after the other waits
 * for memory as often as it has vectors. Rows of floats leave fewer registers. */
template <typename T> constexpr int norm_group = sizeof(T) == 4 ? 2 : 4;

/* Reads K vectors of a row from the lane's `first` on. */
template <int WARPS, int K, typename T>
__device__ inline void norm_read(norm_vector (&in)[K], const T *row, size_t C, int first = 0) {
#pragma unroll
  for (int k = 0; k < K; k++) {
    const size_t c = norm_column<WARPS, wide<T>>(first + k);
    if (c < C) in[k] = norm_load(row + c);
  }
}

/* Makes row r of what is taken in, in registers and in x. */
template <int WARPS, int K, typename T>
__device__ inline void norm_take_in(norm_vector (&in)[K], T *x, const norm_taken_in<T> &from, size_t r, size_t C) {
  constexpr int G = norm_group<T>;
#pragma unroll
  for (int first = 0; first < K; first += G) {
    typename norm_taken_in<T>::parts parts[G];
#pragma unroll
    for (int k = 0; k < G; k++) {
      const size_t c = norm_column<WARPS, wide<T>>(first + k);
      if (c < C) parts[k] = from.read(r, c, C);
    }
#pragma unroll
    for (int k = 0; k < G; k++) {
      const size_t c = norm_column<WARPS, wide<T>>(first + k);
      if (c >= C) continue;
      in[first + k] = from.sum(parts[k], r, c);
      norm_store(x + r * C + c, in[first + k]);
    }
  }
}

/* The sum over a row of f(x), x being in its registers. */
template <typename T, int WARPS, int K, typename F>
__device__ inline double norm_row_sum(norm_vector (&row)[K], size_t C, F f) {
  float sum = 0;
#pragma unroll
  for (int k = 0; k < K; k++) {
    if (norm_column<WARPS, wide<T>>(k) >= C) continue;
#pragma unroll
    for (int i = 0; i < wide<T>; i++) sum += f(norm_get<T>(row[k], i));
  }
  norm_forget(row);
  return WARPS == 1 ? warp_sum((double)sum) : block_sum((double)sum);
}

/* out = a row, with mean m and inverse deviation s, scaled by its weights. */
template <bool MEAN, int WARPS, int K, typename T>
__device__ inline void norm_scale(T *out, const norm_vector (&in)[K], const T *weight, const T *bias, size_t C, float m,
                                  float s, float one) {
  constexpr int V = wide<T>, G = norm_group<T>;
#pragma unroll
  for (int first = 0; first < K; first += G) {
    norm_vector w[G], b[G];
    norm_read<WARPS>(w, weight, C, first);
    if (MEAN && bias) norm_read<WARPS>(b, bias, C, first);
#pragma unroll
    for (int k = 0; k < G; k++) {
      const size_t c = norm_column<WARPS, V>(first + k);
      float v[V];
      if (c >= C) continue;
#pragma unroll
      for (int i = 0; i < V; i++)
        v[i] = (norm_get<T>(in[first + k], i) - m) * s * (norm_get<T>(w[k], i) + one) +
               (MEAN && bias ? norm_get<T>(b[k], i) : 0);
      norm_store(out + c, norm_rounded<T>(v));
    }
  }
}

/* Blocks that a multiprocessor is to hold of those whose warps have at most COLUMNS of a row: as many as fit without
 * spilling registers. */
template <typename T, bool SUM, int COLUMNS> constexpr int norm_blocks_at_once() {
  if (COLUMNS <= 1024) return SUM ? 5 : 7;
  return SUM && sizeof(T) == 4 ? 3 : 4;
}

/* Rows of at most COLUMNS, read once, each by WARPS warps: one, or all of a block. SUM: they are made here. A lane's
 * registers are what is in flight, so that a row of many warps leaves as much of it as many rows of one. */
template <typename T, bool MEAN, bool SUM, int COLUMNS, int WARPS>
__global__ void __launch_bounds__(32 * norm_warps, (norm_blocks_at_once<T, SUM, COLUMNS / WARPS>()))
    norm_forward_once_kernel(T *out, float *mean, float *rstd, T *x, const T *weight, const T *bias, size_t rows,
                             size_t C, float eps, float one, norm_taken_in<T> from) {
  constexpr int K = COLUMNS / (32 * WARPS * wide<T>);
  const size_t r = (size_t)blockIdx.x * (norm_warps / WARPS) + threadIdx.x / (32 * WARPS);
  if (r >= rows) return; /* a whole warp, and of rows that a block shares none */
  norm_vector in[K];
  if (SUM) {
    from.drop.begin();
    norm_take_in<WARPS>(in, x, from, r, C);
  } else {
    norm_read<WARPS>(in, x + r * C, C);
  }
  const float m = MEAN ? (float)(norm_row_sum<T, WARPS>(in, C, [](float v) { return v; }) / (double)C) : 0;
  const double squares = norm_row_sum<T, WARPS>(in, C, [m](float v) { return (v - m) * (v - m); });
  const float s = (float)(1 / sqrt(squares / (double)C + (double)eps));
  norm_scale<MEAN, WARPS>(out + r * C, in, weight, bias, C, m, s, one);
  if (threadIdx.x % (32 * WARPS) > 0) return;
  if (MEAN) mean[r] = m;
  rstd[r] = s;
}

/* The arguments of a forward. */
template <typename T> struct norm_input {
  T *out;
  float *mean, *rstd;
  T *x;
  const T *weight, *bias;
  size_t rows, C;
  float eps, one;
  norm_taken_in<T> from;
};

/* `each`: rows of a block. */
template <typename T, typename F>
int launch_forward(sl_cuda_stream stream, F kernel, const norm_input<T> &n, size_t each = norm_warps) {
  return launch(stream, dim3(blocks_of(n.rows, each)), 32 * norm_warps, 0, kernel, n.out, n.mean, n.rstd, n.x, n.weight,
                n.bias, n.rows, n.C, n.eps, n.one, n.from);
}

template <bool MEAN, int COLUMNS, int WARPS, typename T>
int norm_forward_once(sl_cuda_stream stream, const norm_input<T> &n) {
  return launch_forward(stream,
                        n.from.residual ? norm_forward_once_kernel<T, MEAN, true, COLUMNS, WARPS>
                                        : norm_forward_once_kernel<T, MEAN, false, COLUMNS, WARPS>,
                        n, norm_warps / WARPS);
}

template <bool MEAN>
int norm_forward(sl_cuda_stream stream, enum sl_number type, void *out, float *mean, float *rstd, void *x,
                 const void *weight, const void *bias, size_t rows, size_t C, float eps, int from_one,
                 const struct sl_cuda_taken_in *taken_in) {
  return by_type(type, [&](auto zero) {
    using T = decltype(zero);
    const norm_input<T> n = {(T *)out,
                             mean,
                             rstd,
                             (T *)x,
                             (const T *)weight,
                             (const T *)bias,
                             rows,
                             C,
                             eps,
                             from_one ? 1.0F : 0.0F,
                             taken_in_of<T>(taken_in)};
    const bool fast =
        C % wide<T> == 0 && aligned(out, x, weight, bias) && aligned(n.from.residual, n.from.branch, n.from.bias);
    if (!fast) return launch_forward(stream, norm_forward_kernel<T, 1, MEAN>, n);
    if (C <= 1024) return norm_forward_once<MEAN, 1024, 1>(stream, n);
    if (C <= 2048) return norm_forward_once<MEAN, 2048, 1>(stream, n);
    if (C <= 4096) return norm_forward_once<MEAN, 4096, norm_warps>(stream, n);
    if (C <= 8192) return norm_forward_once<MEAN, 8192, norm_warps>(stream, n);
    return launch_forward(stream, norm_forward_kernel<T, wide<T>, MEAN>, n);
  });
}

} /* namespace */
} /* namespace sl */
