/* One of gemm.c's products as cuBLASLt has it, and how it is run. */
#pragma once

#include "backend/cuda/choices.h"
#include "backend/cuda/cuda.h"

#include <cublasLt.h>
#include <stdint.h>

#define SL_LT_TRY(e)                                                                                                   \
  do {                                                                                                                 \
    const cublasStatus_t lt_code_ = (e);                                                                               \
    if (lt_code_ != CUBLAS_STATUS_SUCCESS) return sl_cuda_lt_failed(#e, lt_code_);                                     \
  } while (0)

/* The key of the cache. It must have no padding, because keys are compared as bytes. */
struct sl_cuda_product_key {
  int64_t m, n, k;
  int32_t trans_a, trans_b, add, tf32, epilogue;
  int32_t type, b_type, out_type, bias_type;
  int32_t align_a, align_b, align_c, align_bias, align_aux;
  int32_t apart;  /* 0; 1: the key of a choice between an epilogue and a kernel of its own */
  int32_t scaled; /* 1: by the inverse scales of a and b */
};

struct sl_cuda_algo {
  struct sl_cuda_product_key key;
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t a, b, c; /* as cuBLASLt names them: a is our b */
  cublasLtMatmulAlgo_t algo;
  bool apart; /* the epilogue is a kernel of its own: cuBLASLt has no algorithm with it, or is slower */
};

struct sl_cuda_gemm {
  cublasLtHandle_t handle;
  void *workspace;
  size_t workspace_bytes;
  struct sl_cuda_algo *entries; /* owned */
  size_t count, capacity;
  unsigned lacked;            /* epilogues whose absence has been reported */
  struct sl_choices *choices; /* NULL: nothing is timed; owned */
  bool timing;                /* products may be run again and again */
};

enum { SL_CUDA_CANDIDATES = 8 }; /* as many as cuBLASLt has been seen to name */

/* Returns the failure of a cuBLASLt call, with the call's name. */
enum sl_status sl_cuda_lt_failed(const char *call, cublasStatus_t code);
/* Runs a product by an algorithm. */
enum sl_status sl_cuda_multiply(const struct sl_cuda_gemm *g, const struct sl_cuda_algo *e, cudaStream_t stream,
                                const struct sl_cuda_product *p, const cublasLtMatmulAlgo_t *algo);
