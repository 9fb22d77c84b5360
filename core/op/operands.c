/* The rows of every op's operands, and the functions that read them; see operands.h. */
#include "core/op/operands.h"

#include <stddef.h>

/* How an operand may be used. A gradient is updated where the op adds to it, written where it overwrites it. */
enum use { READ = 1 << SL_READ, WRITE = 1 << SL_WRITE, UPDATE = 1 << SL_READ_WRITE, ADDS = WRITE | UPDATE };

/* The type of its buffer. */
enum type {
  /* that of the op; operands of a tf32 product are fp32, of an fp8 product bf16, or 8 bits if they were cast before */
  DATA,
  /* that of the op, or 16 bits beside an op of fp32: under torch.autocast, where the kernel that casts as it reads
   * or writes is only predicted */
  MIXED,
  FLOAT, /* any that kernels convert between: fp32, bf16, fp16 */
  FLOAT32,
  INDEX,  /* int32 */
  BYTES,  /* uint8 */
  EIGHT,  /* e4m3 or e5m2 */
  ANY,    /* any: the op is only predicted */
  BATCH,  /* tokens, or numbers of the op's type */
  RECORD, /* the step state, fp64 */
};

struct row {
  enum sl_at name;
  enum use use;
  enum type type;
  unsigned with, without; /* flags: the operand exists with any of the first and without all of the second */
};

enum { MOST_ROWS = 15 };

