/* Matrix products by cuBLASLt, which is column-major. Our row-major c (m,n) = a b is its c' (n,m) = b' a': the factors
 * change places, and a factor that we do not transpose is not transposed there either. A bias of n numbers then has one
 * number per row of c', as cuBLASLt's bias epilogue expects; aux has the shape and row order of c; and cuBLASLt's bias
 * gradient of A is that of our b.
 *
 * GELU is the tanh form, GPT-2's gelu_new. It is applied to the sum in fp32, and aux is that sum rounded to c's type.
 * With 16-bit types GELU's argument is therefore more exact than with two ops, the second of which reads the rounded
 * sum. DGELU reads the rounded sum either way, but multiplies it by the product in fp32.
 *
 * If cuBLASLt does not support an epilogue, sl_cuda_gemm_run returns SL_DONE and the caller runs it as an op of its
 * own. That takes longer than predicted, so a warning is printed once.
 *
 * The algorithm is chosen once per shape, types and alignment. cuBLASLt's heuristic names candidates, the one that it
 * holds to be the fastest first; while the job warms up they are timed, and the fastest is kept on disk (choices.h), so
 * that every rank and the next run use it too and results repeat bit by bit. At other times, and where nothing can be
 * kept, the first is taken. Split sums go through the workspace in a fixed order. */
#include "backend/cuda/choices.h"
#include "backend/cuda/cuda.h"

