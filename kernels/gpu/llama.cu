/* RMSNorm, rotary positions and SwiGLU on the GPU (kernels/llama.h). */
#include "kernels/gpu/norm.cuh"
#include "kernels/rotary.h"

namespace sl {
namespace {

constexpr unsigned rope_threads = 256;

/* How many positions share a block: one angle per thread. */
inline size_t rope_tokens(const sl_rope_shape &s, size_t half) {
  const size_t tokens = half < rope_threads ? rope_threads / (half ? half : 1) : 1;
  return tokens < s.T ? tokens : s.T;
}

/* Fills cosine and sine, (tokens, dim / 2) each. Double precision costs latency, not throughput: so the frequencies are
 * computed once for all positions, and all threads share the angles. Ends with a barrier. */
__device__ inline void rope_angles(float *cosine, float *sine, float *frequency, size_t first_position,
                                   const sl_token_places &at, unsigned first, unsigned tokens, unsigned dim,
                                   const sl_rope &rope, int direction) {
  const double by = rope.attention > 0 ? rope.attention : 1;
  const unsigned half = dim / 2;
  /* rounded as in torch: frequency and product are computed in float */
  for (unsigned i = threadIdx.x; i < half; i += rope_threads) frequency[i] = (float)sl_rope_frequency(&rope, dim, i);
  __syncthreads();
  for (unsigned k = threadIdx.x; k < tokens * half; k += rope_threads) {
    const double angle = (double)((float)(first_position + sl_position(&at, first + k / half)) * frequency[k % half]);
    cosine[k] = (float)(by * cos(angle));
    sine[k] = (float)(direction * by * sin(angle));
  }
  __syncthreads();
}

/* Turns V pairs: of x[i * STEP] with x[i * STEP + APART]. */
template <int STEP, int APART, int V>
__device__ inline void rope_turn(float *x, const pack<float, V> &cosine, const pack<float, V> &sine) {
#pragma unroll
  for (int i = 0; i < V; i++) {
    const float a = x[i * STEP], b = x[i * STEP + APART];
    x[i * STEP] = a * cosine.x[i] - b * sine.x[i];
    x[i * STEP + APART] = b * cosine.x[i] + a * sine.x[i];
  }
}

/* A block rotates all heads of `tokens` positions of one sequence, V pairs at a time: in two vectors. */
template <typename T, int V>
__global__ void __launch_bounds__(rope_threads, 4)
    rope_kernel(T *x, sl_rope_shape s, size_t first_position, sl_rope rope, int direction, unsigned tokens) {
  SL_DYNAMIC_SHARED(shared);
  const unsigned dim = (unsigned)(rope.dim ? rope.dim : s.D), half = dim / 2, vectors = half / V;
  const unsigned heads = (unsigned)s.heads, tiles = ((unsigned)s.T + tokens - 1) / tokens;
  const unsigned sequence = blockIdx.x / tiles, first = blockIdx.x % tiles * tokens;
  const unsigned count = (unsigned)s.T - first < tokens ? (unsigned)s.T - first : tokens;
  float *cosine = (float *)shared, *sine = cosine + tokens * half;
  rope_angles(cosine, sine, sine + tokens * half, first_position, s.at, first, count, dim, rope, direction);
  x += (sequence * s.T + first) * s.stride;
  for (unsigned k = threadIdx.x; k < count * heads * vectors; k += rope_threads) {
    const unsigned i = k % vectors * V, h = k / vectors % heads, t = k / vectors / heads;
    T *head = x + t * s.stride + h * s.step + (s.group ? h / (unsigned)s.group * s.gap : 0);
    pack<T, V> *low = (pack<T, V> *)(head + (rope.interleaved ? 2 * i : i));
    pack<T, V> *high = rope.interleaved ? low + 1 : (pack<T, V> *)(head + half + i);
    pack<T, V> front = *low, back = *high;
    pack<float, V> c, n;
    float y[2 * V];
#pragma unroll
    for (int e = 0; e < V; e++) {
      y[e] = load(front.x[e]), y[V + e] = load(back.x[e]);
      c.x[e] = cosine[t * half + i + e], n.x[e] = sine[t * half + i + e];
    }
    if (rope.interleaved)
      rope_turn<2, 1>(y, c, n);
    else
      rope_turn<1, V>(y, c, n);
#pragma unroll
    for (int e = 0; e < V; e++) front.x[e] = put<T>(y[e]), back.x[e] = put<T>(y[V + e]);
    *low = front, *high = back;
  }
}

/* exp(-g), bounded so that it stays finite (as in gelu.cu). */
__device__ inline float exp_minus(float g) {
  return expf(-g > 80 ? 80 : -g);
}

template <typename T, int V> struct swiglu_op {
  static constexpr int width = V;
  T *out;
  const T *gate, *up;
  size_t cols, stride;
  __device__ void begin() {}
  __device__ void operator()(size_t r, size_t c) const {
    float g[V], u[V];
    load_v(g, gate + r * stride + c);
    load_v(u, up + r * stride + c);
#pragma unroll
    for (int i = 0; i < V; i++) g[i] = g[i] / (1 + exp_minus(g[i])) * u[i];
    put_v(out + r * cols + c, g);
  }
};

template <typename T, int V> struct swiglu_backward_op {
  static constexpr int width = V;
  T *dgate, *dup;
  const T *dout, *gate, *up;
  size_t cols, stride;
  __device__ void begin() {}
  __device__ void operator()(size_t r, size_t c) const {
    float g[V], u[V], d[V];
    load_v(g, gate + r * stride + c);
    load_v(u, up + r * stride + c);
    load_v(d, dout + r * cols + c);
#pragma unroll
    for (int i = 0; i < V; i++) {
      const float e = exp_minus(g[i]), s = 1 / (1 + e), dg = d[i] * u[i] * (s + g[i] * s * (s * e));
      u[i] = d[i] * g[i] * s;
      g[i] = dg;
    }
    put_v(dup + r * stride + c, u);
    put_v(dgate + r * stride + c, g);
  }
};

} /* namespace */
} /* namespace sl */

