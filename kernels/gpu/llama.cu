/* RMSNorm, rotary positions and SwiGLU on the GPU (kernels/llama.h). */
#include "kernels/gpu/norm.cuh"
#include "kernels/rotary.h"

namespace sl {
namespace {

/* A block rotates one token: it computes the angles once, in shared memory, for all heads. */
template <typename T>
__global__ void rope_kernel(T *x, sl_rope_shape s, size_t first_position, sl_rope rope, int direction) {
  SL_DYNAMIC_SHARED(shared);
  const size_t dim = rope.dim ? rope.dim : s.D, half = dim / 2;
  const double by = rope.attention > 0 ? rope.attention : 1;
  float *cosine = (float *)shared, *sine = cosine + half;
  for (size_t i = threadIdx.x; i < half; i += blockDim.x) {
    /* rounded as in torch: frequency and product are computed in float */
    const float frequency = (float)sl_rope_frequency(&rope, dim, i);
    const double angle = (double)((float)(first_position + blockIdx.x % s.T) * frequency);
    cosine[i] = (float)(by * cos(angle));
    sine[i] = (float)(direction * by * sin(angle));
  }
  __syncthreads();
  T *token = x + blockIdx.x * s.stride;
  for (size_t k = threadIdx.x; k < s.heads * half; k += blockDim.x) {
    const size_t i = k % half, h = k / half;
    T *head = token + h * s.step + (s.group ? h / s.group * s.gap : 0);
    T *first = head + (rope.interleaved ? 2 * i : i), *second = rope.interleaved ? first + 1 : first + half;
    const float a = load(*first), b = load(*second);
    *first = put<T>(a * cosine[i] - b * sine[i]);
    *second = put<T>(b * cosine[i] + a * sine[i]);
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
    return launch(stream, dim3((unsigned)(shape->B * shape->T)), 256, shape->D * sizeof(float), rope_kernel<N>, (N *)x,
                  *shape, first_position, *rope, direction);
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