/* clang-format off */
static const struct row rows[SL_OP_COUNT][MOST_ROWS + 1] = {
#define R(name, use, type) {SL_AT_##name, use, type, 0, 0}
#define WITH(name, use, type, flags) {SL_AT_##name, use, type, flags, 0}
#define WITHOUT(name, use, type, flags) {SL_AT_##name, use, type, 0, flags}
#define PACKED_OR_APART(all, q, k, v, use)                                                                             \
  WITHOUT(all, use, DATA, SL_OP_APART), WITH(q, use, DATA, SL_OP_APART), WITH(k, use, DATA, SL_OP_APART),              \
      WITH(v, use, DATA, SL_OP_APART)
#define SUM_OR_X                                                                                                       \
  WITHOUT(X, READ, MIXED, SL_OP_RESIDUAL), WITH(RESIDUAL, READ, DATA, SL_OP_RESIDUAL),                                  \
      WITH(BRANCH, READ, DATA, SL_OP_RESIDUAL), WITH(BRANCH_BIAS, READ, DATA, SL_OP_BIAS),                             \
      WITH(X, WRITE, DATA, SL_OP_RESIDUAL)
#define ADAM                                                                                                           \
  R(MASTER, UPDATE, FLOAT32), R(GRADIENT, READ, FLOAT), R(MOMENT1, UPDATE, FLOAT32), R(MOMENT2, UPDATE, FLOAT32),      \
      R(CONTROL, READ, RECORD), WITH(PARAM, WRITE, FLOAT, SL_OP_PARAM_COPY)
    /* model */
    [SL_OP_LOAD_BATCH] = {WITHOUT(INPUTS, WRITE, BATCH, SL_OP_TARGETS_ONLY),
                          WITHOUT(TARGETS, WRITE, BATCH, SL_OP_INPUTS_ONLY)},
    [SL_OP_EMBED_FWD] = {R(TOKENS, READ, INDEX),
                         R(WTE, READ, DATA),
                         WITH(WPE, READ, DATA, SL_OP_POSITIONS),
                         R(OUT, WRITE, DATA),
                         WITH(MASK, WRITE, BYTES, SL_OP_MASK)},
    [SL_OP_EMBED_BWD] = {R(TOKENS, READ, INDEX),
                         R(DOUT, READ, DATA),
                         R(DWTE, ADDS, FLOAT),
                         WITH(DWPE, ADDS, FLOAT, SL_OP_POSITIONS),
                         WITH(MASK, READ, BYTES, SL_OP_MASK),
                         WITH(WTE, READ, DATA, SL_OP_WITH_TABLE),
                         WITH(WPE, READ, DATA, SL_OP_WITH_POSITIONS_TABLE)},
    [SL_OP_LAYERNORM_FWD] = {SUM_OR_X,
                             R(WEIGHT, READ, DATA),
                             WITHOUT(BIAS, READ, DATA, SL_OP_UNBIASED),
                             R(OUT, WRITE, MIXED),
                             R(STATS, WRITE, FLOAT32)},
    [SL_OP_LAYERNORM_BWD] = {R(DOUT, READ, MIXED),
                             R(X, READ, MIXED),
                             WITHOUT(WEIGHT, READ, DATA, SL_OP_WEIGHT_GRAD),
                             R(STATS, READ, FLOAT32),
                             WITHOUT(DX, ADDS, DATA, SL_OP_WEIGHT_GRAD),
                             WITH(DBRANCH, WRITE, DATA, SL_OP_RESIDUAL),
                             WITHOUT(DWEIGHT, ADDS, FLOAT, SL_OP_INPUT_GRAD),
                             WITHOUT(DBIAS, ADDS, FLOAT, SL_OP_INPUT_GRAD | SL_OP_UNBIASED),
                             WITHOUT(SCRATCH, WRITE, BYTES, SL_OP_INPUT_GRAD)},
    [SL_OP_RMSNORM_FWD] = {SUM_OR_X,
                           R(WEIGHT, READ, DATA),
                           R(OUT, WRITE, MIXED),
                           R(STATS, WRITE, FLOAT32)},
    [SL_OP_RMSNORM_BWD] = {R(DOUT, READ, MIXED),
                           R(X, READ, MIXED),
                           WITHOUT(WEIGHT, READ, DATA, SL_OP_WEIGHT_GRAD),
                           R(STATS, READ, FLOAT32),
                           WITHOUT(DX, ADDS, DATA, SL_OP_WEIGHT_GRAD),
                           WITH(DBRANCH, WRITE, DATA, SL_OP_RESIDUAL),
                           WITHOUT(DWEIGHT, ADDS, FLOAT, SL_OP_INPUT_GRAD),
                           WITHOUT(SCRATCH, WRITE, BYTES, SL_OP_INPUT_GRAD)},
    [SL_OP_ROPE] = {R(X, UPDATE, DATA)},
    [SL_OP_GEMM] = {R(A, READ, DATA),
                    R(B, READ, DATA),
                    R(C, ADDS, FLOAT),
                    WITH(BIAS, READ, DATA, SL_OP_BIAS),
                    WITH(AUX, WRITE, DATA, SL_OP_GELU),
                    WITH(AUX, READ, DATA, SL_OP_DGELU),
                    WITH(DBIAS, WRITE, FLOAT, SL_OP_BGRAD_A | SL_OP_BGRAD_B),
                    WITH(SCALE_A, READ, FLOAT32, SL_OP_SCALED),
                    WITH(SCALE_B, READ, FLOAT32, SL_OP_SCALED),
                    WITH(SCRATCH, WRITE, BYTES, SL_OP_WORKSPACE)},
    [SL_OP_BIAS_BWD] = {R(DOUT, READ, DATA),
                        R(DBIAS, ADDS, DATA)},
    [SL_OP_ATTENTION_FWD] = {PACKED_OR_APART(QKV, Q, K, V, READ),
                             R(OUT, WRITE, DATA),
                             R(SOFTMAX, WRITE, DATA),
                             WITH(DROPPED, WRITE, DATA, SL_OP_MASK),
                             WITH(MASK, WRITE, BYTES, SL_OP_MASK),
                             R(SCRATCH, WRITE, BYTES)},
    [SL_OP_ATTENTION_BWD] = {R(DOUT, READ, DATA),
                             PACKED_OR_APART(QKV, Q, K, V, READ),
                             R(SOFTMAX, READ, DATA),
                             WITH(DROPPED, READ, DATA, SL_OP_MASK),
                             WITH(MASK, READ, BYTES, SL_OP_MASK),
                             PACKED_OR_APART(DQKV, DQ, DK, DV, WRITE),
                             R(SCRATCH, WRITE, BYTES)},
    [SL_OP_FLASH_FWD] = {PACKED_OR_APART(QKV, Q, K, V, READ),
                         R(OUT, WRITE, DATA),
                         R(SOFTMAX, WRITE, FLOAT32),
                         R(SCRATCH, WRITE, BYTES)},
    [SL_OP_FLASH_BWD] = {R(DOUT, READ, DATA),
                         PACKED_OR_APART(QKV, Q, K, V, READ),
                         R(OUT, READ, DATA),
                         R(SOFTMAX, READ, FLOAT32),
                         PACKED_OR_APART(DQKV, DQ, DK, DV, WRITE),
                         R(SCRATCH, WRITE, BYTES)},
    [SL_OP_GELU_FWD] = {R(X, READ, DATA),
                        R(OUT, WRITE, DATA)},
    [SL_OP_GELU_BWD] = {R(DOUT, UPDATE, DATA),
                        R(X, READ, DATA)},
    [SL_OP_SWIGLU_FWD] = {R(GATE, READ, DATA),
                          WITHOUT(UP, READ, DATA, SL_OP_PACKED_GATE),
                          R(OUT, WRITE, DATA)},
    [SL_OP_SWIGLU_BWD] = {R(DOUT, READ, DATA),
                          R(GATE, UPDATE, DATA),
                          WITHOUT(UP, UPDATE, DATA, SL_OP_PACKED_GATE)},
    [SL_OP_RESIDUAL_FWD] = {R(RESIDUAL, READ, DATA),
                            R(X, READ, MIXED),
                            WITH(BIAS, READ, DATA, SL_OP_BIAS),
                            R(OUT, WRITE, DATA),
                            WITH(MASK, WRITE, BYTES, SL_OP_MASK)},
    [SL_OP_DROPOUT] = {R(X, READ, DATA),
                       R(OUT, WRITE, DATA),
                       WITH(MASK, READ | WRITE, BYTES, SL_OP_MASK)},
    [SL_OP_CLASSIFIER] = {R(LOGITS, UPDATE, DATA),
                          R(TARGETS, READ, INDEX),
                          R(CONTROL, UPDATE, RECORD)},
    [SL_OP_CLASSIFIER_STATS] = {R(LOGITS, READ, DATA),
                                R(TARGETS, READ, INDEX),
                                R(STATS, WRITE, FLOAT32)},
    [SL_OP_CLASSIFIER_SHARD] = {R(LOGITS, UPDATE, DATA),
                                R(TARGETS, READ, INDEX),
                                R(STATS, READ, FLOAT32),
                                R(CONTROL, UPDATE, RECORD)},
    [SL_OP_RELU_FWD] = {R(X, UPDATE, DATA)},
    [SL_OP_RELU_BWD] = {R(DOUT, UPDATE, DATA),
                        R(OUT, READ, DATA)},
    [SL_OP_MSE] = {R(X, UPDATE, DATA),
                   R(TARGETS, READ, DATA),
                   R(CONTROL, UPDATE, RECORD),
                   R(SCRATCH, WRITE, BYTES)},
    [SL_OP_PASS] = {WITH(KEPT, WRITE, ANY, SL_OP_KEEPS),
                    WITH(KEPT, READ, ANY, SL_OP_READS_KEPT),
                    WITH(SCRATCH, WRITE, ANY, SL_OP_WORKSPACE)},
    [SL_OP_SPLIT_QKV] = {WITHOUT(X, READ, DATA, SL_OP_INVERSE),
                         WITHOUT(Q, WRITE, DATA, SL_OP_INVERSE),
                         WITHOUT(K, WRITE, DATA, SL_OP_INVERSE),
                         WITHOUT(V, WRITE, DATA, SL_OP_INVERSE),
                         WITH(Q, READ, DATA, SL_OP_INVERSE),
                         WITH(K, READ, DATA, SL_OP_INVERSE),
                         WITH(V, READ, DATA, SL_OP_INVERSE),
                         WITH(X, WRITE, DATA, SL_OP_INVERSE)},
    [SL_OP_ORDER_CHUNKS] = {R(X, READ, DATA),
                            R(OUT, WRITE, DATA)},
    /* state */
    [SL_OP_FILL] = {R(X, WRITE, DATA)},
    [SL_OP_COPY] = {R(X, READ, FLOAT),
                    R(OUT, WRITE, FLOAT),
                    WITH(SCRATCH, WRITE, BYTES, SL_OP_WORKSPACE)},
    [SL_OP_ADD] = {R(X, READ, FLOAT),
                   R(OUT, UPDATE, FLOAT)},
    [SL_OP_CONCAT_COLUMNS] = {R(X, READ, DATA),
                              R(OUT, WRITE, DATA)},
    [SL_OP_SPLIT_COLUMNS] = {R(X, READ, DATA),
                             R(OUT, WRITE, DATA)},
    [SL_OP_NORM] = {R(GRADIENT, READ, DATA),
                    R(CONTROL, UPDATE, RECORD),
                    R(SCRATCH, WRITE, BYTES)},
    [SL_OP_QUANTIZE] = {R(X, READ, DATA),
                        R(OUT, WRITE, BYTES)},
    [SL_OP_DEQUANTIZE] = {R(X, READ, BYTES),
                          R(OUT, WRITE, DATA)},
    [SL_OP_QUANTIZED_SUM] = {R(X, READ, BYTES),
                             R(OUT, ADDS, DATA)},
    [SL_OP_REQUANTIZE] = {R(X, READ, BYTES),
                          R(OUT, WRITE, BYTES)},
    [SL_OP_FP8_CAST] = {R(X, READ, DATA),
                        WITH(OUT, WRITE, EIGHT, SL_OP_CAST_ROWS),
                        WITH(TRANSPOSED, WRITE, EIGHT, SL_OP_CAST_COLUMNS),
                        R(SCALE, READ, FLOAT32),
                        R(AMAX, UPDATE, FLOAT32)},
    [SL_OP_FP8_SCALE] = {R(AMAX, UPDATE, FLOAT32),
                         R(HISTORY, UPDATE, FLOAT32),
                         R(SCALE, UPDATE, FLOAT32)},
    [SL_OP_CONTROL] = {R(CONTROL, UPDATE, RECORD)},
    [SL_OP_SGD] = {R(MASTER, UPDATE, FLOAT32),
                   R(GRADIENT, READ, FLOAT),
                   WITH(MOMENT1, UPDATE, FLOAT32, SL_OP_MOMENTUM),
                   R(CONTROL, READ, RECORD),
                   WITH(PARAM, WRITE, FLOAT, SL_OP_PARAM_COPY)},
    [SL_OP_ADAM] = {ADAM},
    [SL_OP_ADAMW] = {ADAM},
    [SL_OP_SIGN_PACK] = {R(MOMENT1, READ, FLOAT32),
                         R(GRADIENT, READ, FLOAT),
                         R(ERROR, UPDATE, FLOAT32),
                         R(CONTROL, READ, RECORD),
                         R(OUT, WRITE, BYTES),
                         R(SCRATCH, WRITE, BYTES)},
    [SL_OP_SIGN_SUM] = {R(X, READ, BYTES),
                        R(ERROR, UPDATE, FLOAT32),
                        R(CONTROL, READ, RECORD),
                        R(OUT, WRITE, BYTES),
                        R(SCRATCH, WRITE, BYTES)},
    [SL_OP_ONEBIT_ADAM] = {R(MASTER, UPDATE, FLOAT32),
                           R(X, READ, BYTES),
                           R(MOMENT1, WRITE, FLOAT32),
                           R(MOMENT2, READ, FLOAT32),
                           R(CONTROL, READ, RECORD),
                           WITH(PARAM, WRITE, FLOAT, SL_OP_PARAM_COPY)},
    [SL_OP_INIT_TENSOR] = {R(X, UPDATE, DATA)}, /* only a piece: the rest is unchanged */
    [SL_OP_SAVE_TENSOR] = {R(X, READ, FLOAT)},
    [SL_OP_JOIN] = {{0}},
    /* communication; a collective has these once per part */
    [SL_OP_ALL_REDUCE] = {R(X, UPDATE, DATA)},
    [SL_OP_REDUCE_SCATTER] = {R(WHOLE, UPDATE, DATA),
                              R(SHARD, ADDS, DATA)},
    [SL_OP_ALL_GATHER] = {R(SHARD, READ, DATA),
                          R(WHOLE, WRITE, DATA)},
    [SL_OP_BROADCAST] = {R(X, UPDATE, DATA)},
    [SL_OP_SEND] = {R(X, READ, DATA)},
    [SL_OP_RECV] = {R(X, WRITE, DATA)},
    [SL_OP_ALL_TO_ALL] = {R(SHARD, READ, DATA),
                          R(WHOLE, WRITE, DATA)},
#undef R
#undef WITH
#undef WITHOUT
#undef PACKED_OR_APART
#undef SUM_OR_X
#undef ADAM
};
/* clang-format on */
_Static_assert((int)MOST_ROWS <= (int)SL_OP_OPERANDS, "the rows of an op fit where its operands are named");

