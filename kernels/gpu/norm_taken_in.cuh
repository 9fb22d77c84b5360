/* What the norms on the GPU take in (struct sl_cuda_taken_in), row by row: the addition to the residual stream before
 * them, and the dropout behind their backward. */
#pragma once

#include "kernels/gpu/device.cuh"

#include <string.h>
#include <type_traits>

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
#ifdef __CUDA_ARCH__ /* a plain assignment becomes four writes of 4 bytes in one of the kernels */
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(at)), "r"(v.word[0]),
               "r"(v.word[1]), "r"(v.word[2]), "r"(v.word[3])
               : "memory");
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

/* Two numbers of sixteen bits, rounded, in one instruction and one register. */
template <typename T> __device__ inline uint32_t norm_pair(float low, float high) {
#ifdef __CUDA_ARCH__
  uint32_t word;
  if constexpr (std::is_same_v<T, bf16>)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
#else
  return put<T>(low).bits | (uint32_t)put<T>(high).bits << 16;
#endif
}
template <typename T> __device__ inline norm_vector norm_rounded(const float (&x)[wide<T>]) {
  norm_vector v;
  if constexpr (sizeof(T) == 4) {
    memcpy(&v, x, sizeof v);
  } else {
#pragma unroll
    for (int i = 0; i < 4; i++) v.word[i] = norm_pair<T>(x[2 * i], x[2 * i + 1]);
  }
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

  /* Dropout of the elements [c, c + V) of row r of dx, as rounded. */
  template <int V> __device__ void mask_dx(float (&dx)[V], size_t r, size_t c) const {
    if (drop.on) drop.apply(dx, drop.first + r * drop.row_stride + c);
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
