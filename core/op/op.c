/* What follows from an op by itself; see op.h. */
#include "core/op/op.h"

static const struct {
  const char *name;
  int dims;
  unsigned moves;
} op_info[] = {
#define X(name, text, op_class, dims) {text, dims, 0},
    SL_OP_MAP(X)
#undef X
#define X(name, text, op_class, dims, moves) {text, dims, moves},
        SL_COMM_MAP(X)
#undef X
};

#define X(name, text, op_class, ...) SL_CLASS_##op_class,
const unsigned char sl_op_classes[SL_OP_COUNT] = {SL_OP_MAP(X) SL_COMM_MAP(X)};
#undef X

const char *sl_op_name(enum sl_op_kind kind) {
  return op_info[kind].name;
}

const char *sl_op_label(const struct sl_op *op) {
  if (op->flags & SL_OP_RESIDUAL) {
    switch (op->kind) {
    case SL_OP_LAYERNORM_FWD:
      return "residual+layernorm";
    case SL_OP_RMSNORM_FWD:
      return "residual+rmsnorm";
    case SL_OP_LAYERNORM_BWD:
      return "layernorm_bwd+dropout";
    case SL_OP_RMSNORM_BWD:
      return "rmsnorm_bwd+dropout";
    default: /* the flag says something else */
      break;
    }
  }
  if (op->kind != SL_OP_GEMM) return sl_op_name(op->kind);
  if (op->flags & SL_OP_GELU) return "gemm+gelu";
  if (op->flags & SL_OP_DGELU) return "gemm+dgelu";
  return op->flags & (SL_OP_BGRAD_A | SL_OP_BGRAD_B) ? "gemm+bgrad" : "gemm";
}

struct sl_op sl_op_plain(enum sl_op_kind kind, enum sl_dtype dtype, enum sl_phase phase) {
  return (struct sl_op){.kind = kind,
                        .lane = SL_LANE_COMPUTE,
                        .group = SL_GROUP_NONE,
                        .place_group = SL_GROUP_NONE,
                        .dtype = dtype,
                        .phase = phase,
                        .tensor = -1};
}

struct sl_op sl_op_epilogue(const struct sl_op *op) {
  struct sl_op e = {.kind = SL_OP_COUNT, .dtype = sl_dtype_stored(op->dtype), .dim = {op->dim[0], op->dim[1]}};
  if (op->kind != SL_OP_GEMM) return e;
  if (op->flags & SL_OP_GELU) e.kind = SL_OP_GELU_FWD;
  if (op->flags & SL_OP_DGELU) e.kind = SL_OP_GELU_BWD;
  if (op->flags & (SL_OP_BGRAD_A | SL_OP_BGRAD_B)) {
    e.kind = SL_OP_BIAS_BWD;
    e.dim[0] = op->dim[2];
    e.dim[1] = op->dim[op->flags & SL_OP_BGRAD_A ? 0 : 1];
  }
  return e;
}

int sl_op_dims(enum sl_op_kind kind) {
  return op_info[kind].dims;
}

bool sl_op_is_comm(enum sl_op_kind kind) {
  return op_info[kind].moves != 0;
}

unsigned sl_op_moves(enum sl_op_kind kind) {
  return op_info[kind].moves;
}

const char *sl_op_class_name(enum sl_op_class op_class) {
  static const char *const names[] = {"gemm", "attention", "elementwise", "optimizer", "control", "collective", "p2p"};
  _Static_assert(sizeof names / sizeof *names == SL_CLASS_COUNT, "a name for each class");
  return names[op_class];
}

#define X(name, text) text,
const char *sl_lane_name(enum sl_lane lane) {
  static const char *const names[] = {SL_LANE_MAP(X)};
  return names[lane];
}

const char *sl_phase_name(enum sl_phase phase) {
  static const char *const names[] = {SL_PHASE_MAP(X)};
  return names[phase];
}

const char *sl_payload_name(enum sl_payload payload) {
  static const char *const names[] = {SL_PAYLOAD_MAP(X)};
  return names[payload];
}
#undef X
