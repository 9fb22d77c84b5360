/* Adam, AdamW and SGD on the GPU (kernels/master.h, kernels/optimizer.h): one pass that widens and unscales the
 * gradient, clips, updates, and rounds the parameter. */
#include "kernels/gpu/device.cuh"

#include <math.h>

namespace sl {
namespace {

/* The scalars of one step. Each is computed in double and rounded once, as on the host. */
struct adam_scalars {
  float grad_scale, decay_l2, keep, one_minus_b1, b2, one_minus_b2, rate, inv_root, eps;
};

__device__ adam_scalars adam_scalars_of(const sl_adam &a) {
  double c1 = 1, c2 = 1;
  if (a.bias_correction) {
    c1 = 1 - pow(a.beta1, (double)a.step);
    c2 = 1 - pow(a.beta2, (double)a.step);
  }
  adam_scalars s;
  s.grad_scale = (float)a.grad_scale;
  s.decay_l2 = a.decoupled ? 0 : (float)a.weight_decay;
  s.keep = a.decoupled ? (float)(1 - a.lr * a.weight_decay) : 1;
  s.one_minus_b1 = (float)(1 - a.beta1);
  s.b2 = (float)a.beta2;
  s.one_minus_b2 = (float)(1 - a.beta2);
  s.rate = (float)(a.lr / c1);
  s.inv_root = (float)(1 / sqrt(c2));
  s.eps = (float)a.eps;
  return s;
}

/* Completes the settings with values that depend on data. Returns false if the step is skipped. */
template <typename Settings> __device__ bool complete(Settings &a, const sl_cuda_update &update) {
  if (!update.grad_factor) return true;
  a.grad_scale = *update.grad_factor;
  a.lr = *update.lr;
  a.step = *update.step;
  return !(a.grad_scale < 0);
}

template <typename P> __device__ inline void put_param(P *param, size_t i, float x) {
  if (param) param[i] = put<P>(x);
}

constexpr int per_thread = 4, block = 256; /* elements per thread, threads per block */
/* The largest number of blocks for Adam, each of which computes the scalars once: more than run at a time on any GPU,
 * and few compared with the elements. */
constexpr unsigned adam_blocks = 2048;

/* A skipped step changes nothing, but still writes the parameter, whose memory may not have been written yet, because a
 * later copy reads it. */
template <typename P> __device__ void keep_param(const float *master, P *param, size_t n) {
  const size_t first = (size_t)blockIdx.x * block + threadIdx.x, step = (size_t)gridDim.x * block;
  for (size_t i = first; param && i < n; i += step) param[i] = put<P>(master[i]);
}

/* Updates one element: p is the parameter, m and v are the moments. */
__device__ inline void adam_one(float &p, float &m, float &v, float grad, const adam_scalars &s) {
  const float g = grad * s.grad_scale + s.decay_l2 * p;
  m = m + s.one_minus_b1 * (g - m);
  v = s.b2 * v + s.one_minus_b2 * g * g;
  p = s.keep * p - s.rate * (m / (sqrtf(v) * s.inv_root + s.eps));
}

/* Updates elements [i, i + V). */
template <int V, typename G, typename P>
__device__ inline void adam_some(float *__restrict__ master, float *__restrict__ m, float *__restrict__ v,
                                 const G *__restrict__ grad, P *__restrict__ param, size_t i, const adam_scalars &s) {
  float p[V], mi[V], vi[V], g[V];
  load_v(p, master + i), load_v(mi, m + i), load_v(vi, v + i), load_v(g, grad + i);
#pragma unroll
  for (int k = 0; k < V; k++) adam_one(p[k], mi[k], vi[k], g[k], s);
  put_v(m + i, mi), put_v(v + i, vi), put_v(master + i, p);
  if (param) put_v(param + i, p);
}

/* A thread updates V elements at a time, whole vectors first. */
template <typename G, typename P, int V>
__global__ void __launch_bounds__(block)
    adam_kernel(float *__restrict__ master, float *__restrict__ m, float *__restrict__ v, const G *__restrict__ grad,
                P *__restrict__ param, size_t n, sl_adam a, sl_cuda_update update) {
  __shared__ adam_scalars scalars;
  if (!complete(a, update)) return keep_param(master, param, n); /* all threads agree */
  if (threadIdx.x == 0) {
    if (update.beta1) a.beta1 = *update.beta1;
    scalars = adam_scalars_of(a);
  }
  __syncthreads();
  const adam_scalars s = scalars;
  const size_t thread = (size_t)blockIdx.x * block + threadIdx.x, threads = (size_t)gridDim.x * block;
  for (size_t i = thread * V; i + V <= n; i += threads * V) adam_some<V>(master, m, v, grad, param, i, s);
  const size_t rest = n / V * V + thread;
  if (V > 1 && rest < n) adam_some<1>(master, m, v, grad, param, rest, s);
}

template <typename G, typename P>
int launch_adam(sl_cuda_stream stream, float *master, float *m, float *v, const G *grad, P *param, size_t n,
                const sl_adam &adam, const sl_cuda_update &update) {
  const bool fast = aligned(master, m, v) && aligned_to<per_thread>(grad) && aligned_to<per_thread>(param);
  const unsigned blocks = blocks_of(n, per_thread * block);
  return launch(stream, dim3(blocks < adam_blocks ? blocks : adam_blocks), block, 0,
                fast ? adam_kernel<G, P, per_thread> : adam_kernel<G, P, 1>, master, m, v, grad, param, n, adam,
                update);
}

template <typename G, typename P>
__global__ void sgd_kernel(float *master, float *buf, const G *grad, P *param, size_t n, sl_sgd a,
                           sl_cuda_update update) {
  if (!complete(a, update)) return keep_param(master, param, n);
  const float scale = (float)a.grad_scale, decay = (float)a.weight_decay, lr = (float)a.lr;
  const float momentum = (float)a.momentum;
  /* At the first step the buffer may hold anything, even NaN: it must be overwritten without being read. */
  const bool first_step = a.step <= 1;
  const float fresh = first_step ? 1 : (float)(1 - a.dampening);
  const size_t first = (size_t)blockIdx.x * per_thread * block + threadIdx.x;
#pragma unroll
  for (int k = 0; k < per_thread; k++) {
    const size_t i = first + (size_t)k * block;
    if (i >= n) continue;
    float p = master[i], g = load(grad[i]) * scale + decay * p;
    if (momentum != 0) {
      const float b = momentum * (first_step ? 0 : buf[i]) + fresh * g;
      buf[i] = b;
      g = a.nesterov ? g + momentum * b : b;
    }
    p -= lr * g;
    master[i] = p;
    put_param(param, i, p);
  }
}

/* Calls f for the two types. An fp32 copy is rare, so a missing parameter counts as fp32. */
template <typename F> int by_types(enum sl_number grad_type, const void *param, enum sl_number param_type, F f) {
  return by_type(grad_type, [&](auto grad) {
    return by_type(param ? param_type : SL_NUMBER_F32, [&](auto to) { return f(grad, to); });
  });
}

} /* namespace */
} /* namespace sl */

