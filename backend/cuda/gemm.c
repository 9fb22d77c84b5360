/* Matrix products by cuBLASLt, which is column-major. Our row-major c (m,n) = a b is its c' (n,m) = b' a': the factors
 * change places, and a factor that we do not transpose is not transposed there either. A bias of n numbers then has one
 * number per row of c', as cuBLASLt's bias epilogue expects; aux has the shape and row order of c; and cuBLASLt's bias
 * gradient of A is that of our b.
 *
 * GELU is the tanh form, GPT-2's gelu_new. It is applied to the sum in fp32, and aux is that sum rounded to c's type.
 * With 16-bit types GELU's argument is therefore more exact than with two ops, the second of which reads the rounded
 * sum. DGELU reads the rounded sum either way, but multiplies it by the product in fp32.
 *
 * If cuBLASLt does not support an epilogue, the caller runs it as an op of its own. That takes longer than predicted, so
 * a warning is printed once. Where it does, both ways are timed as algorithms are, and the faster is taken: on an H200
 * most of GPT-2's products that also sum a bias's gradient were slower than product and sums one after the other.
 *
 * Factors in 8 bits (CUDA_R_8F_E4M3, _E5M2) come both with the summed index running fastest, which is all that cuBLASLt
 * has for them on sm_89 and sm_90, and each with the inverse of its scale. Sums are fp32 throughout
 * (CUBLASLT_MATMUL_DESC_FAST_ACCUM stays 0), where Transformer Engine's forward takes the faster, less exact ones.
 *
 * The algorithm is chosen once per shape, types and alignment. cuBLASLt's heuristic names candidates, the one that it
 * holds to be the fastest first; while the job warms up they are timed, and the fastest is kept on disk (choices.h), so
 * that every rank and the next run use it too and results repeat bit by bit. At other times, and where nothing can be
 * kept, the first is taken. Split sums go through the workspace in a fixed order. */
#include "backend/cuda/fastest.h"

#include <stdlib.h>
#include <string.h>

static void release(const char *call, cublasStatus_t code) {
  if (code != CUBLAS_STATUS_SUCCESS) sl_warn("cuBLAS: %s: %s", call, cublasLtGetStatusName(code));
}

static cudaDataType_t number_of(enum sl_dtype type) {
  if (type == SL_E4M3 || type == SL_E5M2) return type == SL_E4M3 ? CUDA_R_8F_E4M3 : CUDA_R_8F_E5M2;
  return type == SL_BF16 ? CUDA_R_16BF : type == SL_F16 ? CUDA_R_16F : CUDA_R_32F;
}

/* The largest power of two that divides an address, at most 256. */
static int32_t alignment_of(const void *at) {
  const uintptr_t low = (uintptr_t)at & (~(uintptr_t)at + 1);
  return low == 0 || low > 256 ? 256 : (int32_t)low;
}

static struct sl_cuda_product_key key_of(const struct sl_cuda_product *p) {
  struct sl_cuda_product_key key;
  memset(&key, 0, sizeof key);
  key.m = p->m, key.n = p->n, key.k = p->k;
  key.trans_a = p->trans_a, key.trans_b = p->trans_b, key.add = p->add, key.epilogue = (int32_t)p->epilogue;
  key.tf32 = p->tf32;
  key.type = (int32_t)p->type, key.b_type = (int32_t)p->b_type, key.out_type = (int32_t)p->out_type;
  key.scaled = p->scale_a != NULL;
  key.bias_type = p->bias ? (int32_t)p->bias_type : 0;
  key.align_a = alignment_of(p->a), key.align_b = alignment_of(p->b), key.align_c = alignment_of(p->c);
  key.align_bias = p->bias ? alignment_of(p->bias) : 0;
  key.align_aux = p->aux ? alignment_of(p->aux) : 0;
  return key;
}

static enum sl_status set_desc(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t what, const void *value,
                               size_t bytes) {
  SL_LT_TRY(cublasLtMatmulDescSetAttribute(desc, what, value, bytes));
  return SL_OK;
}

static enum sl_status set_pref(cublasLtMatmulPreference_t pref, cublasLtMatmulPreferenceAttributes_t what,
                               const void *value, size_t bytes) {
  SL_LT_TRY(cublasLtMatmulPreferenceSetAttribute(pref, what, value, bytes));
  return SL_OK;
}

/* Sets the pointers of the epilogue's operands and of scales, which cuBLASLt keeps in the descriptor although they differ
 * per call. */
