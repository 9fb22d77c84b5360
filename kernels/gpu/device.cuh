/* What the GPU kernels share: number types in memory, vectors of 16 bytes, launches, sums over a warp or a block in a
 * fixed order, and dropout's mask. Included only by .cu files. */
#pragma once

#include "kernels/gpu/cuda.h"
#include "kernels/numbers/half.h"
#include "kernels/philox_block.h"

#ifdef __CUDACC__
#include <cuda_runtime.h>
#endif

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* Shared memory whose size is given at the launch. */
#ifndef SL_DYNAMIC_SHARED
#define SL_DYNAMIC_SHARED(name) extern __shared__ __align__(16) unsigned char name[]
#endif

namespace sl {

/* --- number types --- */

struct bf16 {
  uint16_t bits;
};
struct f16 {
  uint16_t bits;
};

__device__ inline float load(float x) {
  return x;
}
__device__ inline float load(bf16 x) {
  union {
    uint32_t bits;
    float f;
  } u = {(uint32_t)x.bits << 16};
  return u.f;
}
__device__ inline float load(f16 x) {
#ifdef __CUDA_ARCH__
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x.bits));
  return f;
#elif !defined(__CUDACC__)
  return sl_half_from_f16(x.bits);
#else
  return x.bits; /* for nvcc's host pass; never runs */
#endif
}

template <typename T> struct number;
template <> struct number<float> {
  static __device__ float put(float x) {
    return x;
  }
};
template <> struct number<bf16> {
  static __device__ bf16 put(float x) {
    bf16 y = {0};
#ifdef __CUDA_ARCH__
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
#elif !defined(__CUDACC__)
    y.bits = sl_half_to_bf16(x);
#endif
    return y;
  }
};
template <> struct number<f16> {
  static __device__ f16 put(float x) {
    f16 y = {0};
#ifdef __CUDA_ARCH__
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
#elif !defined(__CUDACC__)
    y.bits = sl_half_to_f16(x);
#endif
    return y;
  }
};
template <typename T> __device__ inline T put(float x) {
  return number<T>::put(x);
}

/* Calls f(zero) with a zero of the C++ type for `type`; f returns an int. */
template <typename F> inline int by_type(enum sl_number type, F f) {
  switch (type) {
  case SL_NUMBER_F32:
    return f(float());
  case SL_NUMBER_BF16:
    return f(bf16());
  case SL_NUMBER_F16:
    return f(f16());
  }
  return (int)cudaErrorInvalidValue;
}

/* --- vectors: V elements in one access, V = 1 or 16 bytes of them --- */

template <typename T> constexpr int wide = 16 / (int)sizeof(T);

template <typename T, int V> struct alignas(sizeof(T) * V) pack { T x[V]; };
using sixteen = pack<uint64_t, 2>; /* bytes that are copied as they are */

template <int V, typename T> __device__ inline void load_v(float (&y)[V], const T *x) {
  const pack<T, V> p = *reinterpret_cast<const pack<T, V> *>(x);
#pragma unroll
  for (int i = 0; i < V; i++) y[i] = load(p.x[i]);
}

template <int V, typename T> __device__ inline void put_v(T *x, const float (&y)[V]) {
  pack<T, V> p;
#pragma unroll
  for (int i = 0; i < V; i++) p.x[i] = put<T>(y[i]);
  *reinterpret_cast<pack<T, V> *>(x) = p;
}

inline bool aligned(const void *p) {
  return (uintptr_t)p % 16 == 0;
}
/* Whether addresses allow vectors of V elements: V is 16 bytes of the widest type, and as many elements of narrower
 * ones. */
template <int V, typename T> inline bool aligned_to(const T *p) {
  return (uintptr_t)p % (V * sizeof(T)) == 0;
}
template <typename... P> inline bool aligned(const void *p, P... more) {
  return aligned(p) && aligned(more...);
}

/* 2^x in one instruction, to two units in the last place; subnormal results are 0. */
__device__ inline float exp2_fast(float x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return exp2f(x);
#endif
}

/* --- launches --- */

/* Launches a kernel. A grid of 0 blocks is no error: nothing is launched. */
template <typename... P, typename... A>
inline int launch(sl_cuda_stream stream, dim3 grid, unsigned block, size_t shared, void (*kernel)(P...), A... args) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return 0;
#ifdef __CUDACC__
  shared = (shared + 15) / 16 * 16; /* ptxas reads 16 bytes where a loop's last round needs 4 of them */
#endif
  if (shared > 32 * 1024) { /* more than 48 KiB must be requested; the limit includes the kernel's static shared memory,
                             * at most 16 KiB. The driver may else leave a multiprocessor less than all its blocks need */
    int error =
        (int)cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
    if (!error)
      error = (int)cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                        cudaSharedmemCarveoutMaxShared);
    if (error) return error;
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = dim3(block);
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  return (int)cudaLaunchKernelEx(&config, kernel, P(args)...);
}

