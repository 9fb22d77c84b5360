/* What follows from an op by itself: names, flops, bytes, and how members of a group share a collective; see program.h.
 */
#include "core/program/program.h"

#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  enum sl_op_class op_class;
} op_info[] = {
#define X(name, text, op_class) {text, SL_CLASS_##op_class},
    SL_OP_MAP(X)
#undef X
};

const char *sl_op_name(enum sl_op_kind kind) {
  return op_info[kind].name;
}

const char *sl_op_label(const struct sl_op *op) {
  if (op->kind != SL_OP_GEMM) return sl_op_name(op->kind);
  if (op->flags & SL_OP_GELU) return "gemm+gelu";
  if (op->flags & SL_OP_DGELU) return "gemm+dgelu";
  return op->flags & (SL_OP_BGRAD_A | SL_OP_BGRAD_B) ? "gemm+bgrad" : "gemm";
}

struct sl_gemm_operands sl_gemm_operands(const struct sl_op *op) {
  const unsigned optional[] = {SL_OP_BIAS, SL_OP_GELU | SL_OP_DGELU, SL_OP_BGRAD_A | SL_OP_BGRAD_B, SL_OP_WORKSPACE};
  int at[4], next = 3;
  for (int i = 0; i < 4; i++) at[i] = op->flags & optional[i] ? next++ : -1;
  return (struct sl_gemm_operands){at[0], at[1], at[2], at[3]};
}