const char *sl_at_name(enum sl_at name) {
  static const char *const names[] = {"",
#define X(name, text) text,
                                      SL_AT_MAP(X)
#undef X
  };
  return names[name];
}

/* The first row from `row` on that applies to `op`; NULL after the last one. */
static const struct row *next_row(const struct sl_op *op, const struct row *row) {
  for (; row->name != SL_AT_NONE; row++) {
    if (row->with != 0 && !(op->flags & row->with)) continue;
    if (!(op->flags & row->without)) return row;
  }
  return NULL;
}

int sl_op_names(const struct sl_op *op, enum sl_at names[SL_OP_OPERANDS]) {
  int n = 0;
  for (const struct row *r = next_row(op, rows[op->kind]); r != NULL; r = next_row(op, r + 1)) names[n++] = r->name;
  return n;
}

int sl_op_at(const struct sl_op *op, enum sl_at name) {
  int n = 0;
  for (const struct row *r = next_row(op, rows[op->kind]); r != NULL; r = next_row(op, r + 1), n++)
    if (r->name == name) return n;
  return -1;
}

/* No flag affects the operands of a collective. */
int sl_op_part_at(const struct sl_op *op, enum sl_at name, int part) {
  int at = -1, count = 0;
  for (const struct row *r = rows[op->kind]; r->name != SL_AT_NONE; r++, count++)
    if (r->name == name) at = count;
  return at < 0 ? -1 : part * count + at;
}

