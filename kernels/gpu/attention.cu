/* Causal attention that materialises the probabilities, on the GPU (kernels/attention.h). A block handles one query,
 * or, for dk and dv, one key; products are not tiled. It is the reference for flash attention and serves small
 * shapes. */
#include "kernels/gpu/attention.cuh"

namespace sl {
namespace {

constexpr int threads = 128;

template <typename T> __device__ inline float dot(const float *a, const T *b, size_t n) {
  float sum = 0;
  for (size_t d = 0; d < n; d++) sum += a[d] * load(b[d]);
  return sum;
}

/* The floats of shared memory for a row of D. What another thread writes meanwhile lies behind a boundary of 16 bytes:
 * ptxas reads so many where dot's last round needs fewer, and racecheck cannot know that the others are not used. */
__host__ __device__ inline size_t room(size_t D) {
  return (D + 3) / 4 * 4;
}

/* The sequence, head and query of a block. */
struct place {
  size_t b, h, t;
};
__device__ inline place place_of(const sl_attention_shape &s) {
  place p;
  p.t = blockIdx.x % s.T;
  p.h = blockIdx.x / s.T % s.H;
  p.b = blockIdx.x / s.T / s.H;
  return p;
}

template <typename T>
__global__ void __launch_bounds__(threads, 6)
    forward_kernel(T *out, T *probs, const T *q, const T *k, const T *v, heads a) {
  SL_DYNAMIC_SHARED(shared);
  const sl_attention_shape &s = a.s;
  float *query = (float *)shared, *scores = query + room(s.D); /* (D), (T) */
  const place p = place_of(s);
  const size_t g = a.kv_of(p.h), n = p.t + 1, from = a.first_key(p.t);
  const float scale = a.scale(), slope = a.slope(p.h);
  a.drop.begin();
  for (size_t d = threadIdx.x; d < s.D; d += threads) query[d] = load(q[a.q_at(p.b, p.t, p.h) + d]) * scale;
  __syncthreads();
  float max = -INFINITY, sum = 0;
  for (size_t i = from + threadIdx.x; i < n; i += threads) {
    float by;
    scores[i] = a.score(dot(query, k + a.k_at(p.b, i, g), s.D), slope, p.t, i, &by);
    max = fmaxf(max, scores[i]);
  }
  max = block_max(max);
  for (size_t i = from + threadIdx.x; i < n; i += threads) sum += scores[i] = expf(scores[i] - max);
  const float inverse = 1 / block_sum(sum);
  T *row = probs + (size_t)blockIdx.x * s.T;
  const uint64_t element = a.element(p.b, p.h, p.t);
  for (size_t i = threadIdx.x; i < s.T; i += threads) {
    const bool seen = i >= from && i < n;
    const float x = seen ? scores[i] * inverse : 0;
    row[i] = put<T>(x);
    if (seen) scores[i] = x * a.kept(element, i);
  }
  __syncthreads();
  for (size_t d = threadIdx.x; d < s.D; d += threads) {
    float total = 0;
    for (size_t i = from; i < n; i++) total += scores[i] * load(v[a.v_at(p.b, i, g) + d]);
    out[a.out_at(p.b, p.t, p.h) + d] = put<T>(total);
  }
}

/* For every query, writes the sum over keys of P dP into its row of dq. */
template <typename T>
__global__ void __launch_bounds__(threads) dots_kernel(T *dq, const T *dout, const T *v, const T *probs, heads a) {
  SL_DYNAMIC_SHARED(shared);
  const sl_attention_shape &s = a.s;
  float *grad = (float *)shared; /* (D) */
  const place p = place_of(s);
  const size_t g = a.kv_of(p.h);
  a.drop.begin();
  for (size_t d = threadIdx.x; d < s.D; d += threads) grad[d] = load(dout[a.out_at(p.b, p.t, p.h) + d]);
  __syncthreads();
  const T *row = probs + (size_t)blockIdx.x * s.T;
  const uint64_t element = a.element(p.b, p.h, p.t);
  float sum = 0;
  for (size_t i = a.first_key(p.t) + threadIdx.x; i <= p.t; i += threads)
    sum += load(row[i]) * dot(grad, v + a.v_at(p.b, i, g), s.D) * a.kept(element, i);
  sum = block_sum(sum);
  if (threadIdx.x == 0) stash(dq + a.q_at(p.b, p.t, p.h), sum);
}

/* One key's rows of dk and dv. For `threads` queries at a time, each thread computes one query's ds and masked
 * probability, and then every thread adds all of them up for its elements of the two rows. */
template <typename T>
__global__ void __launch_bounds__(threads, 6)
    keys_kernel(T *dk, T *dv, const T *dq, const T *dout, const T *q, const T *k, const T *v, const T *probs, heads a) {
  SL_DYNAMIC_SHARED(shared);
  const sl_attention_shape &s = a.s;
  float *value = (float *)shared, *mine = value + room(s.D), *sum_k = mine + room(s.D), *sum_v = sum_k + room(s.D);
  float *ds = sum_v + room(s.D), *masked = ds + threads; /* (D) four times, (threads) twice */
  const size_t key = blockIdx.x % s.T, g = blockIdx.x / s.T % s.KV, b = blockIdx.x / s.T / s.KV;
  const float scale = a.scale();
  a.drop.begin();
  for (size_t d = threadIdx.x; d < s.D; d += threads) {
    mine[d] = load(k[a.k_at(b, key, g) + d]);
    value[d] = load(v[a.v_at(b, key, g) + d]);
    sum_k[d] = sum_v[d] = 0;
  }
  for (size_t h = g * (s.H / s.KV); h < (g + 1) * (s.H / s.KV); h++) {
    const size_t end = a.last_query(key);
    for (size_t t0 = key; t0 < end; t0 += threads) {
      const size_t t = t0 + threadIdx.x, n = end - t0 < threads ? end - t0 : threads;
      __syncthreads(); /* other threads may still read ds and masked, or write value */
      if (t < end) {
        const float p = load(probs[((b * s.H + h) * s.T + t) * s.T + key]), kept = a.kept(a.element(b, h, t), key);
        const float dp = dot(value, dout + a.out_at(b, t, h), s.D) * kept;
        masked[threadIdx.x] = p * kept;
        float by = 1;
        if (s.cap > 0) a.score(dot(mine, q + a.q_at(b, t, h), s.D) * scale, 0, t, key, &by);
        ds[threadIdx.x] = p * (dp - stashed(dq + a.q_at(b, t, h))) * scale * by;
      }
      __syncthreads();
      for (size_t d = threadIdx.x; d < s.D; d += threads) {
        for (size_t i = 0; i < n; i++) {
          sum_k[d] += ds[i] * load(q[a.q_at(b, t0 + i, h) + d]);
          sum_v[d] += masked[i] * load(dout[a.out_at(b, t0 + i, h) + d]);
        }
      }
    }
  }
  for (size_t d = threadIdx.x; d < s.D; d += threads) {
    dk[a.k_at(b, key, g) + d] = put<T>(sum_k[d]);
    dv[a.v_at(b, key, g) + d] = put<T>(sum_v[d]);
  }
}

template <typename T>
__global__ void __launch_bounds__(threads, 9)
    queries_kernel(T *dq, const T *dout, const T *q, const T *k, const T *v, const T *probs, heads a) {
  SL_DYNAMIC_SHARED(shared);
  const sl_attention_shape &s = a.s;
  float *grad = (float *)shared, *query = grad + room(s.D), *ds = query + room(s.D); /* (D), (D), (T) */
  const place p = place_of(s);
  const size_t g = a.kv_of(p.h), at = a.q_at(p.b, p.t, p.h);
  const float scale = a.scale(), total = stashed(dq + at);
  a.drop.begin();
  for (size_t d = threadIdx.x; d < s.D; d += threads) {
    grad[d] = load(dout[a.out_at(p.b, p.t, p.h) + d]);
    query[d] = load(q[at + d]) * scale;
  }
  __syncthreads();
  const T *row = probs + (size_t)blockIdx.x * s.T;
  const uint64_t element = a.element(p.b, p.h, p.t);
  const size_t from = a.first_key(p.t);
  for (size_t i = from + threadIdx.x; i <= p.t; i += threads) {
    const float dp = dot(grad, v + a.v_at(p.b, i, g), s.D) * a.kept(element, i);
    float by = 1;
    if (s.cap > 0) a.score(dot(query, k + a.k_at(p.b, i, g), s.D), 0, p.t, i, &by);
    ds[i] = load(row[i]) * (dp - total) * scale * by;
  }
  __syncthreads(); /* in addition, every thread must have read `total` before a row of dq is written */
  for (size_t d = threadIdx.x; d < s.D; d += threads) {
    float sum = 0;
    for (size_t i = from; i <= p.t; i++) sum += ds[i] * load(k[a.k_at(p.b, i, g) + d]);
    dq[at + d] = put<T>(sum);
  }
}

template <typename T>
int backward(sl_cuda_stream stream, T *dq, T *dk, T *dv, const T *dout, const T *q, const T *k, const T *v,
             const T *probs, const heads &a) {
  const sl_attention_shape &s = a.s;
  if (!can_stash<T>(&s)) return (int)cudaErrorInvalidValue;
  const dim3 queries((unsigned)(s.B * s.H * s.T)), keys((unsigned)(s.B * s.KV * s.T));
  int error = launch(stream, queries, threads, s.D * sizeof(float), dots_kernel<T>, dq, dout, v, probs, a);
  if (error) return error;
  error = launch(stream, keys, threads, (4 * room(s.D) + 2 * threads) * sizeof(float), keys_kernel<T>, dk, dv, dq, dout,
                 q, k, v, probs, a);
  if (error) return error;
  return launch(stream, queries, threads, (2 * room(s.D) + s.T) * sizeof(float), queries_kernel<T>, dq, dout, q, k, v,
                probs, a);
}

} /* namespace */
} /* namespace sl */