struct sl_op sl_op_epilogue(const struct sl_op *op) {
  const enum sl_dtype type = op->dtype == SL_TF32 ? SL_F32 : op->dtype;
  struct sl_op e = {.kind = SL_OP_COUNT, .dtype = type, .dim = {op->dim[0], op->dim[1]}};
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

enum sl_op_class sl_op_class_of(enum sl_op_kind kind) {
  return op_info[kind].op_class;
}

const char *sl_op_class_name(enum sl_op_class op_class) {
  static const char *const names[] = {"gemm", "attention", "elementwise", "optimizer", "control", "collective", "p2p"};
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

const char *sl_category_name(enum sl_category category) {
  static const char *const names[] = {SL_CATEGORY_MAP(X)};
  return names[category];
}
#undef X

const char *sl_space_name(enum sl_space space) {
  static const char *const names[] = {"device", "host", "nvme"};
  return names[space];
}

/* Elements whose squares a norm adds: of a range, as many as a member's piece can have of it. */
static double norm_elements(const struct sl_op *op) {
  const int64_t range = op->dim[2] - op->dim[1];
  return (double)(op->flags & SL_OP_SHARE_RANGE && range < op->dim[0] ? range : op->dim[0]);
}

/* Of the backward of a norm of rows: `input` for dx, `weight` for the weights, both without a flag. */
static double half_flops(const struct sl_op *op, double input, double weight) {
  return (op->flags & SL_OP_WEIGHT_GRAD ? 0 : input) + (op->flags & SL_OP_INPUT_GRAD ? 0 : weight);
}

/* Flops per element of the element-wise ops, counted on the kernels in kernels/: they matter only where a device is so
 * short of arithmetic that bytes do not decide. */
static double elementwise_flops(const struct sl_op *op) {
  const double rows = (double)op->dim[0] * (double)op->dim[1];
  switch (op->kind) {
  case SL_OP_LAYERNORM_FWD:
    return 8 * rows;
  case SL_OP_LAYERNORM_BWD:
    return half_flops(op, 11, 5) * rows;
  case SL_OP_RMSNORM_FWD:
    return 4 * rows;
  case SL_OP_RMSNORM_BWD:
    return half_flops(op, 8, 3) * rows;
  case SL_OP_ROPE: /* a product of 2 x 2 for each pair */
    return 3 * rows * (double)op->dim[2] * (double)op->dim[3];
  case SL_OP_SWIGLU_FWD:
    return 15 * rows;
  case SL_OP_SWIGLU_BWD:
    return 22 * rows;
  case SL_OP_GELU_FWD:
    return 20 * rows;
  case SL_OP_GELU_BWD:
    return 26 * rows;
  case SL_OP_CLASSIFIER:
    return 24 * rows;
  case SL_OP_CLASSIFIER_STATS:
  case SL_OP_CLASSIFIER_SHARD:
    return 12 * rows;
  case SL_OP_RESIDUAL_FWD:
    return (op->flags & SL_OP_BIAS ? 2 : 1) * rows;
  case SL_OP_BIAS_FWD:
  case SL_OP_BIAS_BWD:
  case SL_OP_RELU_FWD:
  case SL_OP_RELU_BWD:
  case SL_OP_DROPOUT:
    return rows;
  case SL_OP_MSE:
    return 4 * rows;
  case SL_OP_EMBED_FWD:
  case SL_OP_EMBED_BWD:
    return 2 * rows * (double)op->dim[2];
  case SL_OP_NORM:
    return 2 * norm_elements(op);
  case SL_OP_SGD:
    return 5 * (double)op->dim[0];
  case SL_OP_ADAM:
  case SL_OP_ADAMW:
    return 16 * (double)op->dim[0];
  case SL_OP_ADD:
    return (double)op->dim[0];
  default:
    return 0;
  }
}

/* Flops of one T x T by D product of causal attention over all heads, dim B T H D: only the lower triangle counts. */
static double attention_product(const int64_t *d) {
  return 2.0 * (double)d[0] * (double)d[2] * (double)d[3] * (double)d[1] * (double)(d[1] + 1) / 2;
}

static double gemm_flops(const struct sl_op *op) {
  const struct sl_op epilogue = sl_op_epilogue(op);
  return 2.0 * (double)op->dim[0] * (double)op->dim[1] * (double)op->dim[2] +
         (epilogue.kind != SL_OP_COUNT ? elementwise_flops(&epilogue) : 0);
}

double sl_op_flops(const struct sl_op *op) {
  const int64_t *d = op->dim;
  switch (op->kind) {
  case SL_OP_GEMM:
    return gemm_flops(op);
  /* causal: T(T+1)/2 score pairs per head, a product of D for each of scores and outputs; the backward has four, and forms
   * the scores again where their softmax was not kept */
  case SL_OP_ATTENTION_FWD:
  case SL_OP_FLASH_FWD:
    return 2 * attention_product(d);
  case SL_OP_ATTENTION_BWD:
    return 4 * attention_product(d);
  case SL_OP_FLASH_BWD:
    return 5 * attention_product(d);
  default:
    return elementwise_flops(op);
  }
}

double sl_op_bytes(const struct sl_program *program, const struct sl_op *op) {
  double bytes = 0;
  for (int i = 0; i < op->slice_count; i++) {
    const struct sl_slice *s = &program->slices[op->slice + i];
    double touched = (double)s->bytes;
    /* an embedding reads one row a token, not the table; its backward touches as many rows again */
    if ((op->kind == SL_OP_EMBED_FWD && i == 1) ||
        (op->kind == SL_OP_EMBED_BWD && i == 2 && s->access == SL_READ_WRITE)) {
      touched = (double)op->dim[0] * (double)op->dim[1] * (double)op->dim[2] * (double)sl_dtype_bytes(op->dtype);
    }
    if (op->kind == SL_OP_NORM && i == 0 && op->dim[0] > 0) touched *= norm_elements(op) / (double)op->dim[0];
    bytes += touched * (s->access == SL_READ_WRITE ? 2 : 1);
  }
  return bytes;
}

int sl_op_parts(const struct sl_op *op) {
  const bool paired = op->kind == SL_OP_REDUCE_SCATTER || op->kind == SL_OP_ALL_GATHER;
  return paired ? op->slice_count / 2 : op->slice_count;
}

/* Elements of the whole side of part `part`, or of the shard side. */
static int64_t side_count(const struct sl_program *program, const struct sl_op *op, int part, bool whole) {
  const bool second = whole == (op->kind == SL_OP_ALL_GATHER);
  return program->slices[op->slice + 2 * part + second].bytes / sl_dtype_bytes(op->dtype);
}

struct sl_share sl_share_piece(const struct sl_program *program, const struct sl_op *op, int part, int member) {
  const int64_t stride = op->dim[3];
  if (op->flags & SL_OP_SHARE_CHUNK)
    return (struct sl_share){member * stride + op->dim[1], op->dim[1], op->dim[2] - op->dim[1]};
  if (op->flags & SL_OP_SHARE_RANGE) {
    int64_t lo = op->dim[1];
    for (int i = 0; i < part; i++) lo += side_count(program, op, i, true);
    const int64_t part_end = lo + side_count(program, op, part, true), own = member * stride;
    const int64_t hi = part_end < op->dim[2] ? part_end : op->dim[2];
    const int64_t first = lo > own ? lo : own, end = hi < own + stride ? hi : own + stride;
    if (end <= first) return (struct sl_share){0};
    return (struct sl_share){first - lo, first - own, end - first};
  }
  const int64_t count = side_count(program, op, part, false);
  return (struct sl_share){member * count, 0, count};
}

int64_t sl_op_comm_bytes(const struct sl_op *op) {
  return op->dim[0] * sl_dtype_bytes(op->dtype);
}

void sl_ring_piece(int64_t n, int members, int member, int64_t *first, int64_t *count) {
  const int64_t base = n / members, extra = n % members;
  *first = member * base + (member < extra ? member : extra);
  *count = base + (member < extra);
}

/* Elements that `index` sends in a ring over pieces of which it skips `skipped` (its own, or its successor's). */
static int64_t ring_sends(const struct sl_program *program, const struct sl_op *op, int part, int members,
                          int skipped) {
  int64_t sum = 0;
  for (int g = 0; g < members; g++) {
    if (g != skipped) sum += sl_share_piece(program, op, part, g).count;
  }
  return sum;
}

int64_t sl_op_wire_bytes(const struct sl_program *program, const struct sl_op *op, int members, int index) {
  const int successor = (index + 1) % members;
  int64_t elements = 0;
  if (members == 1 && op->kind != SL_OP_SEND && op->kind != SL_OP_RECV) return 0;
  for (int part = 0; part < sl_op_parts(op); part++) {
    const int64_t n = program->slices[op->slice + part].bytes / sl_dtype_bytes(op->dtype);
    int64_t first, own, next;
    switch (op->kind) {
    case SL_OP_ALL_REDUCE:
      sl_ring_piece(n, members, index, &first, &own);
      sl_ring_piece(n, members, successor, &first, &next);
      elements += 2 * n - own - next;
      break;
    case SL_OP_REDUCE_SCATTER:
      elements += ring_sends(program, op, part, members, index);
      break;
    case SL_OP_ALL_GATHER:
      elements += ring_sends(program, op, part, members, successor);
      break;
    case SL_OP_BROADCAST:
      elements += successor != op->peer ? n : 0;
      break;
    case SL_OP_SEND:
      elements += n;
      break;
    default:
      break;
    }
  }
  return elements * sl_dtype_bytes(op->dtype);
}

double sl_op_most_wire_bytes(const struct sl_program *program, const struct sl_op *op, int members) {
  int64_t most = 0;
  for (int i = 0; i < members; i++) {
    const int64_t wire = sl_op_wire_bytes(program, op, members, i);
    if (wire > most) most = wire;
  }
  return (double)most;
}

struct sl_located sl_job_locate(const struct sl_job *job, int rank, enum sl_role role, int placed) {
  const struct sl_plan *plan = job->plan;
  const struct sl_class *c = &job->classes[sl_job_class_of(job, rank)];
  const struct sl_stage *stage = &plan->stages[c->stage];
  const struct sl_members shard = sl_plan_group(plan, SL_GROUP_SHARD, rank);
  const struct sl_members replicate = sl_plan_group(plan, SL_GROUP_REPLICATE, rank);
  const struct sl_placed *t = &stage->tensors[placed];
  const struct sl_coord at = sl_plan_coord(plan, rank);
  /* of several holders the first writes: of the tp group, of the two pipeline ranks of a tied embedding */
  const bool first = (!t->replicated || at.tp == 0) && (!t->tied || at.pp == plan->embed_ranks[0]);
  struct sl_located out = {.buffer = c->role[role].buffer, .writer = first && replicate.index == 0};
  if (c->role[role].form == SL_FORM_ABSENT) return out;
  const int64_t element = sl_dtype_bytes(c->buffers[out.buffer].dtype);
  if (c->role[role].form == SL_FORM_WHOLE) {
    /* every data-parallel rank holds the same: the first one writes */
    out.writer = first && sl_plan_group(plan, SL_GROUP_DP, rank).index == 0;
    out.count = t->numel;
    out.offset = t->flat * element;
    return out;
  }
  const struct sl_piece piece = sl_layout_piece(stage, placed, shard.index);
  out.first = piece.first;
  out.count = piece.count;
  out.offset = (c->role[role].form == SL_FORM_SHARD ? piece.offset : t->flat + piece.first) * element;
  return out;
}

static void print_operand(const struct sl_job *job, const struct sl_class *c, const struct sl_program *p,
                          const struct sl_instance *n, const struct sl_op *op, int i, int rank, FILE *out) {
  static const char *const marks[] = {"", "<", ">", "<>"};
  const struct sl_slice *s = &p->slices[op->slice + i];
  const struct sl_buffer *b = &c->buffers[s->buffer];
  const int place = op->place_group == SL_GROUP_NONE ? 0 : sl_plan_group(job->plan, op->place_group, rank).index;
  fprintf(out, " %s%s", marks[s->access], b->name);
  if (b->slots > 1) fprintf(out, "#%d", sl_slice_slot(p, b, s, n));
  const int64_t offset = s->offset + place * s->shard_stride;
  if (offset != 0 || s->bytes != b->bytes) fprintf(out, "[%lld+%lld]", (long long)offset, (long long)s->bytes);
}

void sl_program_print(const struct sl_job *job, int rank, enum sl_program_kind kind, FILE *out) {
  const struct sl_class *c = &job->classes[sl_job_class_of(job, rank)];
  const struct sl_program *p = &c->programs[kind];
  fprintf(out, "# index  lane[index in lane]  action  op (shape)  operands: <read >write [byte offset + bytes]  waits: "
               "lane>=count\n");
  for (size_t i = 0; i < p->issue_count; i++) {
    const struct sl_issue *e = &p->issues[i];
    const struct sl_op *op = &p->ops[e->op];
    const struct sl_instance *n = &p->instances[e->instance];
    char action[32];
    sl_action_print(action, sizeof action, &n->action);
    fprintf(out, "%5zu  %s[%u]  %s  %s", i, sl_lane_name(op->lane), e->lane_index, action, sl_op_label(op));
    for (int d = 0; d < 5 && op->dim[d] != 0; d++) fprintf(out, "%s%lld", d == 0 ? " (" : " x ", (long long)op->dim[d]);
    if (op->dim[0] != 0) fputc(')', out);
    for (int k = 0; k < op->slice_count; k++) print_operand(job, c, p, n, op, k, rank, out);
    for (unsigned w = 0; w < e->wait_count; w++) {
      const struct sl_wait *wait = &p->waits[e->wait + w];
      fprintf(out, "%s%s>=%u", w == 0 ? "  waits " : " ", sl_lane_name((enum sl_lane)wait->lane), wait->count);
    }
    fputc('\n', out);
  }
}
