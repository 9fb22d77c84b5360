/* A cuBLASLt that is none: column-major products, sums in double, one by one. What it has stands in
 * products.c; attributes that it does not know are refused. */
#include "tests/stand_ins/parts.h"
#include "tests/stand_ins/products.h"
#include "tests/stand_ins/queue.h"

#include <cublasLt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

static int products, tf32_products, epilogues;

int stand_in_products(void) {
  return products;
}

int stand_in_tf32_products(void) {
  return tf32_products;
}

int stand_in_epilogues(void) {
  return epilogues;
}

static enum number number_of(cudaDataType type) {
  if (type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2) return type == CUDA_R_8F_E4M3 ? E4M3 : E5M2;
  return type == CUDA_R_32F ? FLOAT : type == CUDA_R_16BF ? BFLOAT : type == CUDA_R_16F ? HALF : OTHER;
}

/* What a product may count on; an algorithm's opaque words hold it. */
struct limits {
  uint32_t a, b, c, d; /* alignment of the addresses */
  size_t workspace;
};
_Static_assert(sizeof(struct limits) <= sizeof(cublasLtMatmulAlgo_t), "an algorithm holds its limits");

static bool aligned(const void *at, uint32_t bytes) {
  return (uintptr_t)at % bytes == 0;
}

const char *cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
  case CUBLAS_STATUS_SUCCESS:
    return "CUBLAS_STATUS_SUCCESS";
  case CUBLAS_STATUS_NOT_SUPPORTED:
    return "CUBLAS_STATUS_NOT_SUPPORTED";
  case CUBLAS_STATUS_EXECUTION_FAILED:
    return "CUBLAS_STATUS_EXECUTION_FAILED";
  default:
    return "a failure";
  }
}

