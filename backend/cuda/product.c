/* Runs a product; see product.h. */
#include "backend/cuda/product.h"

#include <string.h>

enum sl_status sl_cuda_lt_failed(const char *call, cublasStatus_t code) {
  return sl_fail(code == CUBLAS_STATUS_ALLOC_FAILED ? SL_ERR_MEMORY : SL_ERR_INTERNAL, "cuBLAS: %.*s: %s",
                 (int)strcspn(call, "("), call, cublasLtGetStatusName(code));
}

enum sl_status sl_cuda_multiply(const struct sl_cuda_gemm *g, const struct sl_cuda_algo *e, cudaStream_t stream,
                                const struct sl_cuda_product *p, const cublasLtMatmulAlgo_t *algo) {
  const float one = 1, beta = p->add ? 1 : 0;
  SL_LT_TRY(cublasLtMatmul(g->handle, e->desc, &one, p->b, e->a, p->a, e->b, &beta, p->c, e->c, p->c, e->c, algo,
                           g->workspace, g->workspace_bytes, stream));
  return SL_OK;
}