inline unsigned blocks_of(size_t n, size_t each) {
  return (unsigned)((n + each - 1) / each);
}

/* One block per row: f(r, c) for every F::width-th column c. */
template <typename F> __global__ void rows_kernel(F f, size_t cols) {
  f.begin();
  for (size_t c = (size_t)threadIdx.x * F::width; c < cols; c += (size_t)blockDim.x * F::width) f(blockIdx.x, c);
}

template <typename F> inline int launch_rows(sl_cuda_stream stream, F f, size_t rows, size_t cols) {
  if (cols == 0) return 0;
  const size_t threads = (cols / F::width + 31) / 32 * 32;
  return launch(stream, dim3((unsigned)rows),
                (unsigned)(threads < 32    ? 32
                           : threads > 256 ? 256
                                           : threads),
                0, rows_kernel<F>, f, cols);
}

/* The flat range [0, n): f(i) for every F::width-th i as long as a whole vector fits, then f.one(i) for each remaining
 * element. */
template <typename F> __global__ void flat_kernel(F f, size_t n) {
  const size_t i = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) * F::width;
  if (i + F::width <= n) {
    f(i);
  } else {
    for (size_t k = i; k < n; k++) f.one(k);
  }
}

template <typename F> inline int launch_flat(sl_cuda_stream stream, F f, size_t n) {
  return launch(stream, dim3(blocks_of(n, (size_t)256 * F::width)), 256, 0, flat_kernel<F>, f, n);
}

/* --- sums and maxima; the order depends only on the shape --- */

template <typename S> __device__ inline S warp_sum(S x) {
#pragma unroll
  for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(0xffffffffu, x, d);
  return x;
}

/* The sum over a block of whole warps, at most 1024 threads; every thread gets the result. */
template <typename S> __device__ inline S block_sum(S x) {
  __shared__ S part[32];
  const int warps = (int)blockDim.x / 32;
  x = warp_sum(x);
  __syncthreads(); /* other threads may still read an earlier sum */
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = x;
  __syncthreads();
  S total = part[0];
  for (int w = 1; w < warps; w++) total += part[w];
  return total;
}

__device__ inline float block_max(float x) {
  __shared__ float part[32];
  const int warps = (int)blockDim.x / 32;
#pragma unroll
  for (int d = 16; d > 0; d /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, d));
  __syncthreads();
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = x;
  __syncthreads();
  float max = part[0];
  for (int w = 1; w < warps; w++) max = fmaxf(max, part[w]);
  return max;
}

/* --- dropout --- */

struct mask {
  bool on;
  uint32_t threshold;
  float scale;
  sl_philox_key key;
  uint64_t first, row_stride;
  const int64_t *step;

  /* Every thread calls this before any other use. */
  __device__ void begin() {
    if (on && step) key.step = (uint32_t)*step;
  }

  __device__ static uint32_t word(const uint32_t (&w)[4], unsigned i) {
    return i == 0 ? w[0] : i == 1 ? w[1] : i == 2 ? w[2] : w[3];
  }

  /* The factor of global element `e`: 1/(1-p) if it is kept, otherwise 0. */
  __device__ float factor(uint64_t e) const {
    uint32_t w[4];
    sl_philox_four(w, &key, e / 4);
    return word(w, (unsigned)(e % 4)) >> 8 >= threshold ? scale : 0;
  }

  /* Applies dropout to x, the elements [e, e + V). */
  template <int V> __device__ void apply(float (&x)[V], uint64_t e) const {
    if (V % 4 == 0 && e % 4 == 0) {
#pragma unroll
      for (int i = 0; i < V; i += 4) {
        uint32_t w[4];
        sl_philox_four(w, &key, (e + (uint64_t)i) / 4);
#pragma unroll
        for (int k = 0; k < 4 && i + k < V; k++) x[i + k] = w[k] >> 8 >= threshold ? x[i + k] * scale : 0;
      }
    } else {
#pragma unroll
      for (int i = 0; i < V; i++) x[i] = factor(e + (uint64_t)i) != 0 ? x[i] * scale : 0;
    }
  }
};

inline mask mask_of(const struct sl_dropout *dropout, const int64_t *step) {
  mask m = {};
  m.scale = 1;
  if (!dropout || dropout->p <= 0) return m;
  m.on = true;
  m.threshold = sl_philox_threshold(dropout->p);
  m.scale = (float)sl_philox_keep_scale(dropout->p);
  m.key = dropout->key;
  m.first = dropout->first_element;
  m.row_stride = dropout->row_stride;
  m.step = step;
  return m;
}

} /* namespace sl */