size_t cublasLtGetVersion(void) {
  return 130000;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *out) {
  *out = malloc(1);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  free(handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out, cublasComputeType_t compute, cudaDataType_t scale) {
  struct desc *desc = calloc(1, sizeof *desc);
  *desc = (struct desc){.compute = compute, .scale = scale, .epilogue = CUBLASLT_EPILOGUE_DEFAULT, .bias_type = -1};
  *out = (cublasLtMatmulDesc_t)desc;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  free(desc);
  return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t set(void *to, size_t size, const void *value, size_t bytes) {
  if (bytes != size) return CUBLAS_STATUS_INVALID_VALUE;
  memcpy(to, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t to, cublasLtMatmulDescAttributes_t what,
                                              const void *value, size_t bytes) {
  struct desc *desc = (struct desc *)to;
  switch (what) {
  case CUBLASLT_MATMUL_DESC_TRANSA:
    return set(&desc->trans_a, sizeof desc->trans_a, value, bytes);
  case CUBLASLT_MATMUL_DESC_TRANSB:
    return set(&desc->trans_b, sizeof desc->trans_b, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE:
    return set(&desc->epilogue, sizeof desc->epilogue, value, bytes);
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
    return set(&desc->bias, sizeof desc->bias, value, bytes);
  case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
    return set(&desc->bias_type, sizeof desc->bias_type, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
    return set(&desc->aux, sizeof desc->aux, value, bytes);
  case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
    return set(&desc->scale_a, sizeof desc->scale_a, value, bytes);
  case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
    return set(&desc->scale_b, sizeof desc->scale_b, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
    return set(&desc->aux_stride, sizeof desc->aux_stride, value, bytes);
  default:
    return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t stride) {
  if (rows == 0 || columns == 0 || stride < (int64_t)rows) return CUBLAS_STATUS_INVALID_VALUE;
  struct layout *layout = calloc(1, sizeof *layout);
  *layout = (struct layout){type, number_of(type), rows, columns, stride};
  *out = (cublasLtMatrixLayout_t)layout;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  free(layout);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out) {
  struct limits *limits = malloc(sizeof *limits);
  *limits = (struct limits){256, 256, 256, 256, 0}; /* cuBLASLt's own */
  *out = (cublasLtMatmulPreference_t)limits;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  free(preference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t to,
                                                    cublasLtMatmulPreferenceAttributes_t what, const void *value,
                                                    size_t bytes) {
  struct limits *limits = (struct limits *)to;
  switch (what) {
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
    return set(&limits->a, sizeof limits->a, value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
    return set(&limits->b, sizeof limits->b, value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
    return set(&limits->c, sizeof limits->c, value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
    return set(&limits->d, sizeof limits->d, value, bytes);
  case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
    return set(&limits->workspace, sizeof limits->workspace, value, bytes);
  case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
    /* the others round the parts of a sum to 16 bits: the backend is not to allow them */
    return *(const uint32_t *)value == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE ? CUBLAS_STATUS_SUCCESS
                                                                              : CUBLAS_STATUS_INVALID_VALUE;
  default:
    return CUBLAS_STATUS_INVALID_VALUE;
  }
}

/* A library that lacks epilogues. */
static bool lacks(const struct desc *desc) {
  const bool bias = desc->epilogue == CUBLASLT_EPILOGUE_BIAS;
  const char *wish = getenv(bias ? "SHARDLAB_STAND_IN_NO_BIAS" : "SHARDLAB_STAND_IN_NO_EPILOGUE");
  return desc->epilogue != CUBLASLT_EPILOGUE_DEFAULT && wish && *wish;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t compute,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int *found) {
  const struct desc *desc = (const struct desc *)compute;
  (void)handle;
  *found = 0;
  if (wanted < 1 || c != d || lacks(desc) ||
      !stand_in_has_product(desc, (struct layout *)a, (struct layout *)b, (struct layout *)d))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  for (*found = 0; *found < wanted && *found < 2; ++*found) { /* two that are equally good */
    memcpy(&results[*found].algo, preference, sizeof(struct limits));
    results[*found].algo.data[7] = (uint64_t)*found;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t compute, cublasLtMatrixLayout_t a,
                                       cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t *algo, cublasLtMatmulHeuristicResult_t *result) {
  const struct desc *desc = (const struct desc *)compute;
  (void)handle;
  (void)algo;
  memset(result, 0, sizeof *result);
  if (c != d || lacks(desc) || !stand_in_has_product(desc, (struct layout *)a, (struct layout *)b, (struct layout *)d))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  return CUBLAS_STATUS_SUCCESS;
}

static bool has_bias(const struct desc *desc) {
  return desc->epilogue == CUBLASLT_EPILOGUE_BIAS || desc->epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
}

static bool makes_gelu(const struct desc *desc) {
  return desc->epilogue == CUBLASLT_EPILOGUE_GELU_AUX || desc->epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
}

/* The tanh form, and its derivative. */
static double gelu(double x) {
  return x / 2 * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

static double dgelu(double x) {
  const double u = 0.7978845608028654 * (x + 0.044715 * x * x * x), t = tanh(u);
  return (1 + t) / 2 + x / 2 * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
}

/* An element of d from the product's, which is not rounded yet. */
static float finish(const struct desc *desc, const struct layout *d, float sum, uint64_t row, uint64_t column) {
  const uint64_t aux = row + column * (uint64_t)desc->aux_stride;
  if (has_bias(desc)) sum += number_get(desc->bias, number_of(desc->bias_type), row);
  if (desc->epilogue == CUBLASLT_EPILOGUE_DGELU)
    return (float)(sum * dgelu((double)number_get(desc->aux, d->number, aux)));
  if (!makes_gelu(desc)) return sum;
  number_set(desc->aux, d->number, aux, sum);
  return (float)gelu((double)sum);
}

/* 10 of 23 bits of mantissa, to nearest. */
static float round_tf32(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x1000) & 0xffffe000;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static float at(const void *x, const struct layout *l, bool transposed, uint64_t row, uint64_t column, bool tf32) {
  const float v =
      number_get(x, l->number, transposed ? column + row * (uint64_t)l->stride : row + column * (uint64_t)l->stride);
  return tf32 ? round_tf32(v) : v;
}

/* A bias gradient: of op(a) (rows of d, k) the sums of its rows, of op(b) (k, columns of d) those of its columns. */
static void sum_over_k(const struct desc *desc, const void *x, const struct layout *l, bool transposed, bool columns,
                       uint64_t count, uint64_t k) {
  for (uint64_t i = 0; i < count; i++) {
    double sum = 0;
    for (uint64_t j = 0; j < k; j++) sum += (double)at(x, l, transposed, columns ? j : i, columns ? i : j, false);
    number_set(desc->bias, number_of(desc->bias_type), i, (float)sum);
  }
}

/* A product with its parameters as they were when the call was made. */
struct product {
  struct desc desc;
  struct layout a_layout, b_layout, d_layout;
  const void *a, *b, *c;
  void *d;
  float alpha, beta;
};

static bool rounds(const struct desc *desc) {
  return desc->compute == CUBLAS_COMPUTE_32F_FAST_TF32;
}

static uint64_t sum_length(const struct product *p) {
  return p->desc.trans_a == CUBLAS_OP_T ? p->a_layout.rows : p->a_layout.columns;
}

/* op(a), column by column, as it is multiplied. */
static double *unpack(const struct product *p, uint64_t k) {
  const bool transposed = p->desc.trans_a == CUBLAS_OP_T, tf32 = rounds(&p->desc);
  const uint64_t rows = p->d_layout.rows;
  double *a = malloc(rows * k * sizeof *a);
  for (uint64_t i = 0; i < k; i++)
    for (uint64_t row = 0; row < rows; row++)
      a[i * rows + row] = (double)at(p->a, &p->a_layout, transposed, row, i, tf32);
  return a;
}

/* The sums of a column of d, each in the order of its terms. */
static void sum_column(const struct product *p, const double *a, uint64_t column, uint64_t k, double *sums) {
  const bool transposed = p->desc.trans_b == CUBLAS_OP_T, tf32 = rounds(&p->desc);
  const uint64_t rows = p->d_layout.rows;
  memset(sums, 0, rows * sizeof *sums);
  for (uint64_t i = 0; i < k; i++) {
    const double b = (double)at(p->b, &p->b_layout, transposed, i, column, tf32);
    for (uint64_t row = 0; row < rows; row++) sums[row] += a[i * rows + row] * b;
  }
}

static void multiply(const struct product *p) {
  const struct layout *la = &p->a_layout, *lb = &p->b_layout, *ld = &p->d_layout;
  const bool ta = p->desc.trans_a == CUBLAS_OP_T, tb = p->desc.trans_b == CUBLAS_OP_T;
  const uint64_t k = sum_length(p);
  double *a = unpack(p, k), *sums = malloc(ld->rows * sizeof *sums);
  const float scale = p->desc.scale_a ? *p->desc.scale_a * *p->desc.scale_b : 1;
  for (uint64_t column = 0; column < ld->columns; column++) {
    sum_column(p, a, column, k, sums);
    for (uint64_t row = 0; row < ld->rows; row++) {
      const uint64_t place = row + column * (uint64_t)ld->stride;
      float out = p->alpha * scale * (float)sums[row];
      if (p->beta != 0) out += p->beta * number_get(p->c, ld->number, place);
      number_set(p->d, ld->number, place, finish(&p->desc, ld, out, row, column));
    }
  }
  free(a);
  free(sums);
  if (p->desc.epilogue == CUBLASLT_EPILOGUE_BGRADA) sum_over_k(&p->desc, p->a, la, ta, false, ld->rows, k);
  if (p->desc.epilogue == CUBLASLT_EPILOGUE_BGRADB) sum_over_k(&p->desc, p->b, lb, tb, true, ld->columns, k);
}

static bool has_epilogue(const struct desc *desc) {
  return desc->epilogue != CUBLASLT_EPILOGUE_DEFAULT && desc->epilogue != CUBLASLT_EPILOGUE_BIAS;
}

static void dawdle(const struct desc *desc) {
  const char *wish = getenv("SHARDLAB_STAND_IN_SLOW_EPILOGUE");
  if (has_epilogue(desc) && wish && *wish) usleep(4000);
}

static bool take_product(void *context) {
  struct product *p = context;
  dawdle(&p->desc);
  if (stand_in_idle())
    stand_in_work(2.0 * (double)p->d_layout.rows * (double)p->d_layout.columns * (double)sum_length(p), 0);
  else
    multiply(p);
  products++;
  tf32_products += rounds(&p->desc);
  epilogues += has_epilogue(&p->desc);
  free(p);
  return true;
}

static void *product_again(const void *context) {
  struct product *again = malloc(sizeof *again);
  *again = *(const struct product *)context;
  return again;
}

static const struct stand_in_work a_product = {STAND_IN_KERNEL, take_product, product_again, NULL};

/* What an algorithm was found for, at addresses that it can use. Of a bias no preference tells the heuristic the
 * alignment, and its kernels read 16 bytes at once (pytorch #194497). */
static bool is_found(const struct product *p, const cublasLtMatmulAlgo_t *algo, const void *workspace, size_t bytes) {
  struct limits limits;
  memcpy(&limits, algo, sizeof limits);
  return stand_in_has_product(&p->desc, &p->a_layout, &p->b_layout, &p->d_layout) && aligned(p->a, limits.a) &&
         aligned(p->b, limits.b) && aligned(p->c, limits.c) && aligned(p->d, limits.d) && aligned(workspace, 256) &&
         bytes >= limits.workspace && aligned(p->desc.bias, 16);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t compute, const void *alpha, const void *a,
                              cublasLtMatrixLayout_t a_layout, const void *b, cublasLtMatrixLayout_t b_layout,
                              const void *beta, const void *c, cublasLtMatrixLayout_t c_layout, void *d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo, void *workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
  struct product p = {.desc = *(const struct desc *)compute,
                      .a_layout = *(struct layout *)a_layout,
                      .b_layout = *(struct layout *)b_layout,
                      .d_layout = *(struct layout *)d_layout,
                      .a = a,
                      .b = b,
                      .c = c,
                      .d = d,
                      .alpha = *(const float *)alpha,
                      .beta = *(const float *)beta};
  (void)handle;
  if (c_layout != d_layout || !stream || !is_found(&p, algo, workspace, workspace_bytes))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (stand_in_enter() != cudaSuccess) return CUBLAS_STATUS_EXECUTION_FAILED;
  if ((int)p.desc.bias_type < 0) p.desc.bias_type = p.d_layout.type;
  struct product *kept = malloc(sizeof *kept);
  *kept = p;
  return stand_in_put(stream, &a_product, kept) == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