using namespace sl;

extern "C" size_t sl_cuda_llama_rmsnorm_scratch_bytes(size_t rows, size_t C) {
  return norm_blocks(rows) * C * sizeof(float);
}

extern "C" int sl_cuda_llama_rmsnorm_forward(sl_cuda_stream stream, enum sl_number type, void *out, float *rstd,
                                             void *x, const void *weight, size_t rows, size_t C, float eps,
                                             int from_one, const struct sl_cuda_taken_in *taken_in) {
  return norm_forward<false>(stream, type, out, nullptr, rstd, x, weight, nullptr, rows, C, eps, from_one, taken_in);
}

extern "C" int sl_cuda_llama_rmsnorm_backward(sl_cuda_stream stream, enum sl_number type, void *dx, int accumulate_dx,
                                              void *dweight, int in_fp32, int accumulate, const void *dout,
                                              const void *x, const void *weight, const float *rstd, size_t rows,
                                              size_t C, int from_one, void *scratch,
                                              const struct sl_cuda_taken_in *taken_in) {
  return norm_backward<false>(stream, type, dx, accumulate_dx, dweight, nullptr, in_fp32, accumulate, dout, x, weight,
                              nullptr, rstd, rows, C, scratch, from_one, taken_in);
}

extern "C" int sl_cuda_llama_rope(sl_cuda_stream stream, enum sl_number type, void *x,
                                  const struct sl_rope_shape *shape, size_t first_position, const struct sl_rope *rope,
                                  int direction) {
  return by_type(type, [&](auto zero) {
    using N = decltype(zero);
    constexpr int V = wide<N>;
    const size_t half = (rope->dim ? rope->dim : shape->D) / 2, tokens = rope_tokens(*shape, half);
    const bool fast = half % V == 0 && shape->stride % V == 0 && shape->step % V == 0 && shape->gap % V == 0;
    if (shape->T == 0) return 0;
    return launch(stream, dim3((unsigned)shape->B * blocks_of(shape->T, tokens)), rope_threads,
                  (2 * tokens + 1) * half * sizeof(float), fast && aligned(x) ? rope_kernel<N, V> : rope_kernel<N, 1>,
                  (N *)x, *shape, first_position, *rope, direction, (unsigned)tokens);
  });
}

extern "C" int sl_cuda_llama_swiglu_forward(sl_cuda_stream stream, enum sl_number type, void *out, const void *gate,
                                            const void *up, size_t rows, size_t cols, size_t stride) {
  return by_type(type, [&](auto zero) {
    using T = decltype(zero);
    const T *g = (const T *)gate, *u = (const T *)up;
    if (cols % wide<T> == 0 && stride % wide<T> == 0 && aligned(out, gate, up))
      return launch_rows(stream, swiglu_op<T, wide<T>>{(T *)out, g, u, cols, stride}, rows, cols);
    return launch_rows(stream, swiglu_op<T, 1>{(T *)out, g, u, cols, stride}, rows, cols);
  });
}

extern "C" int sl_cuda_llama_swiglu_backward(sl_cuda_stream stream, enum sl_number type, void *dgate, void *dup,
                                             const void *dout, const void *gate, const void *up, size_t rows,
                                             size_t cols, size_t stride) {
  return by_type(type, [&](auto zero) {
    using T = decltype(zero);
    const T *d = (const T *)dout, *g = (const T *)gate, *u = (const T *)up;
    if (cols % wide<T> == 0 && stride % wide<T> == 0 && aligned(dgate, dup, dout, gate, up))
      return launch_rows(stream, swiglu_backward_op<T, wide<T>>{(T *)dgate, (T *)dup, d, g, u, cols, stride}, rows,
                         cols);
    return launch_rows(stream, swiglu_backward_op<T, 1>{(T *)dgate, (T *)dup, d, g, u, cols, stride}, rows, cols);
  });
}