bool sl_op_in_place(enum sl_op_kind kind) {
  return rows[kind][0].name == SL_AT_X;
}

const struct sl_slice *sl_op_operand(const struct sl_op *op, const struct sl_slice *slices, enum sl_at name) {
  const int i = sl_op_at(op, name);
  return i < 0 ? NULL : &slices[i];
}

/* ---- the check ---- */

static bool is_eight(enum sl_dtype type) {
  return type == SL_E4M3 || type == SL_E5M2;
}

/* Of a product with scales, a and b are in 8 bits; of one that is only predicted, they may be. */
static bool fits(const struct sl_op *op, const struct row *row, enum sl_dtype type) {
  const enum sl_dtype data = sl_dtype_stored(op->dtype);
  const bool factor = op->kind == SL_OP_GEMM && (row->name == SL_AT_A || row->name == SL_AT_B);
  if (factor && op->flags & SL_OP_SCALED) return op->dtype == SL_F8 && is_eight(type);
  switch (row->type) {
  case DATA:
    return type == data || (op->dtype == SL_F8 && type == SL_U8);
  case EIGHT:
    return is_eight(type);
  case MIXED:
    return type == data || (data == SL_F32 && (type == SL_BF16 || type == SL_F16));
  case FLOAT:
    return type == SL_F32 || type == SL_BF16 || type == SL_F16;
  case FLOAT32:
    return type == SL_F32;
  case INDEX:
    return type == SL_I32;
  case BYTES:
    return type == SL_U8;
  case ANY:
    return true;
  case BATCH:
    return type == SL_I32 || type == data;
  case RECORD:
    return type == SL_F64;
  }
  return false;
}

