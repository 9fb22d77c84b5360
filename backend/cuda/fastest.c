/* The fastest of a product's algorithms; see fastest.h. */
#include "backend/cuda/fastest.h"

#include <math.h>
#include <stdio.h>

enum { ROUNDS = 3 };

/* The seconds of two runs between two events. */
static enum sl_status time_twice(const struct sl_cuda_gemm *g, const struct sl_cuda_algo *e, cudaStream_t stream,
                                 const struct sl_cuda_product *p, const cublasLtMatmulAlgo_t *algo, cudaEvent_t *ends,
                                 double *seconds) {
  float ms;
  SL_CUDA_TRY(cudaEventRecord(ends[0], stream));
  SL_TRY(sl_cuda_multiply(g, e, stream, p, algo));
  SL_TRY(sl_cuda_multiply(g, e, stream, p, algo));
  SL_CUDA_TRY(cudaEventRecord(ends[1], stream));
  SL_CUDA_TRY(cudaEventSynchronize(ends[1]));
  SL_CUDA_TRY(cudaEventElapsedTime(&ms, ends[0], ends[1]));
  *seconds = (double)ms / 1e3;
  return SL_OK;
}

/* Puts the fastest of the candidates first: that of the shortest time of some rounds, the first of which loads its code
 * and does not count. */
static enum sl_status put_fastest_first(const struct sl_cuda_gemm *g, const struct sl_cuda_algo *e, cudaStream_t stream,
                                        const struct sl_cuda_product *p, cublasLtMatmulAlgo_t *algos, int count,
                                        cudaEvent_t *ends) {
  double best[SL_CUDA_CANDIDATES], seconds = 0;
  int first = 0;
  enum sl_status status = SL_OK;
  for (int i = 0; i < count; i++) best[i] = INFINITY;
  for (int round = 0; round <= ROUNDS && status == SL_OK; round++)
    for (int i = 0; i < count && status == SL_OK; i++) {
      status = time_twice(g, e, stream, p, &algos[i], ends, &seconds);
      if (status == SL_OK && round > 0) best[i] = fmin(best[i], seconds);
    }
  for (int i = 1; i < count; i++)
    if (best[i] < best[first]) first = i;
  algos[0] = algos[first];
  return status;
}

static enum sl_status time_all(const struct sl_cuda_gemm *g, const struct sl_cuda_algo *e, cudaStream_t stream,
                               const struct sl_cuda_product *p, cublasLtMatmulAlgo_t *algos, int count) {
  cudaEvent_t ends[2] = {NULL, NULL};
  cudaError_t code = cudaEventCreate(&ends[0]);
  if (code == cudaSuccess) code = cudaEventCreate(&ends[1]);
  const enum sl_status status = code == cudaSuccess ? put_fastest_first(g, e, stream, p, algos, count, ends)
                                                    : sl_cuda_failed("cudaEventCreate", code);
  for (int i = 0; i < 2; i++)
    if (ends[i]) sl_cuda_release("cudaEventDestroy", cudaEventDestroy(ends[i]));
  return status;
}

/* Whether an algorithm from the disk can be used here. */
static bool works(const struct sl_cuda_gemm *g, const struct sl_cuda_algo *e, const cublasLtMatmulAlgo_t *algo) {
  cublasLtMatmulHeuristicResult_t result;
  const cublasStatus_t code = cublasLtMatmulAlgoCheck(g->handle, e->desc, e->a, e->b, e->c, e->c, algo, &result);
  return code == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= g->workspace_bytes;
}

enum sl_status sl_cuda_fastest(const struct sl_cuda_gemm *g, struct sl_cuda_algo *e, cudaStream_t stream,
                               const struct sl_cuda_product *p, cublasLtMatmulAlgo_t *algos, int count) {
  cublasLtMatmulAlgo_t kept;
  bool made;
  e->algo = algos[0];
  if (!g->choices || !g->timing) return SL_OK;
  SL_TRY(sl_choices_begin(g->choices, &e->key, sizeof e->key, &kept, sizeof kept, &made));
  if (made) {
    if (works(g, e, &kept)) e->algo = kept;
    return SL_OK;
  }
  const enum sl_status status = count > 1 ? time_all(g, e, stream, p, algos, count) : SL_OK;
  sl_choices_end(g->choices, &e->key, sizeof e->key, status == SL_OK ? &algos[0] : NULL, sizeof algos[0]);
  e->algo = algos[0];
  return status;
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
