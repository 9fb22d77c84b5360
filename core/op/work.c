/* Computes the work of an op; see work.h. */
#include "core/op/work.h"

#include "core/op/flops.h"
#include "core/op/operands.h"
#include "core/op/wire.h"

#include <string.h>

static const struct {
  const char *key;
  double unit;
  bool rate;
} terms[] = {
#define X(name, key, unit, rate) {key, unit, rate},
    SL_TERM_MAP(X)
#undef X
};

const char *sl_term_key(enum sl_term term) {
  return terms[term].key;
}

bool sl_term_is_rate(enum sl_term term) {
  return terms[term].rate;
}

double sl_term_number(enum sl_term term, double seconds) {
  return terms[term].rate ? 1 / (seconds * terms[term].unit) : seconds / terms[term].unit;
}

double sl_term_seconds(enum sl_term term, double number) {
  return terms[term].rate ? 1 / (number * terms[term].unit) : number * terms[term].unit;
}

const char *sl_variant_name(enum sl_variant variant) {
  static const char *const names[] = {
#define X(name, text, base) text,
      SL_VARIANT_MAP(X)
#undef X
  };
  return names[variant];
}

enum sl_variant sl_variant_base(enum sl_variant variant) {
  static const enum sl_variant bases[] = {
#define X(name, text, base) SL_VARIANT_##base,
      SL_VARIANT_MAP(X)
#undef X
  };
  return bases[variant];
}

enum sl_variant sl_variant_beside_gpu(enum sl_lane lane) {
  if (lane == SL_LANE_H2D || lane == SL_LANE_D2H) return SL_VARIANT_HOST_LINK;
  return lane == SL_LANE_HOST ? SL_VARIANT_ON_HOST : SL_VARIANT_PLAIN;
}

static enum sl_variant gemm_variant(unsigned flags) {
  const bool a = flags & SL_OP_TRANS_A, b = flags & SL_OP_TRANS_B;
  if (flags & SL_OP_GELU) return b ? SL_VARIANT_GELU_B : SL_VARIANT_GELU;
  if (flags & SL_OP_DGELU) return b ? SL_VARIANT_DGELU_B : SL_VARIANT_DGELU;
  if (flags & (SL_OP_BGRAD_A | SL_OP_BGRAD_B)) return SL_VARIANT_BGRAD_A;
  return a && b ? SL_VARIANT_TRANS_AB : a ? SL_VARIANT_TRANS_A : b ? SL_VARIANT_TRANS_B : SL_VARIANT_PLAIN;
}

static enum sl_variant variant_of(const struct sl_op *op, const struct sl_slice *slices) {
  if (op->kind == SL_OP_GEMM) return gemm_variant(op->flags);
  if (op->lane == SL_LANE_NVME_READ) return SL_VARIANT_NVME_READ;
  if (op->lane == SL_LANE_NVME_WRITE) return SL_VARIANT_NVME_WRITE;
  const struct sl_slice *shard = op->slice_count > 1 ? sl_op_operand(op, slices, SL_AT_SHARD) : NULL;
  if (shard != NULL && shard->access == SL_READ_WRITE) return SL_VARIANT_ADD;
  return op->dropout > 0 ? SL_VARIANT_DROPOUT : SL_VARIANT_PLAIN;
}

static void put_product(struct sl_work *w, const int64_t *dim) {
  const double m = (double)dim[0], n = (double)dim[1], k = (double)dim[2];
  const double element = (double)sl_dtype_bytes(w->dtype);
  w->terms[SL_TERM_FLOPS] = 2 * m * n * k;
  w->terms[SL_TERM_A] = element * m * k;
  w->terms[SL_TERM_B] = element * k * n;
  w->terms[SL_TERM_C] = element * m * n;
}

static void put_terms(struct sl_work *w, const int64_t *dim) {
  const enum sl_op_class op_class = sl_op_class_of(w->kind);
  const double b = (double)dim[0], h = (double)dim[2];
  w->terms[SL_TERM_LAUNCH] = w->kind == SL_OP_PASS ? (double)dim[1] : 1;
  if (w->kind == SL_OP_PASS) w->terms[SL_TERM_PIECES] = (double)dim[2];
  if (op_class == SL_CLASS_GEMM) {
    put_product(w, dim);
    return;
  }
  w->terms[SL_TERM_BYTES] = w->bytes;
  if (op_class == SL_CLASS_COLLECTIVE) w->terms[SL_TERM_PIECES] = w->parts;
  if (op_class != SL_CLASS_ATTENTION) return;
  w->terms[SL_TERM_FLOPS] = w->flops;
  w->terms[SL_TERM_SCORES] = b * h * sl_op_score_pairs(dim);
}

/* Bytes that an epilogue reads or writes: a matrix, or a row of sums. */
static double epilogue_bytes(const struct sl_op *op) {
  const struct sl_op epilogue = sl_op_epilogue(op);
  if (epilogue.kind == SL_OP_COUNT) return 0;
  const int64_t count = epilogue.dim[1] * (epilogue.kind == SL_OP_BIAS_BWD ? 1 : epilogue.dim[0]);
  return (double)(count * sl_dtype_bytes(op->dtype));
}

static void put_bytes(struct sl_work *w, const struct sl_op *op, const struct sl_slice *slices, int members) {
  const enum sl_op_class op_class = sl_op_class_of(op->kind);
  if (sl_op_is_comm(op->kind)) {
    w->members = members;
    w->size = (double)sl_op_comm_bytes(op);
    w->bytes = op_class == SL_CLASS_P2P ? w->size : sl_op_most_wire_bytes(op, slices, members);
    return;
  }
  w->bytes = sl_op_bytes(op, slices);
  w->epilogue_bytes = epilogue_bytes(op);
  if (sl_op_is_copy(op)) w->size = (double)sl_op_copy_bytes(op, slices);
}

struct sl_work sl_work_of(const struct sl_op *op, const struct sl_slice *slices, int members) {
  struct sl_work work = {.kind = op->kind,
                         .variant = variant_of(op, slices),
                         .dtype = op->dtype,
                         .lane = op->lane,
                         .flags = op->flags,
                         .parts = sl_op_class_of(op->kind) == SL_CLASS_COLLECTIVE ? sl_op_parts(op) : 1,
                         .uneven = op->flags & SL_OP_SHARE_RANGE,
                         .flops = sl_op_flops(op)};
  memcpy(work.dim, op->dim, sizeof work.dim);
  put_bytes(&work, op, slices, members);
  put_terms(&work, op->dim);
  return work;
}

struct sl_work sl_work_of_shape(enum sl_op_kind kind, enum sl_variant variant, enum sl_dtype dtype,
                                const int64_t dim[SL_OP_DIMS], int parts, double bytes) {
  struct sl_op op = {.kind = kind, .dtype = dtype};
  memcpy(op.dim, dim, sizeof op.dim);
  struct sl_work work = {
      .kind = kind, .variant = variant, .dtype = dtype, .parts = parts, .flops = sl_op_flops(&op), .bytes = bytes};
  memcpy(work.dim, dim, sizeof work.dim);
  put_terms(&work, dim);
  return work;
}

struct sl_work sl_work_in_cache(const struct sl_work *work, double cache_bytes) {
  struct sl_work out = *work;
  const double bytes = work->terms[SL_TERM_BYTES];
  out.terms[SL_TERM_CACHED] = bytes < cache_bytes ? bytes : cache_bytes;
  out.terms[SL_TERM_BYTES] = bytes - out.terms[SL_TERM_CACHED];
  return out;
}