static enum sl_status check_operand(const struct sl_op *op, const struct row *row, int i, const struct sl_slice *slice,
                                    enum sl_dtype type) {
  static const char *const accesses[] = {"not used", "read", "written", "updated"};
  _Static_assert(sizeof accesses / sizeof *accesses == SL_READ_WRITE + 1, "a word for each access");
  if (!(row->use & 1U << slice->access))
    return sl_fail(SL_ERR_CHECK, "%s: operand %d, %s, is %s, which its row does not allow", sl_op_label(op), i,
                   sl_at_name(row->name), accesses[slice->access]);
  if (!fits(op, row, type))
    return sl_fail(SL_ERR_CHECK, "%s of %s: operand %d, %s, is of type %s, which its row does not allow",
                   sl_op_label(op), sl_dtype_name(op->dtype), i, sl_at_name(row->name), sl_dtype_name(type));
  if (slice->offset < 0 || slice->bytes < 0 || slice->bytes % sl_dtype_bytes(type) != 0)
    return sl_fail(SL_ERR_CHECK, "%s: operand %d, %s, has %lld bytes from %lld: expected whole elements of %s",
                   sl_op_label(op), i, sl_at_name(row->name), (long long)slice->bytes, (long long)slice->offset,
                   sl_dtype_name(type));
  return SL_OK;
}

static enum sl_status check_dims(const struct sl_op *op) {
  for (int d = 0; d < sl_op_dims(op->kind); d++)
    if (op->dim[d] <= 0)
      return sl_fail(SL_ERR_CHECK, "%s: dimension %d is %lld, expected above 0", sl_op_label(op), d,
                     (long long)op->dim[d]);
  return SL_OK;
}

enum sl_status sl_op_check(const struct sl_op *op, const struct sl_slice *slices, const enum sl_dtype *types) {
  enum sl_at names[SL_OP_OPERANDS];
  const int expected = sl_op_names(op, names);
  const bool parts = sl_op_class_of(op->kind) == SL_CLASS_COLLECTIVE && op->slice_count > 0;
  if (parts ? op->slice_count % expected != 0 : op->slice_count != expected)
    return sl_fail(SL_ERR_CHECK, "%s has %d operands, expected %d%s", sl_op_label(op), op->slice_count, expected,
                   parts ? " a part" : "");
  for (int i = 0; i < op->slice_count;)
    for (const struct row *r = next_row(op, rows[op->kind]); r != NULL; r = next_row(op, r + 1), i++)
      SL_TRY(check_operand(op, r, i, &slices[i], types[i]));
  return check_dims(op);
}