using namespace sl;

extern "C" int sl_cuda_master_adam(sl_cuda_stream stream, float *master, float *m, float *v, const void *grad,
                                   enum sl_number grad_type, void *param, enum sl_number param_type, size_t n,
                                   const struct sl_adam *adam, const struct sl_cuda_update *update) {
  const sl_cuda_update u = update ? *update : sl_cuda_update{};
  return by_types(grad_type, param, param_type, [&](auto from, auto to) {
    using G = decltype(from);
    using P = decltype(to);
    return launch_adam(stream, master, m, v, (const G *)grad, (P *)param, n, *adam, u);
  });
}

extern "C" int sl_cuda_master_sgd(sl_cuda_stream stream, float *master, float *buf, const void *grad,
                                  enum sl_number grad_type, void *param, enum sl_number param_type, size_t n,
                                  const struct sl_sgd *sgd, const struct sl_cuda_update *update) {
  const sl_cuda_update u = update ? *update : sl_cuda_update{};
  return by_types(grad_type, param, param_type, [&](auto from, auto to) {
    using G = decltype(from);
    using P = decltype(to);
    return launch(stream, dim3(blocks_of(n, per_thread * block)), block, 0, sgd_kernel<G, P>, master, buf,
                  (const G *)grad, (P *)param, n, *sgd, u);
  });
}
