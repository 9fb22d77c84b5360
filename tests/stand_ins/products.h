/* Which of the products that the backend could ask for cuBLASLt supports. Internal to tests/stand_ins. */
#pragma once

#include "tests/stand_ins/parts.h"

#include <cublasLt.h>

/* cuBLASLt's opaque types: its pointers refer to these structs. */
struct desc {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  int32_t trans_a, trans_b, epilogue;
  cudaDataType_t bias_type;       /* of the bias or its gradient; -1: that of the result */
  void *bias, *aux;               /* read or written, depending on the epilogue */
  const float *scale_a, *scale_b; /* NULL: 1 */
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