static enum sl_status point(const struct sl_cuda_algo *e, const struct sl_cuda_product *p) {
  if (p->scale_b) SL_TRY(set_desc(e->desc, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &p->scale_b, sizeof p->scale_b));
  if (p->scale_a) SL_TRY(set_desc(e->desc, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &p->scale_a, sizeof p->scale_a));
  if (p->bias) SL_TRY(set_desc(e->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &p->bias, sizeof p->bias));
  if (p->aux) SL_TRY(set_desc(e->desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &p->aux, sizeof p->aux));
  return SL_OK;
}

static cublasLtEpilogue_t epilogue_of(unsigned flags) {
  switch (flags) {
  case SL_OP_BIAS:
    return CUBLASLT_EPILOGUE_BIAS;
  case SL_OP_GELU:
    return CUBLASLT_EPILOGUE_GELU_AUX;
  case SL_OP_GELU | SL_OP_BIAS:
    return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
  case SL_OP_DGELU:
    return CUBLASLT_EPILOGUE_DGELU;
  case SL_OP_BGRAD_A:
    return CUBLASLT_EPILOGUE_BGRADB;
  case SL_OP_BGRAD_B:
    return CUBLASLT_EPILOGUE_BGRADA;
  default:
    return CUBLASLT_EPILOGUE_DEFAULT;
  }
}

/* cuBLASLt's conditions on the operands of an epilogue. aux: the row length is a multiple of 8 elements and the address
 * a multiple of 16 bytes. Bias: no preference tells the heuristic its alignment, and the kernels read 16 bytes at once
 * (pytorch #194497). */
static bool aligned(const struct sl_cuda_product_key *key) {
  if (key->align_bias != 0 && key->align_bias < 16) return false;
  return key->align_aux == 0 || (key->n % 8 == 0 && key->align_aux >= 16);
}

