/* Softmax cross-entropy on the GPU (kernels/classifier.h). A block handles a row: one pass finds its maximum and the
 * sum of exponentials together, and a second one, from the cache, writes the gradient. The probabilities are not stored
 * anywhere else. */
#include "kernels/gpu/device.cuh"

#include <float.h>
#include <math.h>

namespace sl {
namespace {

constexpr int threads = 512;

/* Calls f(i, v) for the thread's elements of a row of n, where v is one element or a vector of them, from the i-th on.
 * With REPLACE they become what f leaves in v. A row may start anywhere (a vocabulary is often odd): single elements up
 * to a boundary of 16 bytes, then vectors. */
template <bool REPLACE, typename T, typename F> __device__ inline void each(T *x, unsigned n, F f) {
  constexpr int V = wide<T>;
  const unsigned off = (unsigned)((uintptr_t)x % 16 / sizeof(T)), lead = off ? V - off : 0, head = lead < n ? lead : n;
  const unsigned body = (n - head) / V;
  for (unsigned i = threadIdx.x; i < n - body * V; i += threads) { /* head and tail */
    const unsigned at = i < head ? i : i + body * V;
    float one[1] = {load(x[at])};
    f(at, one);
    if (REPLACE) x[at] = put<T>(one[0]);
  }
  T *const vectors = x + head;
#pragma unroll(REPLACE ? 1 : 2)
  for (unsigned k = threadIdx.x; k < body; k += threads) {
    float v[V];
    load_v(v, vectors + (size_t)k * V);
    f(head + k * V, v);
    if (REPLACE) put_v(vectors + (size_t)k * V, v);
  }
}

constexpr float log2_of_e = 1.44269504F;

struct row {
  float max;  /* of this member's columns; finite */
  double sum; /* of exp(x - max) */
};

/* A thread's running maximum and sum. New elements multiply the earlier sum by one factor, without a branch. */
struct grown {
  float max, sum;
  template <int V> __device__ void add(const float (&v)[V]) {
    float here = max, some = 0;
#pragma unroll
    for (int i = 0; i < V; i++) here = fmaxf(here, v[i]);
#pragma unroll
    for (int i = 0; i < V; i++) some += exp2_fast((v[i] - here) * log2_of_e);
    sum = sum * exp2_fast((max - here) * log2_of_e) + some;
    max = here;
  }
};

/* The maximum and sum of a row. A NaN or an infinity anywhere makes the sum NaN. */
template <typename T> __device__ row row_of(const T *x, unsigned n) {
  grown g = {-FLT_MAX, 0};
  each<false>(const_cast<T *>(x), n, [&](unsigned, const auto &v) { g.add(v); });
  row r;
  r.max = block_max(g.max);
  r.sum = block_sum((double)g.sum * exp((double)g.max - (double)r.max));
  return r;
}

/* The statistics of the whole row, computed here or combined from its members'. */
struct whole {
  double max, sum, target;
};

template <int V>
__device__ inline void soft(float (&v)[V], unsigned from, unsigned target, float at_target, float factor, float max) {
#pragma unroll
  for (int i = 0; i < V; i++)
    v[i] = from + (unsigned)i == target ? at_target : exp2_fast((v[i] - max) * log2_of_e) * factor;
}

/* (softmax - onehot) * scale in the n columns of this member. `target` is the index of the target's column, or >= n if
 * another member has it. */
template <typename T>
__device__ void gradient(T *x, unsigned n, unsigned target, const whole &w, float local_max, double scale) {
  const float factor = (float)(exp((double)local_max - w.max) / w.sum * scale);
  const float at_target = (float)((exp(w.target - w.max) / w.sum - 1) * scale); /* in double: p may be close to 1 */
  each<true>(x, n, [&](unsigned i, auto &v) { soft(v, i, target, at_target, factor, local_max); });
}

template <typename T> __device__ void clear(T *x, size_t from, size_t to) {
  for (size_t i = from + threadIdx.x; i < to; i += threads) x[i] = put<T>(0);
}

template <typename T>
__global__ void __launch_bounds__(threads) fused_kernel(double *losses, T *logits, const int32_t *targets, size_t V,
                                                        size_t total, double scale, const double *loss_scale) {
  const size_t n = blockIdx.x;
  T *x = logits + n * V;
  const int32_t target = targets[n];
  if (target < 0) { /* ignored target */
    clear(x, 0, V);
    if (threadIdx.x == 0) losses[n] = 0;
    return;
  }
  const row r = row_of(x, (unsigned)total);
  const whole w = {r.max, r.sum, load(x[target])};
  __syncthreads(); /* all threads have read the target's logit */
  gradient(x, (unsigned)total, (unsigned)target, w, r.max, loss_scale ? scale * *loss_scale : scale);
  clear(x, total, V);
  if (threadIdx.x == 0) losses[n] = log(w.sum) + (w.max - w.target);
}

/* How many of the V columns from `first` on exist. */
__host__ __device__ inline size_t held_columns(size_t V, size_t first, size_t total) {
  return first >= total ? 0 : total - first < V ? total - first : V;
}

template <typename T>
__global__ void __launch_bounds__(threads)
    stats_kernel(float *stats, const T *logits, const int32_t *targets, size_t V, size_t first, size_t held) {
  const size_t n = blockIdx.x;
  const T *x = logits + n * V;
  const row r = row_of(x, (unsigned)held);
  if (threadIdx.x > 0) return;
  const int32_t target = targets[n];
  const bool here = target >= 0 && (size_t)target >= first && (size_t)target - first < held;
  stats[3 * n] = held > 0 ? r.max : -INFINITY;
  stats[3 * n + 1] = held > 0 ? (float)r.sum : 0;
  stats[3 * n + 2] = here ? load(x[(size_t)target - first]) : 0;
}

/* A member without columns contributes nothing; a NaN makes the whole row NaN, as it should. */
__device__ whole whole_row(const float *stats, size_t stride, size_t members) {
  whole w = {-INFINITY, 0, 0};
  for (size_t m = 0; m < members; m++) {
    const double max = stats[m * stride];
    w.max = max > w.max ? max : w.max;
    w.target += stats[m * stride + 2];
  }
  for (size_t m = 0; m < members; m++) {
    const double max = stats[m * stride];
    if (max != -INFINITY) w.sum += stats[m * stride + 1] * exp(max - w.max);
  }
  return w;
}

template <typename T>
__global__ void __launch_bounds__(threads)
    shard_kernel(double *losses, T *logits, const int32_t *targets, const float *stats, size_t N, size_t V,
                 size_t first, size_t held, size_t members, double scale, const double *loss_scale) {
  const size_t n = blockIdx.x;
  T *x = logits + n * V;
  const int32_t target = targets[n];
  if (target < 0) {
    clear(x, 0, V);
    if (threadIdx.x == 0) losses[n] = 0;
    return;
  }
  const whole w = whole_row(stats + 3 * n, 3 * N, members);
  const size_t column = (size_t)target >= first ? (size_t)target - first : held;
  gradient(x, (unsigned)held, (unsigned)column, w, stats[3 * (first / V * N + n)],
           loss_scale ? scale * *loss_scale : scale);
  clear(x, held, V);
  if (threadIdx.x == 0) losses[n] = log(w.sum) + (w.max - w.target);
}

/* *loss_sum += scale * sum of the losses. */
__global__ void losses_kernel(double *loss_sum, const double *losses, size_t N, double scale) {
  double sum = 0;
  for (size_t n = threadIdx.x; n < N; n += blockDim.x) sum += losses[n];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *loss_sum += scale * sum;
}

int add_losses(sl_cuda_stream stream, double *loss_sum, const double *losses, size_t N, double scale) {
  return loss_sum ? launch(stream, dim3(1), 512, 0, losses_kernel, loss_sum, losses, N, scale) : 0;
}

} /* namespace */
} /* namespace sl */

