/* Which of cuBLASLt's candidates for a product is taken (gemm.c says why). */
#pragma once

#include "backend/cuda/product.h"

/* Opens the choices of this device. Errors: those of CUDA and of sl_choices_open. */
enum sl_status sl_cuda_fastest_open(struct sl_cuda_gemm *g, int device);
/* Sets e->algo to the one of the `count` > 0 candidates that is kept for this product, or is now the fastest; or to the
 * first where nothing may be timed. */
enum sl_status sl_cuda_fastest(const struct sl_cuda_gemm *g, struct sl_cuda_algo *e, cudaStream_t stream,
                               const struct sl_cuda_product *p, const cublasLtMatmulAlgo_t *algos, int count);
/* Sets e->apart if a product whose epilogue is a kernel of its own is faster than the one with an epilogue, as is kept
 * for it or is now timed, which writes its results. Choices are open, and timing is allowed. */
enum sl_status sl_cuda_prefer(const struct sl_cuda_gemm *g, struct sl_cuda_algo *e, cudaStream_t stream,
                              const struct sl_cuda_product *p, const struct sl_cuda_apart *apart);
