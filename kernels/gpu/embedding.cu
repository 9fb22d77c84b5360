/* Embedding on the GPU (kernels/embedding.h).
 *
 * The scatter-add has one block per token and chunk of columns. The block of a token's first occurrence adds the rows
 * of all its occurrences in order, in registers; the other blocks find an earlier occurrence and exit. There are no
 * races, a table row is rounded once, and no scratch is needed; the price is that the block of a token reads the tokens
 * before it up to its first occurrence, and that of a first occurrence all of them. */
#include "kernels/gpu/device.cuh"
#include "kernels/positions.h"

namespace sl {
namespace {

/* out = dropout(wte[token] + wpe[position]); a token that this part of the table does not hold counts as a zero row. */
template <typename T, int V> struct embedding_op {
  static constexpr int width = V;
  T *out;
  const int32_t *tokens;
  const T *wte, *wpe;
  sl_embedding_shape s;
  mask drop;
  __device__ void begin() {
    drop.begin();
  }
  __device__ void operator()(size_t r, size_t c) const {
    const int32_t token = tokens[r];
    float x[V], position[V];
#pragma unroll
    for (int i = 0; i < V; i++) x[i] = 0;
    if (token >= 0 && (size_t)token >= s.first_row && (size_t)token - s.first_row < s.n_rows) {
      load_v(x, wte + ((size_t)token - s.first_row) * s.C + c);
      if (s.scale != 0) {
#pragma unroll
        for (int i = 0; i < V; i++) x[i] *= s.scale;
      }
      if (wpe) {
        load_v(position, wpe + (s.first_position + sl_position(&s.at, r % s.T)) * s.C + c);
#pragma unroll
        for (int i = 0; i < V; i++) x[i] += position[i];
      }
    }
    if (drop.on) drop.apply(x, drop.first + r * drop.row_stride + c);
    put_v(out + r * s.C + c, x);
  }
};

__device__ inline float masked(float x, const mask &drop, size_t r, size_t c) {
  return drop.on ? x * drop.factor(drop.first + r * drop.row_stride + c) : x;
}

constexpr int threads = 256, per_thread = 4, chunk = threads * per_thread; /* columns per block */
constexpr int in_flight = 4; /* rows that are loaded before the first is added */
constexpr int at_once = 8;   /* earlier tokens that a thread compares before the block asks whether one was equal */

/* The thread's columns [c, c + 4) of row r; zeros past column C. FAST: in one access. */
template <bool FAST, typename T>
__device__ inline void columns_of(float (&x)[per_thread], const T *__restrict__ dout, size_t r, size_t c, size_t C) {
  if (FAST) {
    if (c < C) load_v(x, dout + r * C + c);
  } else {
#pragma unroll
    for (int i = 0; i < per_thread; i++) x[i] = c + (size_t)i < C ? load(dout[r * C + c + (size_t)i]) : 0;
  }
}

/* Adds row w + i for every bit i that is set in `bits`, in order, with a few rows loaded at a time. */
template <bool FAST, typename T>
__device__ inline void add_rows(float (&sum)[per_thread], uint32_t bits, size_t w, const T *__restrict__ dout, size_t c,
                                size_t C, const mask &drop) {
  while (bits) {
    float x[in_flight][per_thread] = {};
    size_t r[in_flight];
    bool here[in_flight];
#pragma unroll
    for (int k = 0; k < in_flight; k++) {
      here[k] = bits != 0;
      r[k] = w + (size_t)(here[k] ? __ffs((int)bits) - 1 : 0);
      if (here[k]) columns_of<FAST>(x[k], dout, r[k], c, C);
      bits &= bits - 1;
    }
#pragma unroll
    for (int k = 0; k < in_flight; k++) {
      if (drop.on && here[k]) drop.apply(x[k], drop.first + r[k] * drop.row_stride + c);
#pragma unroll
      for (int i = 0; i < per_thread; i++) sum[i] += x[k][i];
    }
  }
}

/* Adds the rows of dout whose token is that of row blockIdx.x to the token's row of the table. Does nothing if row
 * blockIdx.x is not the token's first occurrence. */
template <typename W, typename T, bool FAST>
__global__ void __launch_bounds__(threads)
    scatter_kernel(W *dwte, const T *__restrict__ dout, const int32_t *__restrict__ tokens, sl_embedding_shape s,
                   mask drop) {
  __shared__ uint32_t same[threads / 32]; /* one bit per token of a window: whether it is equal to ours */
  const size_t me = blockIdx.x, rows = s.B * s.T, c = (size_t)blockIdx.y * chunk + threadIdx.x * per_thread;
  const int32_t token = tokens[me];
  if (token < 0 || (size_t)token < s.first_row || (size_t)token - s.first_row >= s.n_rows) return;
  for (size_t w = 0; w < me; w += threads * at_once) {
    int before = 0;
#pragma unroll
    for (int k = 0; k < at_once; k++) {
      const size_t r = w + (size_t)k * threads + threadIdx.x;
      before |= r < me && tokens[r] == token;
    }
    if (__syncthreads_or(before)) return;
  }
  drop.begin();
  W *row = dwte + ((size_t)token - s.first_row) * s.C;
  float sum[per_thread] = {};
  for (size_t w = me; w < rows; w += threads) {
    const unsigned ours = __ballot_sync(0xffffffffu, w + threadIdx.x < rows && tokens[w + threadIdx.x] == token);
    __syncthreads(); /* other threads may still read the previous window */
    if (threadIdx.x % 32 == 0) same[threadIdx.x / 32] = ours;
    __syncthreads();
    for (int k = 0; k < threads / 32; k++) add_rows<FAST>(sum, same[k], w + (size_t)k * 32, dout, c, s.C, drop);
  }
#pragma unroll
  for (int i = 0; i < per_thread; i++) {
    if (c + (size_t)i < s.C)
      row[c + (size_t)i] = put<W>(load(row[c + (size_t)i]) + (s.scale != 0 ? sum[i] * s.scale : sum[i]));
  }
}

/* Position `from` + blockIdx.x: adds its rows of all sequences, in order, to what is there or to 0; a position beyond
 * the sequences has none. */
template <typename W, typename T> struct positions_op {
  static constexpr int width = 1;
  W *dwpe;
  const T *dout;
  sl_embedding_shape s;
  mask drop;
  size_t from;
  bool adds;
  __device__ void begin() {
    drop.begin();
  }
  __device__ void operator()(size_t row, size_t c) const {
    const size_t position = from + row;
    const bool known = position >= s.first_position;
    const size_t t = known ? sl_token(&s.at, position - s.first_position, s.T) : s.T;
    const bool here = t < s.T;
    W *dst = dwpe + position * s.C + c;
    float sum = adds ? load(*dst) : 0;
    for (size_t b = 0; here && b < s.B; b++) {
      const size_t r = b * s.T + t;
      sum += masked(load(dout[r * s.C + c]), drop, r, c);
    }
    *dst = put<W>(sum);
  }
};

} /* namespace */
} /* namespace sl */

