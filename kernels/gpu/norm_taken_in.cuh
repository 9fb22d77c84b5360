/* What the norms on the GPU take in (struct sl_cuda_taken_in), row by row: the addition to the residual stream before
 * them, and the dropout behind their backward. */
#pragma once

#include "kernels/gpu/device.cuh"

namespace sl {
namespace {

template <typename T, int V> __device__ inline pack<T, V> norm_rounded(const float (&x)[V]) {
  pack<T, V> out;
#pragma unroll
  for (int i = 0; i < V; i++) out.x[i] = put<T>(x[i]);
  return out;
}

/* struct sl_cuda_taken_in; where nothing is taken in, pointers are NULL. */
template <typename T> struct norm_taken_in {
  const T *residual, *branch, *bias;
  T *dbranch;
  mask drop;

  /* x = the elements [c, c + V) of row r of the residual stream, not rounded yet. */
  template <int V> __device__ void sum(float (&x)[V], size_t r, size_t c, size_t C) const {
    float other[V];
    load_v(x, branch + r * C + c);
    if (bias) {
      load_v(other, bias + c);
#pragma unroll
      for (int i = 0; i < V; i++) x[i] += other[i];
    }
    if (drop.on) drop.apply(x, drop.first + r * drop.row_stride + c);
    load_v(other, residual + r * C + c);
#pragma unroll
    for (int i = 0; i < V; i++) x[i] = other[i] + x[i];
  }

  /* Writes dropout of the elements [c, c + V) of row r of dx, as T rounds them. */
  template <int V> __device__ void mask_dx(const pack<T, V> &rounded, size_t r, size_t c, size_t C) const {
    float dx[V];
#pragma unroll
    for (int i = 0; i < V; i++) dx[i] = load(rounded.x[i]);
    if (drop.on) drop.apply(dx, drop.first + r * drop.row_stride + c);
    put_v(dbranch + r * C + c, dx);
  }
};

template <typename T> norm_taken_in<T> taken_in_of(const struct sl_cuda_taken_in *from) {
  norm_taken_in<T> out = {};
  if (!from) return out;
  out.residual = (const T *)from->residual, out.branch = (const T *)from->branch, out.bias = (const T *)from->bias;
  out.dbranch = (T *)from->dbranch;
  out.drop = mask_of(from->dropout, from->step);
  return out;
}

} /* namespace */
} /* namespace sl */