using namespace sl;

extern "C" int sl_cuda_classifier_fused(sl_cuda_stream stream, enum sl_number type, double *loss_sum, double *losses,
                                        void *logits, const int32_t *targets, size_t N, size_t V, size_t total,
                                        double scale, const double *loss_scale) {
  const int error = by_type(type, [&](auto zero) {
    using T = decltype(zero);
    return launch(stream, dim3((unsigned)N), threads, 0, fused_kernel<T>, losses, (T *)logits, targets, V, total, scale,
                  loss_scale);
  });
  return error ? error : add_losses(stream, loss_sum, losses, N, scale);
}

extern "C" int sl_cuda_classifier_stats(sl_cuda_stream stream, enum sl_number type, float *stats, const void *logits,
                                        const int32_t *targets, size_t N, size_t V, size_t first, size_t total) {
  return by_type(type, [&](auto zero) {
    using T = decltype(zero);
    return launch(stream, dim3((unsigned)N), threads, 0, stats_kernel<T>, stats, (const T *)logits, targets, V, first,
                  held_columns(V, first, total));
  });
}

extern "C" int sl_cuda_classifier_shard(sl_cuda_stream stream, enum sl_number type, double *loss_sum, double *losses,
                                        void *logits, const int32_t *targets, const float *stats, size_t N, size_t V,
                                        size_t first, size_t total, size_t members, double scale,
                                        const double *loss_scale) {
  const int error = by_type(type, [&](auto zero) {
    using T = decltype(zero);
    return launch(stream, dim3((unsigned)N), threads, 0, shard_kernel<T>, losses, (T *)logits, targets, stats, N, V,
                  first, held_columns(V, first, total), members, scale, loss_scale);
  });
  return error ? error : add_losses(stream, loss_sum, losses, N, scale);
}