using namespace sl;

extern "C" int sl_cuda_embedding_forward(sl_cuda_stream stream, enum sl_number type, void *out, const int32_t *tokens,
                                         const void *wte, const void *wpe, const struct sl_embedding_shape *shape,
                                         const struct sl_dropout *dropout, const int64_t *step) {
  const mask drop = mask_of(dropout, step);
  const size_t rows = shape->B * shape->T;
  return by_type(type, [&](auto zero) {
    using T = decltype(zero);
    const T *token = (const T *)wte, *position = (const T *)wpe;
    if (shape->C % wide<T> == 0 && aligned(out, wte, wpe))
      return launch_rows(stream, embedding_op<T, wide<T>>{(T *)out, tokens, token, position, *shape, drop}, rows,
                         shape->C);
    return launch_rows(stream, embedding_op<T, 1>{(T *)out, tokens, token, position, *shape, drop}, rows, shape->C);
  });
}

/* W: the type of the gradients. */
template <typename W, typename T>
static int backward(sl_cuda_stream stream, W *dwte, int accumulate_wte, W *dwpe, size_t n_positions, int accumulate_wpe,
                    const T *dout, const int32_t *tokens, const struct sl_embedding_shape &s, const mask &drop) {
  int error = 0;
  if (!accumulate_wte) error = (int)cudaMemsetAsync(dwte, 0, s.n_rows * s.C * sizeof(W), stream);
  if (error) return error;
  const bool fast = s.C % per_thread == 0 && aligned_to<per_thread>(dout);
  error = launch(stream, dim3((unsigned)(s.B * s.T), blocks_of(s.C, chunk)), threads, 0,
                 fast ? scatter_kernel<W, T, true> : scatter_kernel<W, T, false>, dwte, dout, tokens, s, drop);
  if (error || !dwpe) return error;
  if (accumulate_wpe && s.at.chunk == 0)
    return launch_rows(stream, positions_op<W, T>{dwpe, dout, s, drop, s.first_position, true}, s.T, s.C);
  return launch_rows(stream, positions_op<W, T>{dwpe, dout, s, drop, 0, accumulate_wpe != 0}, n_positions, s.C);
}

extern "C" int sl_cuda_embedding_backward(sl_cuda_stream stream, enum sl_number type, void *dwte, int accumulate_wte,
                                          void *dwpe, size_t n_positions, int accumulate_wpe, int in_fp32,
                                          const void *dout, const int32_t *tokens,
                                          const struct sl_embedding_shape *shape, const struct sl_dropout *dropout,
                                          const int64_t *step) {
  const mask drop = mask_of(dropout, step);
  return by_type(type, [&](auto zero) {
    using T = decltype(zero);
    const T *in = (const T *)dout;
    return in_fp32 ? backward(stream, (float *)dwte, accumulate_wte, (float *)dwpe, n_positions, accumulate_wpe, in,
                              tokens, *shape, drop)
                   : backward(stream, (T *)dwte, accumulate_wte, (T *)dwpe, n_positions, accumulate_wpe, in, tokens,
                              *shape, drop);
  });
}