using namespace sl;

extern "C" int sl_cuda_attention_forward(sl_cuda_stream stream, enum sl_number type, void *out, void *probs,
                                         const void *q, const void *k, const void *v,
                                         const struct sl_attention_shape *shape, const struct sl_dropout *dropout,
                                         const int64_t *step) {
  const heads a = heads_of(shape, dropout, step);
  const size_t blocks = shape->B * shape->H * shape->T;
  return by_type(type, [&](auto zero) {
    using T = decltype(zero);
    return launch(stream, dim3((unsigned)blocks), threads, (room(shape->D) + shape->T) * sizeof(float),
                  forward_kernel<T>, (T *)out, (T *)probs, (const T *)q, (const T *)k, (const T *)v, a);
  });
}

extern "C" int sl_cuda_attention_backward(sl_cuda_stream stream, enum sl_number type, void *dq, void *dk, void *dv,
                                          const void *dout, const void *q, const void *k, const void *v,
                                          const void *probs, const struct sl_attention_shape *shape,
                                          const struct sl_dropout *dropout, const int64_t *step) {
  const heads a = heads_of(shape, dropout, step);
  return by_type(type, [&](auto zero) {
    using T = decltype(zero);
    return backward(stream, (T *)dq, (T *)dk, (T *)dv, (const T *)dout, (const T *)q, (const T *)k, (const T *)v,
                    (const T *)probs, a);
  });
}
