/* Which products cuBLASLt has, of those that the backend could ask for. Internal to stand_in_*.c. */
#pragma once

#include "tests/stand_ins/parts.h"

#include <cublasLt.h>

/* cuBLASLt's opaque types: our own records are behind its pointers. */
struct desc {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  int32_t trans_a, trans_b, epilogue;
  cudaDataType_t bias_type; /* or its gradient's; -1: the result's */
  void *bias, *aux;         /* as the epilogue has it, read or written */
  int64_t aux_stride;
};
struct layout {
  cudaDataType_t type;
  enum number number;
  uint64_t rows, columns;
  int64_t stride;
};

bool stand_in_has_product(const struct desc *desc, const struct layout *a, const struct layout *b,
                          const struct layout *d);