#include <cublasLt.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LT_TRY(e)                                                                                                      \
  do {                                                                                                                 \
    const cublasStatus_t lt_code_ = (e);                                                                               \
    if (lt_code_ != CUBLAS_STATUS_SUCCESS) return failed(#e, lt_code_);                                                \
  } while (0)

/* The key of the cache. It must have no padding, because keys are compared as bytes. */
struct key {
  int64_t m, n, k;
  int32_t trans_a, trans_b, add, tf32, epilogue;
  int32_t type, out_type, bias_type;
  int32_t align_a, align_b, align_c, align_bias, align_aux;
  int32_t zero;
};

struct entry {
  struct key key;
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t a, b, c; /* as cuBLASLt names them: a is our b */
  cublasLtMatmulAlgo_t algo;
  bool none; /* cuBLASLt has no algorithm for this */
};

struct sl_cuda_gemm {
  cublasLtHandle_t handle;
  void *workspace;
  size_t workspace_bytes;
  struct entry *entries; /* owned */
  size_t count, capacity;
  unsigned lacked; /* epilogues whose absence has been reported */
  struct sl_choices *choices; /* NULL: nothing is timed; owned */
  bool timing;                /* products may be run again and again */
};

enum { CANDIDATES = 8, ROUNDS = 3 };

static enum sl_status failed(const char *call, cublasStatus_t code) {
  return sl_fail(code == CUBLAS_STATUS_ALLOC_FAILED ? SL_ERR_MEMORY : SL_ERR_INTERNAL, "cuBLAS: %.*s: %s",
                 (int)strcspn(call, "("), call, cublasLtGetStatusName(code));
}

static void release(const char *call, cublasStatus_t code) {
  if (code != CUBLAS_STATUS_SUCCESS) sl_warn("cuBLAS: %s: %s", call, cublasLtGetStatusName(code));
}

static cudaDataType_t number_of(enum sl_dtype type) {
  return type == SL_BF16 ? CUDA_R_16BF : type == SL_F16 ? CUDA_R_16F : CUDA_R_32F;
}

/* The largest power of two that divides an address, at most 256. */
static int32_t alignment_of(const void *at) {
  const uintptr_t low = (uintptr_t)at & (~(uintptr_t)at + 1);
  return low == 0 || low > 256 ? 256 : (int32_t)low;
}

static struct key key_of(const struct sl_cuda_product *p) {
  struct key key;
  memset(&key, 0, sizeof key);
  key.m = p->m, key.n = p->n, key.k = p->k;
  key.trans_a = p->trans_a, key.trans_b = p->trans_b, key.add = p->add, key.epilogue = (int32_t)p->epilogue;
  key.tf32 = p->tf32;
  key.type = (int32_t)p->type, key.out_type = (int32_t)p->out_type;
  key.bias_type = p->bias ? (int32_t)p->bias_type : 0;
  key.align_a = alignment_of(p->a), key.align_b = alignment_of(p->b), key.align_c = alignment_of(p->c);
  key.align_bias = p->bias ? alignment_of(p->bias) : 0;
  key.align_aux = p->aux ? alignment_of(p->aux) : 0;
  return key;
}

static enum sl_status set_desc(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t what, const void *value,
                               size_t bytes) {
  LT_TRY(cublasLtMatmulDescSetAttribute(desc, what, value, bytes));
  return SL_OK;
}

static enum sl_status set_pref(cublasLtMatmulPreference_t pref, cublasLtMatmulPreferenceAttributes_t what,
                               const void *value, size_t bytes) {
  LT_TRY(cublasLtMatmulPreferenceSetAttribute(pref, what, value, bytes));
  return SL_OK;
}

/* Sets the pointers of the epilogue's operands, which cuBLASLt keeps in the descriptor although they differ per
 * call. */
static enum sl_status point(const struct entry *e, const struct sl_cuda_product *p) {
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
static bool aligned(const struct key *key) {
  if (key->align_bias != 0 && key->align_bias < 16) return false;
  return key->align_aux == 0 || (key->n % 8 == 0 && key->align_aux >= 16);
}

static enum sl_status describe(struct entry *e) {
  const struct key *key = &e->key;
  const cublasComputeType_t compute = key->tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  const cublasOperation_t op_a = key->trans_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t op_b = key->trans_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasLtEpilogue_t epilogue = epilogue_of((unsigned)key->epilogue);
  const cudaDataType_t bias = number_of((enum sl_dtype)key->bias_type);
  const int64_t aux_row = key->n;
  LT_TRY(cublasLtMatmulDescCreate(&e->desc, compute, CUDA_R_32F));
  SL_TRY(set_desc(e->desc, CUBLASLT_MATMUL_DESC_TRANSA, &op_a, sizeof op_a));
  SL_TRY(set_desc(e->desc, CUBLASLT_MATMUL_DESC_TRANSB, &op_b, sizeof op_b));
  SL_TRY(set_desc(e->desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
  if (key->align_bias) SL_TRY(set_desc(e->desc, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &bias, sizeof bias));
  if (key->align_aux) SL_TRY(set_desc(e->desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &aux_row, sizeof aux_row));
  const cudaDataType_t in = number_of((enum sl_dtype)key->type), out = number_of((enum sl_dtype)key->out_type);
  const uint64_t m = (uint64_t)key->m, n = (uint64_t)key->n, k = (uint64_t)key->k;
  const uint64_t a_rows = key->trans_b ? k : n, a_columns = key->trans_b ? n : k;
  const uint64_t b_rows = key->trans_a ? m : k, b_columns = key->trans_a ? k : m;
  LT_TRY(cublasLtMatrixLayoutCreate(&e->a, in, a_rows, a_columns, (int64_t)a_rows));
  LT_TRY(cublasLtMatrixLayoutCreate(&e->b, in, b_rows, b_columns, (int64_t)b_rows));
  LT_TRY(cublasLtMatrixLayoutCreate(&e->c, out, n, m, (int64_t)n));
  return SL_OK;
}

static enum sl_status limit(const struct sl_cuda_gemm *g, const struct key *key, cublasLtMatmulPreference_t pref) {
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

static void say_lack(struct sl_cuda_gemm *g, const struct key *key, cublasStatus_t code) {
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

/* What runs a product by an algorithm. */
static enum sl_status multiply(const struct sl_cuda_gemm *g, const struct entry *e, cudaStream_t stream,
                               const struct sl_cuda_product *p, const cublasLtMatmulAlgo_t *algo) {
  const float one = 1, beta = p->add ? 1 : 0;
  LT_TRY(cublasLtMatmul(g->handle, e->desc, &one, p->b, e->a, p->a, e->b, &beta, p->c, e->c, p->c, e->c, algo,
                        g->workspace, g->workspace_bytes, stream));
  return SL_OK;
}

/* Writes up to CANDIDATES algorithms to `algos`; *code is cuBLASLt's reason where there is none. */
static enum sl_status ask(struct sl_cuda_gemm *g, const struct entry *e, const struct sl_cuda_product *p,
                          cublasLtMatmulAlgo_t *algos, int *found, cublasStatus_t *code) {
  cublasLtMatmulPreference_t pref = NULL;
  cublasLtMatmulHeuristicResult_t results[CANDIDATES];
  memset(results, 0, sizeof results);
  *found = 0;
  *code = CUBLAS_STATUS_SUCCESS;
  LT_TRY(cublasLtMatmulPreferenceCreate(&pref));
  enum sl_status status = limit(g, &e->key, pref);
  if (status == SL_OK) status = point(e, p);
  if (status == SL_OK && aligned(&e->key))
    *code = cublasLtMatmulAlgoGetHeuristic(g->handle, e->desc, e->a, e->b, e->c, e->c, pref, CANDIDATES, results, found);
  release("cublasLtMatmulPreferenceDestroy", cublasLtMatmulPreferenceDestroy(pref));
  if (*code != CUBLAS_STATUS_SUCCESS) *found = 0;
  for (int i = 0; i < *found; i++) algos[i] = results[i].algo;
  return status;
}

/* ---- the fastest ---- */

/* The seconds of two runs between two events. */
static enum sl_status time_twice(const struct sl_cuda_gemm *g, const struct entry *e, cudaStream_t stream,
                                 const struct sl_cuda_product *p, const cublasLtMatmulAlgo_t *algo, cudaEvent_t *ends,
                                 double *seconds) {
  float ms;
  SL_CUDA_TRY(cudaEventRecord(ends[0], stream));
  SL_TRY(multiply(g, e, stream, p, algo));
  SL_TRY(multiply(g, e, stream, p, algo));
  SL_CUDA_TRY(cudaEventRecord(ends[1], stream));
  SL_CUDA_TRY(cudaEventSynchronize(ends[1]));
  SL_CUDA_TRY(cudaEventElapsedTime(&ms, ends[0], ends[1]));
  *seconds = (double)ms / 1e3;
  return SL_OK;
}

/* Puts the fastest of the candidates first: that of the shortest time of some rounds, the first of which loads its code
 * and does not count. */
static enum sl_status put_fastest_first(const struct sl_cuda_gemm *g, const struct entry *e, cudaStream_t stream,
                                        const struct sl_cuda_product *p, cublasLtMatmulAlgo_t *algos, int count) {
  cudaEvent_t ends[2] = {NULL, NULL};
  double best[CANDIDATES], seconds = 0;
  int first = 0;
  enum sl_status status = SL_OK;
  for (int i = 0; i < count; i++) best[i] = INFINITY;
  for (int i = 0; i < 2; i++) SL_CUDA_TRY(cudaEventCreate(&ends[i]));
  for (int round = 0; round <= ROUNDS && status == SL_OK; round++)
    for (int i = 0; i < count && status == SL_OK; i++) {
      status = time_twice(g, e, stream, p, &algos[i], ends, &seconds);
      if (status == SL_OK && round > 0) best[i] = fmin(best[i], seconds);
    }
  for (int i = 0; i < 2; i++) sl_cuda_release("cudaEventDestroy", cudaEventDestroy(ends[i]));
  for (int i = 1; i < count; i++)
    if (best[i] < best[first]) first = i;
  algos[0] = algos[first];
  return status;
}

/* Whether an algorithm from the disk can be used here. */
static bool works(const struct sl_cuda_gemm *g, const struct entry *e, const cublasLtMatmulAlgo_t *algo) {
  cublasLtMatmulHeuristicResult_t result;
  const cublasStatus_t code = cublasLtMatmulAlgoCheck(g->handle, e->desc, e->a, e->b, e->c, e->c, algo, &result);
  return code == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= g->workspace_bytes;
}

static enum sl_status choose(struct sl_cuda_gemm *g, struct entry *e, cudaStream_t stream,
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
  const enum sl_status status = count > 1 ? put_fastest_first(g, e, stream, p, algos, count) : SL_OK;
  sl_choices_end(g->choices, &e->key, sizeof e->key, status == SL_OK ? &algos[0] : NULL, sizeof algos[0]);
  e->algo = algos[0];
  return status;
}

static enum sl_status find_algo(struct sl_cuda_gemm *g, struct entry *e, cudaStream_t stream,
                                const struct sl_cuda_product *p) {
  cublasLtMatmulAlgo_t algos[CANDIDATES];
  cublasStatus_t code;
  int found;
  SL_TRY(ask(g, e, p, algos, &found, &code));
  e->none = found == 0;
  if (!e->none) return choose(g, e, stream, p, algos, found);
  if ((e->key.epilogue & ~SL_OP_BIAS) != 0) say_lack(g, &e->key, code);
  if (e->key.epilogue != 0) return SL_OK;
  return sl_fail(SL_ERR_INTERNAL, "cuBLAS has no product of %lld x %lld x %lld in %s with result in %s: %s",
                 (long long)e->key.m, (long long)e->key.n, (long long)e->key.k,
                 sl_dtype_name((enum sl_dtype)e->key.type), sl_dtype_name((enum sl_dtype)e->key.out_type),
                 cublasLtGetStatusName(code));
}

static void close_entry(struct entry *e) {
  if (e->a) release("cublasLtMatrixLayoutDestroy", cublasLtMatrixLayoutDestroy(e->a));
  if (e->b) release("cublasLtMatrixLayoutDestroy", cublasLtMatrixLayoutDestroy(e->b));
  if (e->c) release("cublasLtMatrixLayoutDestroy", cublasLtMatrixLayoutDestroy(e->c));
  if (e->desc) release("cublasLtMatmulDescDestroy", cublasLtMatmulDescDestroy(e->desc));
}

static enum sl_status find(struct sl_cuda_gemm *g, cudaStream_t stream, const struct sl_cuda_product *p,
                           struct entry **out) {
  const struct key key = key_of(p);
  for (size_t i = 0; i < g->count; i++) {
    *out = &g->entries[i];
    if (memcmp(&g->entries[i].key, &key, sizeof key) == 0) return SL_OK;
  }
  struct entry e = {.key = key};
  enum sl_status status = sl_grow(&g->entries, &g->capacity, g->count + 1, sizeof *g->entries);
  if (status == SL_OK) status = describe(&e);
  if (status == SL_OK) status = find_algo(g, &e, stream, p);
  if (status != SL_OK) return close_entry(&e), status;
  g->entries[g->count] = e;
  *out = &g->entries[g->count++];
  return SL_OK;
}

/* What the fastest algorithm depends on, and the bytes that name a product. */
static enum sl_status open_choices(struct sl_cuda_gemm *g, int device) {
  struct cudaDeviceProp facts;
  char about[512], driver[32] = "?";
  SL_CUDA_TRY(cudaGetDeviceProperties(&facts, device));
  sl_cuda_driver_version(driver, sizeof driver);
  snprintf(about, sizeof about, "products on %s, driver %s, cuBLASLt %zu, workspace %zu, key %zu", facts.name, driver,
           cublasLtGetVersion(), g->workspace_bytes, sizeof(struct key));
  return sl_choices_open(&g->choices, about);
}

enum sl_status sl_cuda_gemm_open(struct sl_cuda_gemm **out, int device, void *workspace, size_t workspace_bytes) {
  struct sl_cuda_gemm *g;
  SL_TRY(sl_calloc(&g, 1, sizeof *g));
  g->workspace = workspace;
  g->workspace_bytes = workspace_bytes;
  const cublasStatus_t code = cublasLtCreate(&g->handle);
  const enum sl_status status = code == CUBLAS_STATUS_SUCCESS ? open_choices(g, device) : failed("cublasLtCreate", code);
  if (status != SL_OK) return sl_cuda_gemm_close(g), status;
  *out = g;
  return SL_OK;
}

void sl_cuda_gemm_time(struct sl_cuda_gemm *g, bool timing) {
  if (g) g->timing = timing;
}

enum sl_status sl_cuda_gemm_run(struct sl_cuda_gemm *g, cudaStream_t stream, const struct sl_cuda_product *p) {
  struct entry *e;
  if (p->m == 0 || p->n == 0) return SL_OK;
  SL_TRY(find(g, stream, p, &e));
  if (e->none) return SL_DONE;
  SL_TRY(point(e, p));
  return multiply(g, e, stream, p, &e->algo);
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
