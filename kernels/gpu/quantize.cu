/* Block quantisation on the GPU (kernels/quantize.h): one block of threads per block of numbers. Codes are written a
 * word at a time: a block of numbers fills whole words, and the unused part of a piece's last word is zero. */
#include "kernels/gpu/device.cuh"

#include <float.h>
#include <math.h>

namespace sl {
namespace {

enum { THREADS = 256 };

struct shape {
  size_t n, block, stride, blocks;
  int bits;
};

shape shape_of(const struct sl_quantized *s) {
  return {s->n, s->block, s->stride, (s->n + s->block - 1) / s->block, s->bits};
}

__device__ float *scale_at(const shape &s, const void *packed, size_t piece, size_t b) {
  return (float *)((char *)packed + piece * s.stride) + b;
}

/* The words of codes of block `b`. */
__device__ uint32_t *words_at(const shape &s, const void *packed, size_t piece, size_t b) {
  return (uint32_t *)((char *)packed + piece * s.stride + s.blocks * 4 + b * s.block * s.bits / 8);
}

__device__ size_t count_of(const shape &s, size_t b) {
  const size_t left = s.n - b * s.block;
  return left < s.block ? left : s.block;
}

/* The decoded number `i` of a packed block. */
__device__ float decoded(const shape &s, const void *packed, size_t piece, size_t b, size_t i) {
  const uint8_t *codes = (const uint8_t *)words_at(s, packed, piece, b);
  int code;
  if (s.bits == 8) {
    code = (int8_t)codes[i];
  } else {
    code = codes[i / 2] >> (i % 2 * 4) & 15;
    code -= (code & 8) * 2;
  }
  return (float)code * *scale_at(s, packed, piece, b);
}

/* The magnitude of x, with infinity for NaN, which a maximum would ignore. */
__device__ float magnitude(float x) {
  const float a = fabsf(x);
  return a <= FLT_MAX ? a : INFINITY;
}

__device__ uint32_t code_of(float x, float factor, int bits) {
  const float half = bits == 8 ? 128 : 8, y = rintf(x * factor);
  const int code = y >= half - 1 ? (int)half - 1 : y <= -half ? -(int)half : (int)y;
  return (uint32_t)code & (bits == 8 ? 255u : 15u);
}

/* Packs the block's numbers, number(i), as block `b` of `piece`. All threads must call it. */
template <typename N> __device__ void pack(const shape &s, void *packed, size_t piece, size_t b, const N &number) {
  const size_t count = count_of(s, b), each = 32 / (size_t)s.bits;
  const float half = s.bits == 8 ? 128 : 8;
  float largest = 0;
  for (size_t i = threadIdx.x; i < count; i += blockDim.x) largest = fmaxf(largest, magnitude(number(i)));
  largest = block_max(largest);
  const float reciprocal = half / largest;
  const bool finite = largest <= FLT_MAX, some = finite && largest > 0 && reciprocal <= FLT_MAX;
  if (threadIdx.x == 0) *scale_at(s, packed, piece, b) = some ? 1 / reciprocal : finite ? 1.0f : NAN;
  uint32_t *words = words_at(s, packed, piece, b);
  for (size_t w = threadIdx.x; w < (count + each - 1) / each; w += blockDim.x) {
    uint32_t word = 0;
    for (size_t k = 0; k < each && some; k++) {
      const size_t i = w * each + k;
      if (i < count) word |= code_of(number(i), reciprocal, s.bits) << (k * (size_t)s.bits);
    }
    words[w] = word;
  }
}

template <typename T> struct stored {
  const T *x;
  __device__ float operator()(size_t i) const {
    return load(x[i]);
  }
};

/* The sum over the sources of number `i` of block `b` of a piece. */
struct summed {
  shape s;
  const void *x;
  size_t sources, pieces, piece, b;
  __device__ float operator()(size_t i) const {
    float sum = 0;
    for (size_t k = 0; k < sources; k++) sum += decoded(s, x, k * pieces + piece, b, i);
    return sum;
  }
};

template <typename T> __global__ void quantize_kernel(shape s, void *out, const T *x, size_t rows, size_t turn) {
  const size_t piece = blockIdx.x / s.blocks, b = blockIdx.x % s.blocks;
  pack(s, out, piece % rows * turn + piece / rows, b, stored<T>{x + piece * s.n + b * s.block});
}

__global__ void again_kernel(shape s, void *out, const void *x, size_t sources, size_t pieces) {
  const size_t piece = blockIdx.x / s.blocks, b = blockIdx.x % s.blocks;
  pack(s, out, piece, b, summed{s, x, sources, pieces, piece, b});
}

template <typename T> __global__ void back_kernel(shape s, T *out, const void *x) {
  const size_t piece = blockIdx.x / s.blocks, b = blockIdx.x % s.blocks, count = count_of(s, b);
  for (size_t i = threadIdx.x; i < count; i += blockDim.x)
    out[piece * s.n + b * s.block + i] = number<T>::put(decoded(s, x, piece, b, i));
}

template <typename T> __global__ void sum_kernel(shape s, T *out, const void *x, size_t pieces, int accumulate) {
  const size_t b = blockIdx.x, count = count_of(s, b);
  T *to = out + b * s.block;
  for (size_t i = threadIdx.x; i < count; i += blockDim.x) {
    float sum = accumulate ? load(to[i]) : 0;
    for (size_t k = 0; k < pieces; k++) sum += decoded(s, x, k, b, i);
    to[i] = number<T>::put(sum);
  }
}

} /* namespace */
} /* namespace sl */

using namespace sl;

extern "C" int sl_cuda_quantize(sl_cuda_stream stream, enum sl_number type, void *out, const void *x,
                                const struct sl_quantized *quantized, size_t pieces, size_t turn) {
  const shape s = shape_of(quantized);
  return by_type(type, [&](auto zero) {
    using T = decltype(zero);
    return launch(stream, dim3((unsigned)(pieces * s.blocks)), THREADS, 0, quantize_kernel<T>, s, out, (const T *)x,
                  pieces / turn, turn);
  });
}

extern "C" int sl_cuda_quantize_back(sl_cuda_stream stream, enum sl_number type, void *out, const void *x,
                                     const struct sl_quantized *quantized, size_t pieces) {
  const shape s = shape_of(quantized);
  return by_type(type, [&](auto zero) {
    using T = decltype(zero);
    return launch(stream, dim3((unsigned)(pieces * s.blocks)), THREADS, 0, back_kernel<T>, s, (T *)out, x);
  });
}

extern "C" int sl_cuda_quantize_sum(sl_cuda_stream stream, enum sl_number type, void *out, const void *x,
                                    const struct sl_quantized *quantized, size_t pieces, int accumulate) {
  const shape s = shape_of(quantized);
  return by_type(type, [&](auto zero) {
    using T = decltype(zero);
    return launch(stream, dim3((unsigned)s.blocks), THREADS, 0, sum_kernel<T>, s, (T *)out, x, pieces, accumulate);
  });
}

extern "C" int sl_cuda_quantize_again(sl_cuda_stream stream, enum sl_number type, void *out, const void *x,
                                      const struct sl_quantized *quantized, size_t sources, size_t pieces) {
  const shape s = shape_of(quantized);
  (void)type; /* input and output are packed numbers only */
  return launch(stream, dim3((unsigned)(pieces * s.blocks)), THREADS, 0, again_kernel, s, out, x, sources, pieces);
}