static enum sl_status describe(struct sl_cuda_algo *e) {
  const struct sl_cuda_product_key *key = &e->key;
  const cublasComputeType_t compute = key->tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  const cublasOperation_t op_a = key->trans_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t op_b = key->trans_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasLtEpilogue_t epilogue = epilogue_of((unsigned)key->epilogue);
  const cudaDataType_t bias = number_of((enum sl_dtype)key->bias_type);
  const int64_t aux_row = key->n;
  SL_LT_TRY(cublasLtMatmulDescCreate(&e->desc, compute, CUDA_R_32F));
  SL_TRY(set_desc(e->desc, CUBLASLT_MATMUL_DESC_TRANSA, &op_a, sizeof op_a));
  SL_TRY(set_desc(e->desc, CUBLASLT_MATMUL_DESC_TRANSB, &op_b, sizeof op_b));
  SL_TRY(set_desc(e->desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
  if (key->align_bias) SL_TRY(set_desc(e->desc, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &bias, sizeof bias));
  if (key->align_aux) SL_TRY(set_desc(e->desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &aux_row, sizeof aux_row));
  const cudaDataType_t in_a = number_of((enum sl_dtype)key->b_type), in_b = number_of((enum sl_dtype)key->type);
  const cudaDataType_t out = number_of((enum sl_dtype)key->out_type);
  const uint64_t m = (uint64_t)key->m, n = (uint64_t)key->n, k = (uint64_t)key->k;
  const uint64_t a_rows = key->trans_b ? k : n, a_columns = key->trans_b ? n : k;
  const uint64_t b_rows = key->trans_a ? m : k, b_columns = key->trans_a ? k : m;
  SL_LT_TRY(cublasLtMatrixLayoutCreate(&e->a, in_a, a_rows, a_columns, (int64_t)a_rows));
  SL_LT_TRY(cublasLtMatrixLayoutCreate(&e->b, in_b, b_rows, b_columns, (int64_t)b_rows));
  SL_LT_TRY(cublasLtMatrixLayoutCreate(&e->c, out, n, m, (int64_t)n));
  return SL_OK;
}

static enum sl_status limit(const struct sl_cuda_gemm *g, const struct sl_cuda_product_key *key,
                            cublasLtMatmulPreference_t pref) {
  const uint32_t a = (uint32_t)key->align_b, b = (uint32_t)key->align_a, c = (uint32_t)key->align_c;
  /* partial sums stay fp32 until all are added: the other schemes round each to the 16 bits of the output */
  const uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  SL_TRY(set_pref(pref, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &g->workspace_bytes, sizeof g->workspace_bytes));
  SL_TRY(set_pref(pref, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes, sizeof schemes));
  SL_TRY(set_pref(pref, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &a, sizeof a));
  SL_TRY(set_pref(pref, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &b, sizeof b));
  SL_TRY(set_pref(pref, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &c, sizeof c));
  return set_pref(pref, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &c, sizeof c);
}

static void say_lack(struct sl_cuda_gemm *g, const struct sl_cuda_product_key *key, cublasStatus_t code) {
  const unsigned flags = (unsigned)key->epilogue;
  const struct sl_op op = {.kind = SL_OP_GEMM, .flags = flags};
  if ((g->lacked & flags) == flags) return;
  g->lacked |= flags;
  sl_warn(
      "cuBLAS has no %s%s of %lld x %lld x %lld in %s (%s): the two are done one after the other, here and maybe in "
      "other shapes",
      sl_op_label(&op), flags & SL_OP_BIAS ? " with a bias" : "", (long long)key->m, (long long)key->n,
      (long long)key->k, sl_dtype_name((enum sl_dtype)key->type),
      aligned(key) ? cublasLtGetStatusName(code) : "addresses that it cannot use");
}

/* Writes up to SL_CUDA_CANDIDATES algorithms to `algos`; *code is cuBLASLt's reason where there is none. */
static enum sl_status ask(struct sl_cuda_gemm *g, const struct sl_cuda_algo *e, const struct sl_cuda_product *p,
                          cublasLtMatmulAlgo_t *algos, int *found, cublasStatus_t *code) {
  cublasLtMatmulPreference_t pref = NULL;
  cublasLtMatmulHeuristicResult_t results[SL_CUDA_CANDIDATES];
  memset(results, 0, sizeof results);
  *found = 0;
  *code = CUBLAS_STATUS_SUCCESS;
  SL_LT_TRY(cublasLtMatmulPreferenceCreate(&pref));
  enum sl_status status = limit(g, &e->key, pref);
  if (status == SL_OK) status = point(e, p);
  if (status == SL_OK && aligned(&e->key))
    *code = cublasLtMatmulAlgoGetHeuristic(g->handle, e->desc, e->a, e->b, e->c, e->c, pref, SL_CUDA_CANDIDATES,
                                           results, found);
  release("cublasLtMatmulPreferenceDestroy", cublasLtMatmulPreferenceDestroy(pref));
  if (*code != CUBLAS_STATUS_SUCCESS) *found = 0;
  for (int i = 0; i < *found; i++) algos[i] = results[i].algo;
  return status;
}

static enum sl_status find_algo(struct sl_cuda_gemm *g, struct sl_cuda_algo *e, cudaStream_t stream,
                                const struct sl_cuda_product *p) {
  cublasLtMatmulAlgo_t algos[SL_CUDA_CANDIDATES];
  cublasStatus_t code;
  int found;
  SL_TRY(ask(g, e, p, algos, &found, &code));
  e->apart = found == 0;
  if (!e->apart) return sl_cuda_fastest(g, e, stream, p, algos, found);
  if ((e->key.epilogue & ~SL_OP_BIAS) != 0) say_lack(g, &e->key, code);
  if (e->key.epilogue != 0) return SL_OK;
  return sl_fail(SL_ERR_INTERNAL, "cuBLAS has no product of %lld x %lld x %lld in %s with result in %s: %s",
                 (long long)e->key.m, (long long)e->key.n, (long long)e->key.k,
                 sl_dtype_name((enum sl_dtype)e->key.type), sl_dtype_name((enum sl_dtype)e->key.out_type),
                 cublasLtGetStatusName(code));
}

static void close_entry(struct sl_cuda_algo *e) {
  if (e->a) release("cublasLtMatrixLayoutDestroy", cublasLtMatrixLayoutDestroy(e->a));
  if (e->b) release("cublasLtMatrixLayoutDestroy", cublasLtMatrixLayoutDestroy(e->b));
  if (e->c) release("cublasLtMatrixLayoutDestroy", cublasLtMatrixLayoutDestroy(e->c));
  if (e->desc) release("cublasLtMatmulDescDestroy", cublasLtMatmulDescDestroy(e->desc));
}

static struct sl_cuda_algo *known(struct sl_cuda_gemm *g, const struct sl_cuda_product_key *key) {
  for (size_t i = 0; i < g->count; i++)
    if (memcmp(&g->entries[i].key, key, sizeof *key) == 0) return &g->entries[i];
  return NULL;
}

/* Adds the product, which is not known; running it apart adds its own without the epilogue. */
static enum sl_status add(struct sl_cuda_gemm *g, cudaStream_t stream, const struct sl_cuda_product *p,
                          const struct sl_cuda_apart *apart) {
  struct sl_cuda_algo e = {.key = key_of(p)};
  const bool timed = g->choices && g->timing && apart && (p->epilogue & ~(unsigned)SL_OP_BIAS) != 0;
  enum sl_status status = describe(&e);
  if (status == SL_OK) status = find_algo(g, &e, stream, p);
  if (status == SL_OK && timed && !e.apart) status = sl_cuda_prefer(g, &e, stream, p, apart);
  if (status == SL_OK) status = sl_grow(&g->entries, &g->capacity, g->count + 1, sizeof *g->entries);
  if (status != SL_OK) return close_entry(&e), status;
  g->entries[g->count++] = e;
  return SL_OK;
}

enum sl_status sl_cuda_gemm_open(struct sl_cuda_gemm **out, int device, void *workspace, size_t workspace_bytes) {
  struct sl_cuda_gemm *g;
  SL_TRY(sl_calloc(&g, 1, sizeof *g));
  g->workspace = workspace;
  g->workspace_bytes = workspace_bytes;
  const cublasStatus_t code = cublasLtCreate(&g->handle);
  const enum sl_status status =
      code == CUBLAS_STATUS_SUCCESS ? sl_cuda_fastest_open(g, device) : sl_cuda_lt_failed("cublasLtCreate", code);
  if (status != SL_OK) return sl_cuda_gemm_close(g), status;
  *out = g;
  return SL_OK;
}

void sl_cuda_gemm_time(struct sl_cuda_gemm *g, bool timing) {
  if (g) g->timing = timing;
}

enum sl_status sl_cuda_gemm_run(struct sl_cuda_gemm *g, cudaStream_t stream, const struct sl_cuda_product *p,
                                const struct sl_cuda_apart *apart) {
  if (p->m == 0 || p->n == 0) return SL_OK;
  const struct sl_cuda_product_key key = key_of(p);
  if (!known(g, &key)) SL_TRY(add(g, stream, p, apart));
  const struct sl_cuda_algo *e = known(g, &key);
  if (e->apart) return apart ? apart->run(apart->of, p) : SL_DONE;
  SL_TRY(point(e, p));
  return sl_cuda_multiply(g, e, stream, p, &e->algo);
}

void sl_cuda_gemm_close(struct sl_cuda_gemm *g) {
  if (!g) return;
  for (size_t i = 0; i < g->count; i++) close_entry(&g->entries[i]);
  free(g->entries);
  sl_choices_close(g->choices);
  if (g->handle) release("cublasLtDestroy", cublasLtDestroy(g->handle));
  free(g);
}

size_t sl_cuda_gemm_version(void) {
  return cublasLtGetVersion();
}

/* cuBLASLt multiplies 8-bit factors from sm_89 on, and rows of whole 16 bytes (cublasLtMatmul, "to use FP8 kernels":
 * dimensions meet the requirements of tensor cores, all of which are multiples of 16). */
enum sl_status sl_cuda_gemm_supports(const struct sl_op *op, int capability) {
  if (op->kind != SL_OP_GEMM || op->dtype != SL_F8) return SL_OK;
  if (!(op->flags & SL_OP_SCALED))
    return sl_fail(SL_ERR_INPUT, "products in fp8 whose factors were not cast are only predicted; expected kernels "
                                 "'shardlab'");
  if (capability < 89)
    return sl_fail(SL_ERR_INPUT,
                   "shardlab.fp8: is true; this GPU has compute capability %d.%d; expected 8.9 or later, which "
                   "multiplies numbers of 8 bits",
                   capability / 10, capability % 10);
  for (int i = 0; i < 3; i++)
    if (op->dim[i] % 16 != 0)
      return sl_fail(
          SL_ERR_INPUT,
          "shardlab.fp8: is true; layer %d has a product of %lld x %lld x %lld; expected multiples of 16, as "
          "cuBLASLt multiplies in fp8",
          op->layer, (long long)op->dim[0], (long long)op->dim[1], (long long)op->dim[2]);
  return SL_OK;
}
