/* The fastest of a product's algorithms; see fastest.h. */
#include "backend/cuda/fastest.h"

#include <math.h>
#include <stdio.h>

enum { ROUNDS = 3 };

/* Some ways to compute the same: run(of, i) enqueues the i-th. */
struct ways {
  int count;
  enum sl_status (*run)(const void *of, int i);
  const void *of;
};

/* The seconds of two runs between two events. */
static enum sl_status time_twice(const struct ways *w, int i, cudaStream_t stream, cudaEvent_t *ends, double *seconds) {
  float ms;
  SL_CUDA_TRY(cudaEventRecord(ends[0], stream));
  SL_TRY(w->run(w->of, i));
  SL_TRY(w->run(w->of, i));
  SL_CUDA_TRY(cudaEventRecord(ends[1], stream));
  SL_CUDA_TRY(cudaEventSynchronize(ends[1]));
  SL_CUDA_TRY(cudaEventElapsedTime(&ms, ends[0], ends[1]));
  *seconds = (double)ms / 1e3;
  return SL_OK;
}

/* *first: the fastest way, by the shortest time of some rounds, the first of which loads code and does not count. */
static enum sl_status race(const struct ways *w, cudaStream_t stream, cudaEvent_t *ends, int *first) {
  double best[SL_CUDA_CANDIDATES], seconds = 0;
  enum sl_status status = SL_OK;
  *first = 0;
  for (int i = 0; i < w->count; i++) best[i] = INFINITY;
  for (int round = 0; round <= ROUNDS && status == SL_OK; round++)
    for (int i = 0; i < w->count && status == SL_OK; i++) {
      status = time_twice(w, i, stream, ends, &seconds);
      if (status == SL_OK && round > 0) best[i] = fmin(best[i], seconds);
    }
  for (int i = 1; i < w->count; i++)
    if (best[i] < best[*first]) *first = i;
  return status;
}

static enum sl_status find_fastest(const struct ways *w, cudaStream_t stream, int *first) {
  cudaEvent_t ends[2] = {NULL, NULL};
  cudaError_t code = cudaEventCreate(&ends[0]);
  if (code == cudaSuccess) code = cudaEventCreate(&ends[1]);
  const enum sl_status status =
      code == cudaSuccess ? race(w, stream, ends, first) : sl_cuda_failed("cudaEventCreate", code);
  for (int i = 0; i < 2; i++)
    if (ends[i]) sl_cuda_release("cudaEventDestroy", cudaEventDestroy(ends[i]));
  return status;
}

/* ---- the algorithms of a product ---- */

struct candidates {
  const struct sl_cuda_gemm *g;
  const struct sl_cuda_algo *e;
  const struct sl_cuda_product *p;
  const cublasLtMatmulAlgo_t *algos;
  cudaStream_t stream;
};

static enum sl_status run_candidate(const void *of, int i) {
  const struct candidates *c = of;
  return sl_cuda_multiply(c->g, c->e, c->stream, c->p, &c->algos[i]);
}

/* Whether an algorithm from the disk can be used here. */
static bool works(const struct sl_cuda_gemm *g, const struct sl_cuda_algo *e, const cublasLtMatmulAlgo_t *algo) {
  cublasLtMatmulHeuristicResult_t result;
  const cublasStatus_t code = cublasLtMatmulAlgoCheck(g->handle, e->desc, e->a, e->b, e->c, e->c, algo, &result);
  return code == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= g->workspace_bytes;
}

enum sl_status sl_cuda_fastest(const struct sl_cuda_gemm *g, struct sl_cuda_algo *e, cudaStream_t stream,
                               const struct sl_cuda_product *p, const cublasLtMatmulAlgo_t *algos, int count) {
  cublasLtMatmulAlgo_t kept;
  bool made;
  e->algo = algos[0];
  if (!g->choices || !g->timing) return SL_OK;
  SL_TRY(sl_choices_begin(g->choices, &e->key, sizeof e->key, &kept, sizeof kept, &made));
  if (made) {
    if (works(g, e, &kept)) e->algo = kept;
    return SL_OK;
  }
  int first = 0;
  const struct candidates all = {g, e, p, algos, stream};
  const struct ways ways = {count, run_candidate, &all};
  const enum sl_status status = count > 1 ? find_fastest(&ways, stream, &first) : SL_OK;
  e->algo = algos[first];
  sl_choices_end(g->choices, &e->key, sizeof e->key, status == SL_OK ? &e->algo : NULL, sizeof e->algo);
  return status;
}

/* ---- an epilogue, or a kernel of its own ---- */

struct both {
  const struct sl_cuda_gemm *g;
  const struct sl_cuda_algo *e;
  const struct sl_cuda_product *p;
  cudaStream_t stream;
  const struct sl_cuda_apart *apart;
};

static enum sl_status run_either(const void *of, int i) {
  const struct both *b = of;
  return i == 0 ? sl_cuda_multiply(b->g, b->e, b->stream, b->p, &b->e->algo) : b->apart->run(b->apart->of, b->p);
}

enum sl_status sl_cuda_prefer(const struct sl_cuda_gemm *g, struct sl_cuda_algo *e, cudaStream_t stream,
                              const struct sl_cuda_product *p, const struct sl_cuda_apart *apart) {
  struct sl_cuda_product_key key = e->key;
  int32_t kept;
  bool made;
  key.apart = 1;
  SL_TRY(apart->run(apart->of, p)); /* its product makes its own choice, before the file is locked */
  SL_TRY(sl_choices_begin(g->choices, &key, sizeof key, &kept, sizeof kept, &made));
  if (!made) {
    int first = 0;
    const struct both all = {g, e, p, stream, apart};
    const struct ways ways = {2, run_either, &all};
    const enum sl_status status = find_fastest(&ways, stream, &first);
    kept = first;
    sl_choices_end(g->choices, &key, sizeof key, status == SL_OK ? &kept : NULL, sizeof kept);
    SL_TRY(status);
  }
  e->apart = kept == 1;
  return SL_OK;
}

/* What the fastest algorithm depends on, and the bytes that name a product. */
enum sl_status sl_cuda_fastest_open(struct sl_cuda_gemm *g, int device) {
  struct cudaDeviceProp facts;
  char about[512], driver[32] = "?";
  SL_CUDA_TRY(cudaGetDeviceProperties(&facts, device));
  sl_cuda_driver_version(driver, sizeof driver);
  snprintf(about, sizeof about, "products on %s, driver %s, cuBLASLt %zu, workspace %zu, key %zu", facts.name, driver,
           cublasLtGetVersion(), g->workspace_bytes, sizeof(struct sl_cuda_product_key));
  return sl_choices_open(&g->choices, about);
}
