/* Casts to 8 bits on the GPU (kernels/fp8.h): a block casts a tile of 64 x 64, and transposes it in shared memory. */
#include "kernels/fp8_code.h"
#include "kernels/gpu/device.cuh"

namespace sl {
namespace {

enum { TILE = 64, THREADS = 256, PADDING = 4 };

struct matrix {
  size_t rows, columns;
  unsigned across; /* tiles in a row of them */
};

/* V codes in one access. */
template <int V> __device__ void put_codes(uint8_t *to, const uint8_t (&codes)[V]) {
  pack<uint8_t, V> p;
#pragma unroll
  for (int i = 0; i < V; i++) p.x[i] = codes[i];
  *reinterpret_cast<pack<uint8_t, V> *>(to) = p;
}

template <typename T, int V, enum sl_fp8 F>
__global__ void cast_kernel(matrix m, uint8_t *out, uint8_t *transposed, const T *x, const float *scale, float *amax) {
  __shared__ uint8_t tile[TILE][TILE + PADDING];
  const size_t row = (size_t)(blockIdx.x / m.across) * TILE, column = (size_t)(blockIdx.x % m.across) * TILE;
  const unsigned each = TILE / V, step = THREADS / each, place = threadIdx.x % each * V;
  const float s = *scale;
  float largest = 0;
  for (unsigned r = threadIdx.x / each; r < TILE; r += step) {
    if (row + r >= m.rows || column + place >= m.columns) continue;
    const size_t at = (row + r) * m.columns + column + place;
    float y[V];
    uint8_t codes[V];
    load_v<V>(y, x + at);
#pragma unroll
    for (int i = 0; i < V; i++) {
      largest = fmaxf(largest, fabsf(y[i]));
      tile[r][place + i] = codes[i] = sl_fp8_code(y[i] * s, F);
    }
    if (out) put_codes<V>(out + at, codes);
  }
  largest = block_max(largest);
  /* magnitudes are ordered as the integers that their bits are, and a maximum is the same in any order */
  if (threadIdx.x == 0 && largest > 0) atomicMax((int *)amax, __float_as_int(largest));
  __syncthreads();
  if (!transposed) return;
  for (unsigned c = threadIdx.x / each; c < TILE; c += step) {
    if (column + c >= m.columns || row + place >= m.rows) continue;
    uint8_t codes[V];
#pragma unroll
    for (int i = 0; i < V; i++) codes[i] = tile[place + i][c];
    put_codes<V>(transposed + (column + c) * m.rows + row + place, codes);
  }
}

/* One block per factor. Histories move by one place, from their end on: a thread reads its number before the barrier and
 * writes it to the next place behind it. */
__global__ void scale_kernel(float *scale, float *amax, float *history, size_t H, struct sl_fp8_rule rule) {
  const size_t i = blockIdx.x;
  const float newest = amax[i];
  float *of = history + i * H, *pair = scale + 2 * i, largest = 0;
  if (newest == 0) return;
  for (size_t end = (H + THREADS - 1) / THREADS * THREADS; end > 0; end -= THREADS) {
    const size_t k = end - THREADS + threadIdx.x;
    const float a = k >= H ? 0 : k > 0 ? of[k - 1] : newest;
    largest = fmaxf(largest, a);
    __syncthreads();
    if (k < H) of[k] = a;
  }
  largest = block_max(largest);
  if (threadIdx.x > 0) return;
  amax[i] = 0;
  pair[0] = sl_fp8_next_scale(rule.most_recent ? newest : largest, pair[0], rule, i);
  pair[1] = 1 / pair[0];
}

template <typename T, int V>
int cast(sl_cuda_stream stream, uint8_t *out, uint8_t *transposed, const T *x, size_t R, size_t C, enum sl_fp8 format,
         const float *scale, float *amax) {
  const matrix m = {R, C, blocks_of(C, TILE)};
  const auto kernel = format == SL_FP8_E4M3 ? cast_kernel<T, V, SL_FP8_E4M3> : cast_kernel<T, V, SL_FP8_E5M2>;
  return launch(stream, dim3(m.across * blocks_of(R, TILE)), THREADS, 0, kernel, m, out, transposed, x, scale, amax);
}

} /* namespace */
} /* namespace sl */

using namespace sl;

extern "C" int sl_cuda_fp8_cast(sl_cuda_stream stream, enum sl_number type, uint8_t *out, uint8_t *transposed,
                                const void *x, size_t R, size_t C, enum sl_fp8 format, const float *scale,
                                float *amax) {
  return by_type(type, [&](auto zero) {
    using T = decltype(zero);
    const bool whole =
        R % 4 == 0 && C % 4 == 0 && aligned_to<4>((const T *)x) && aligned_to<4>(out) && aligned_to<4>(transposed);
    return whole ? cast<T, 4>(stream, out, transposed, (const T *)x, R, C, format, scale, amax)
                 : cast<T, 1>(stream, out, transposed, (const T *)x, R, C, format, scale, amax);
  });
}

extern "C" int sl_cuda_fp8_scale(sl_cuda_stream stream, float *scale, float *amax, float *history, size_t n, size_t H,
                                 struct sl_fp8_rule rule) {
  return launch(stream, dim3((unsigned)n), THREADS, 0, scale_kernel, scale, amax, history, H, rule);
}
