/* What the norms on the GPU take in (struct sl_cuda_taken_in), row by row: the addition to the residual stream before
 * them, and the dropout behind their backward. */
#pragma once

#include "kernels/gpu/device.cuh"

#include <string.h>

namespace sl {
namespace {

/* A vector of 16 bytes in four registers, as memory has it: those of sixteen bits in pairs, of which a compiler left to
 * itself keeps each in a register of its own. */
struct norm_vector {
  uint32_t word[4];
};

template <typename T> __device__ inline norm_vector norm_load(const T *at) {
  const pack<T, wide<T>> read = *reinterpret_cast<const pack<T, wide<T>> *>(at);
  norm_vector v;
  memcpy(&v, &read, sizeof v);
  return v;
}
template <typename T> __device__ inline void norm_store(T *at, const norm_vector &v) {
#ifdef __CUDACC__
  *reinterpret_cast<uint4 *>(at) = make_uint4(v.word[0], v.word[1], v.word[2], v.word[3]);
#else
  memcpy(at, &v, sizeof v);
#endif
}

/* Element i. */
template <typename T> __device__ inline float norm_get(const norm_vector &v, int i) {
  T x;
  if constexpr (sizeof(T) == 4)
    memcpy(&x, &v.word[i], sizeof x);
  else
    x.bits = (uint16_t)(v.word[i / 2] >> (i % 2 * 16));
  return load(x);
}

template <typename T, int V> __device__ inline norm_vector norm_rounded(const float (&x)[V]) {
  pack<T, V> out;
  norm_vector v;
#pragma unroll
  for (int i = 0; i < V; i++) out.x[i] = put<T>(x[i]);
  memcpy(&v, &out, sizeof v);
  return v;
}

/* Later uses of a row start from its vectors: what has been made of them is not kept, in twice as many registers. */
template <int K> __device__ inline void norm_forget(norm_vector (&row)[K]) {
#ifdef __CUDA_ARCH__
#pragma unroll
  for (int k = 0; k < K; k++)
    asm volatile("" : "+r"(row[k].word[0]), "+r"(row[k].word[1]), "+r"(row[k].word[2]), "+r"(row[k].word[3]));
#else
  (void)row;
#endif
}

/* struct sl_cuda_taken_in; where nothing is taken in, pointers are NULL. */
template <typename T> struct norm_taken_in {
  const T *residual, *branch, *bias;
  T *dbranch;
  mask drop;

  /* x = the elements [c, c + V) of row r of the residual stream, not rounded yet: made of as many of each part. */
  template <int V>
  __device__ void sum(float (&x)[V], const float (&from)[V], const float (&by)[V], size_t r, size_t c) const {
#pragma unroll
    for (int i = 0; i < V; i++) x[i] = bias ? x[i] + by[i] : x[i];
    if (drop.on) drop.apply(x, drop.first + r * drop.row_stride + c);
#pragma unroll
    for (int i = 0; i < V; i++) x[i] = from[i] + x[i];
  }

  /* The same of elements in memory. */
  template <int V> __device__ void sum(float (&x)[V], size_t r, size_t c, size_t C) const {
    float from[V], by[V];
    load_v(x, branch + r * C + c);
    if (bias) load_v(by, bias + c);
    load_v(from, residual + r * C + c);
    sum(x, from, by, r, c);
  }

  /* The same of vectors. */
  struct parts {
    norm_vector branch, residual, bias;
  };
  __device__ parts read(size_t r, size_t c, size_t C) const {
    parts p = {norm_load(branch + r * C + c), norm_load(residual + r * C + c), {}};
    if (bias) p.bias = norm_load(bias + c);
    return p;
  }
  __device__ norm_vector sum(const parts &p, size_t r, size_t c) const {
    float x[wide<T>], from[wide<T>], by[wide<T>];
#pragma unroll
    for (int i = 0; i < wide<T>; i++)
      x[i] = norm_get<T>(p.branch, i), from[i] = norm_get<T>(p.residual, i), by[i] = norm_get<T>(p.bias, i);
    sum(x, from, by, r, c);
    return norm_rounded<T>(x);
  }

  /* Writes dropout of the elements [c, c + V) of row r of dx, as rounded. */
  template <int V> __device__ void mask_dx(float (&dx)[V], size_t r, size_t c, size_t C) const {
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
