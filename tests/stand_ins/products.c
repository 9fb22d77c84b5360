/* The table of what cuBLASLt has. Its sources:
 *   types            cuBLAS documentation, cublasLtMatmul(), supported types of CUBLAS_COMPUTE_32F and _32F_FAST_TF32
 *   epilogues        cublasLtEpilogue_t in cublasLt.h; in fp32 too (nvmath-python, tests of epilogues, which are all in fp32)
 *   transpositions   the same tests: BGRADA with A as it is, BGRADB with B transposed
 *   least sizes      the same tests: DGELU does not sum over one element, BGRADB has no single column
 *   rows of aux      CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD in cublasLt.h: a multiple of 8, no fewer than D's rows; from an address
 *                    of a multiple of 16 bytes
 *   8 bits           cublasLtMatmul(), "to use FP8 kernels": A transposed and B not, all dimensions multiples of 16 and
 *                    addresses of 16 bytes; two E5M2 have no product; the epilogue is none or a bias in bf16, of what the
 *                    backend asks for
 * Rows of other matrices may be of any length: an odd one is slow, not absent. */
#include "tests/stand_ins/products.h"

enum operation { EITHER = -1, PLAIN = CUBLAS_OP_N, TURNED = CUBLAS_OP_T };

static const struct types {
  cublasComputeType_t compute;
  cudaDataType_t factors, result, bias; /* bias: or its gradient */
} types[] = {
    {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF},
    {CUBLAS_COMPUTE_32F, CUDA_R_16BF, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F},
    {CUBLAS_COMPUTE_32F, CUDA_R_16F, CUDA_R_32F, CUDA_R_32F},
};

static const struct epilogue {
  cublasLtEpilogue_t name;
  enum operation a, b;
  bool bias, aux;         /* operands */
  uint64_t sums, columns; /* at least: elements of a sum, columns of D */
} epilogues[] = {
    {CUBLASLT_EPILOGUE_DEFAULT, EITHER, EITHER, false, false, 1, 1},
    {CUBLASLT_EPILOGUE_BIAS, EITHER, EITHER, true, false, 1, 1},
    {CUBLASLT_EPILOGUE_GELU_AUX, EITHER, EITHER, false, true, 1, 1},
    {CUBLASLT_EPILOGUE_GELU_AUX_BIAS, EITHER, EITHER, true, true, 1, 1},
    {CUBLASLT_EPILOGUE_DGELU, EITHER, EITHER, false, true, 2, 1},
    {CUBLASLT_EPILOGUE_BGRADA, PLAIN, EITHER, true, false, 1, 1},
    {CUBLASLT_EPILOGUE_BGRADB, EITHER, TURNED, true, false, 1, 2},
};

static const struct epilogue *epilogue_of(const struct desc *desc) {
  for (size_t i = 0; i < sizeof epilogues / sizeof *epilogues; i++)
    if ((int32_t)epilogues[i].name == desc->epilogue) return &epilogues[i];
  return NULL;
}

static bool has_types(const struct desc *desc, cudaDataType_t factors, cudaDataType_t result, bool bias) {
  const cudaDataType_t bias_type = (int)desc->bias_type < 0 ? result : desc->bias_type;
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    const struct types *t = &types[i];
    if (t->compute == desc->compute && t->factors == factors && t->result == result && (!bias || t->bias == bias_type))
      return true;
  }
  return false;
}

static bool is_eight(cudaDataType_t type) {
  return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2;
}

static bool has_eight(const struct desc *desc, const struct layout *a, const struct layout *b, const struct layout *d) {
  const bool bias = desc->epilogue == CUBLASLT_EPILOGUE_BIAS;
  if (!is_eight(a->type) || !is_eight(b->type) || (a->type == CUDA_R_8F_E5M2 && b->type == CUDA_R_8F_E5M2))
    return false;
  if (desc->compute != CUBLAS_COMPUTE_32F || (d->type != CUDA_R_16BF && d->type != CUDA_R_32F)) return false;
  if (desc->trans_a != TURNED || desc->trans_b != PLAIN || !desc->scale_a || !desc->scale_b) return false;
  if (!bias && desc->epilogue != CUBLASLT_EPILOGUE_DEFAULT) return false;
  if (bias && !((int)desc->bias_type < 0 ? d->type == CUDA_R_16BF : desc->bias_type == CUDA_R_16BF)) return false;
  return (a->rows | a->columns | b->rows | b->columns | d->rows | d->columns) % 16 == 0;
}

static bool is(enum operation wanted, int32_t operation) {
  return wanted == EITHER ? operation == PLAIN || operation == TURNED : operation == (int32_t)wanted;
}

static bool has_aux(const struct desc *desc, const struct layout *d) {
  return desc->aux && (uintptr_t)desc->aux % 16 == 0 && desc->aux_stride % 8 == 0 &&
         desc->aux_stride >= (int64_t)d->rows;
}

/* op(a) (rows of d, k), op(b) (k, columns of d) */
static bool fit(const struct desc *desc, const struct layout *a, const struct layout *b, const struct layout *d) {
  const bool ta = desc->trans_a == TURNED, tb = desc->trans_b == TURNED;
  return (ta ? a->columns : a->rows) == d->rows && (tb ? b->rows : b->columns) == d->columns &&
         (ta ? a->rows : a->columns) == (tb ? b->columns : b->rows);
}

bool stand_in_has_product(const struct desc *desc, const struct layout *a, const struct layout *b,
                          const struct layout *d) {
  const struct epilogue *e = epilogue_of(desc);
  if (is_eight(a->type)) return desc->scale == CUDA_R_32F && has_eight(desc, a, b, d) && fit(desc, a, b, d);
  if (!e || desc->scale != CUDA_R_32F || a->type != b->type || !has_types(desc, a->type, d->type, e->bias))
    return false;
  if (!is(e->a, desc->trans_a) || !is(e->b, desc->trans_b) || !fit(desc, a, b, d)) return false;
  const uint64_t sums = desc->trans_a == TURNED ? a->rows : a->columns;
  return sums >= e->sums && d->columns >= e->columns && (!e->bias || desc->bias) && (!e->aux || has_aux(desc, d));
}
