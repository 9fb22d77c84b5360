/* One-bit momentum on the GPU (kernels/onebit.h): one thread per number, or per byte where numbers are packed. */
#include "kernels/gpu/device.cuh"

#include <math.h>

namespace sl {
namespace {

enum { THREADS = 256 };

/* Whether the step is skipped; all threads agree. */
__device__ bool skips(const double *grad_factor) {
  return grad_factor && *grad_factor < 0;
}

__device__ size_t own_index() {
  return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ float scale_of(const char *piece) {
  return *(const float *)piece;
}

__device__ float number_of(const char *piece, size_t i) {
  const uint8_t *bits = (const uint8_t *)piece + sizeof(float);
  const float scale = scale_of(piece);
  return bits[i / 8] >> i % 8 & 1 ? scale : -scale;
}

template <typename G>
__global__ void blend_kernel(float *error, const float *m, const G *grad, size_t n, double scale, double beta1,
                             sl_cuda_update update) {
  const size_t i = own_index();
  if (i >= n || skips(update.grad_factor)) return;
  const float factor = (float)(update.grad_factor ? scale * *update.grad_factor : scale);
  const float fresh = (float)(1 - (update.beta1 ? *update.beta1 : beta1));
  error[i] += m[i] + fresh * (factor * load(grad[i]) - m[i]);
}

__global__ void average_kernel(float *error, const char *packed, sl_signs s, const double *grad_factor) {
  const size_t i = own_index();
  if (i >= s.chunk || skips(grad_factor)) return;
  const float share = 1 / (float)s.pieces;
  float sum = 0;
  for (size_t k = 0; k < s.pieces; k++) sum += number_of(packed + k * s.stride, i) * share;
  error[i] += sum;
}

/* Writes a byte of bits, or one of the zeros behind them; the first thread of a piece also writes its scale. */
__global__ void pack_kernel(char *out, float *error, const double *squares, sl_signs s, const double *grad_factor) {
  const size_t each = s.stride - sizeof(float), at = own_index(), k = at / each, b = at % each;
  if (k >= s.pieces || skips(grad_factor)) return;
  const float scale = (float)sqrt(*squares / (double)(s.chunk * s.pieces));
  char *piece = out + k * s.stride;
  unsigned bits = 0;
  if (b == 0) *(float *)piece = scale;
  for (unsigned i = 0; i < 8 && b < s.chunk / 8; i++) {
    float *e = &error[k * s.chunk + 8 * b + i];
    const bool positive = *e >= 0;
    bits |= (unsigned)positive << i;
    *e -= positive ? scale : -scale;
  }
  ((uint8_t *)piece)[sizeof(float) + b] = (uint8_t)bits;
}

template <typename P>
__global__ void adam_kernel(float *master, float *m, const float *v, const char *packed, sl_signs s, P *param, size_t n,
                            sl_adam a, sl_cuda_update update) {
  const size_t i = own_index();
  if (i >= n || skips(update.grad_factor)) return;
  const double lr = update.lr ? *update.lr : a.lr;
  const float keep = (float)(1 - lr * a.weight_decay), rate = (float)lr;
  const float mi = v[i] > 0 ? number_of(packed + i / s.chunk * s.stride, i % s.chunk) : 0;
  const float after = keep * master[i] - rate * (mi / (sqrtf(v[i]) + (float)a.eps));
  m[i] = mi;
  master[i] = after;
  if (param) param[i] = put<P>(after);
}

} /* namespace */
} /* namespace sl */

using namespace sl;

extern "C" int sl_cuda_onebit_blend(sl_cuda_stream stream, float *error, const float *m, const void *grad,
                                    enum sl_number grad_type, size_t n, double scale, double beta1,
                                    const struct sl_cuda_update *update) {
  const sl_cuda_update u = update ? *update : sl_cuda_update{};
  return by_type(grad_type, [&](auto zero) {
    using G = decltype(zero);
    return launch(stream, dim3(blocks_of(n, THREADS)), THREADS, 0, blend_kernel<G>, error, m, (const G *)grad, n, scale,
                  beta1, u);
  });
}

extern "C" int sl_cuda_onebit_average(sl_cuda_stream stream, float *error, const void *packed,
                                      const struct sl_signs *shape, const double *grad_factor) {
  return launch(stream, dim3(blocks_of(shape->chunk, THREADS)), THREADS, 0, average_kernel, error, (const char *)packed,
                *shape, grad_factor);
}

extern "C" int sl_cuda_onebit_pack(sl_cuda_stream stream, void *out, float *error, const double *squares,
                                   const struct sl_signs *shape, const double *grad_factor) {
  const size_t threads = shape->pieces * (shape->stride - sizeof(float));
  return launch(stream, dim3(blocks_of(threads, THREADS)), THREADS, 0, pack_kernel, (char *)out, error, squares, *shape,
                grad_factor);
}

extern "C" int sl_cuda_onebit_adam(sl_cuda_stream stream, float *master, float *m, const float *v, const void *packed,
                                   const struct sl_signs *shape, void *param, enum sl_number param_type, size_t n,
                                   const struct sl_adam *adam, const struct sl_cuda_update *update) {
  const sl_cuda_update u = update ? *update : sl_cuda_update{};
  return by_type(param ? param_type : SL_NUMBER_F32, [&](auto zero) {
    using P = decltype(zero);
    return launch(stream, dim3(blocks_of(n, THREADS)), THREADS, 0, adam_kernel<P>, master, m, v, (const char *)packed,
                  *shape, (P *)param, n, *adam, u);
  });
}
