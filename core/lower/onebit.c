/* The compressed steps of 1-bit Adam; see onebit.h. Each rank adds its own gradient to the common momentum and sends
 * the result compressed: one bit per number, and one scale. Each member receives one chunk of it from all ranks,
 * averages them, and sends the mean to all in the same way. What compression loses is added in the next step.
 *
 * DeepSpeed calls all_to_all and all_gather for each tensor, separately for signs and for scales; here one call in each
 * direction carries all tensors of a parameter group, each tensor's scale before its signs. DeepSpeed flattens the
 * states of 16-bit training into one tensor with one scale; here each tensor has its own scale, as in DeepSpeed's fp32
 * training. */
#include "core/lower/onebit.h"

#include <stdlib.h>

#include "core/base/checked.h"
#include "core/lower/lower.h"
#include "core/op/quantized.h"
#include "core/op/workspace.h"

/* A tensor's share of the buffers: elements of the errors, bytes of what is packed. */
struct share {
  const struct sl_placed *tensor;
  int64_t members, chunk, piece; /* elements and bytes of a member's piece */
  int64_t worker_at, server_at;  /* in the errors of what a rank sends, and of its means */
  int64_t sent_at, mean_at;      /* in what is sent: `members` pieces, and in the means: one */
};

static bool communicates(const struct sl_layout *layout) {
  return layout->group.members == 1 && layout->group.ranks > 1;
}

/* The share of tensor `i`, which follows `s`, that of the tensor before. A tensor that is not reduced over several
 * ranks has no elements. */
static struct share next_share(const struct sl_lowering *l, int i, struct share s) {
  const struct sl_layout *layout = &l->pp_rank->layouts[l->pp_rank->tensors[i].group];
  s.worker_at += sl_product(s.members, s.chunk), s.server_at += s.chunk;
  s.sent_at += sl_product(s.members, s.piece), s.mean_at += s.piece;
  s.tensor = &l->pp_rank->tensors[i];
  s.members = layout->group.ranks;
  s.chunk = communicates(layout) ? sl_sign_chunk(s.tensor->numel, s.members) : 0;
  s.piece = communicates(layout) ? sl_sign_bytes(s.chunk) : 0;
  return s;
}

/* The sizes of the buffers: the end of the last share. */
static struct share total(const struct sl_lowering *l) {
  struct share s = {0};
  for (int i = 0; i < l->pp_rank->tensor_count; i++) s = next_share(l, i, s);
  s.worker_at += sl_product(s.members, s.chunk), s.server_at += s.chunk;
  s.sent_at += sl_product(s.members, s.piece), s.mean_at += s.piece;
  return s;
}

enum sl_status sl_onebit_open(struct sl_lowering *l) {
  const struct share all = total(l);
  l->homes->worker_error = l->homes->server_error = -1;
  if (!sl_program_compresses(l->plan->config) || all.sent_at == 0) return SL_OK;
  SL_TRY(sl_build_buffer(l, &l->homes->worker_error, SL_SCOPE_PERSISTENT, SL_CATEGORY_OPTIMIZER, SL_F32, all.worker_at,
                         "worker_error"));
  return sl_build_buffer(l, &l->homes->server_error, SL_SCOPE_PERSISTENT, SL_CATEGORY_OPTIMIZER, SL_F32, all.server_at,
                         "server_error");
}

static enum sl_status clear(struct sl_lowering *l, struct sl_program *p, int32_t buffer) {
  const int64_t count = l->rank_class->buffers[buffer].bytes / sl_dtype_bytes(SL_F32);
  return SL_BUILD_EMIT(p, sl_zero_op(SL_OP_FILL, SL_F32, SL_PHASE_INIT, count), sl_build_write(l, buffer));
}

enum sl_status sl_onebit_init(struct sl_lowering *l, struct sl_program *p) {
  if (l->homes->worker_error < 0) return SL_OK;
  SL_TRY(clear(l, p, l->homes->worker_error));
  return clear(l, p, l->homes->server_error);
}

/* The buffers between the ops of a step: a rank's packed momentum and the pieces it receives, its packed mean and the
 * means of all. */
struct way {
  int32_t sent, arrived, mean, means;
};

static enum sl_status open_way(struct sl_lowering *l, struct way *w) {
  const struct share all = total(l);
  const struct {
    int32_t *buffer;
    int64_t bytes;
    const char *name;
  } rows[] = {{&w->sent, all.sent_at, "momentum.packed"},
              {&w->arrived, all.sent_at, "momentum.arrived"},
              {&w->mean, all.mean_at, "momentum.mean"},
              {&w->means, all.sent_at, "momentum.means"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    SL_TRY(sl_build_buffer(l, rows[i].buffer, SL_SCOPE_PROGRAM, SL_CATEGORY_COMMUNICATION, SL_U8, rows[i].bytes, "%s",
                           rows[i].name));
  return SL_OK;
}

static struct sl_operand role_part(const struct sl_lowering *l, enum sl_role role, enum sl_access access,
                                   const struct sl_placed *t) {
  return sl_build_part(l, l->rank_class->role[role].buffer, access, t->flat, t->numel);
}

static enum sl_status scratch(struct sl_lowering *l, const struct sl_op *op, struct sl_operand *out) {
  int32_t buffer;
  SL_TRY(sl_build_buffer(l, &buffer, SL_SCOPE_PROGRAM, SL_CATEGORY_WORKSPACE, SL_U8, sl_op_workspace(op, 1),
                         "signs.scratch"));
  *out = sl_build_write(l, buffer);
  return SL_OK;
}

/* Kernels divide the loss by the global batch, so the mean gradient of a rank's own samples is `members` times what
 * they compute. */
static enum sl_status pack(struct sl_lowering *l, struct sl_program *p, struct way w, struct share s) {
  struct sl_op op = sl_zero_op(SL_OP_SIGN_PACK, SL_F32, SL_PHASE_STEP, s.tensor->numel);
  struct sl_operand room;
  op.dim[1] = s.chunk, op.dim[2] = s.members;
  op.scale = (double)s.members;
  SL_TRY(scratch(l, &op, &room));
  return SL_BUILD_EMIT(
      p, op, role_part(l, SL_ROLE_MOMENT1, SL_READ, s.tensor), role_part(l, SL_ROLE_GRAD, SL_READ, s.tensor),
      sl_build_part(l, l->homes->worker_error, SL_READ_WRITE, s.worker_at, sl_product(s.chunk, s.members)),
      sl_build_read(l, l->rank_class->control),
      sl_build_part(l, w.sent, SL_WRITE, s.sent_at, sl_product(s.piece, s.members)), room);
}

static enum sl_status sum(struct sl_lowering *l, struct sl_program *p, struct way w, struct share s) {
  struct sl_op op = sl_zero_op(SL_OP_SIGN_SUM, SL_F32, SL_PHASE_STEP, s.chunk);
  struct sl_operand room;
  op.dim[1] = s.members;
  SL_TRY(scratch(l, &op, &room));
  return SL_BUILD_EMIT(p, op, sl_build_part(l, w.arrived, SL_READ, s.sent_at, sl_product(s.piece, s.members)),
                       sl_build_part(l, l->homes->server_error, SL_READ_WRITE, s.server_at, s.chunk),
                       sl_build_read(l, l->rank_class->control), sl_build_part(l, w.mean, SL_WRITE, s.mean_at, s.piece),
                       room);
}

static enum sl_status update(struct sl_lowering *l, struct sl_program *p, struct way w, struct share s) {
  const bool master = l->rank_class->role[SL_ROLE_MASTER].form != SL_FORM_ABSENT;
  struct sl_op op = sl_zero_op(SL_OP_ONEBIT_ADAM, SL_F32, SL_PHASE_STEP, s.tensor->numel);
  struct sl_operand operands[SL_MAX_OPERANDS];
  int n = 0;
  op.dim[1] = s.chunk, op.dim[2] = s.members;
  operands[n++] = role_part(l, master ? SL_ROLE_MASTER : SL_ROLE_PARAM, SL_READ_WRITE, s.tensor);
  operands[n++] = sl_build_part(l, w.means, SL_READ, s.sent_at, sl_product(s.piece, s.members));
  operands[n++] = role_part(l, SL_ROLE_MOMENT1, SL_WRITE, s.tensor);
  operands[n++] = role_part(l, SL_ROLE_MOMENT2, SL_READ, s.tensor);
  operands[n++] = sl_build_read(l, l->rank_class->control);
  if (master) {
    op.flags |= SL_OP_PARAM_COPY;
    operands[n++] = role_part(l, SL_ROLE_PARAM, SL_WRITE, s.tensor);
  }
  return sl_build_emit(p, op, n, operands);
}

/* An op for each tensor of a group. */
typedef enum sl_status (*each_fn)(struct sl_lowering *l, struct sl_program *p, struct way w, struct share s);

static enum sl_status each(struct sl_lowering *l, struct sl_program *p, struct way w, int group, each_fn f) {
  struct share s = {0};
  for (int i = 0; i < l->pp_rank->tensor_count; i++) {
    s = next_share(l, i, s);
    if (s.tensor->group == group) SL_TRY(f(l, p, w, s));
  }
  return SL_OK;
}

/* One call for all tensors of a group, from buffer `from` to `to`; `from` holds the packed pieces, or the mean. */
static enum sl_status call(struct sl_lowering *l, struct sl_program *p, int group, enum sl_op_kind kind, int32_t from,
                           int32_t to) {
  const enum sl_group peers = l->pp_rank->layouts[group].group.sum;
  struct sl_op op = sl_zero_collective(l, kind, peers, SL_U8, SL_PHASE_STEP, SL_PAYLOAD_OPTIMIZER, 0);
  const bool one = kind == SL_OP_ALL_GATHER;
  struct share s = {0};
  int n = 0;
  for (int i = 0; i < l->pp_rank->tensor_count; i++) {
    s = next_share(l, i, s);
    if (s.tensor->group != group) continue;
    const int64_t all = sl_product(s.piece, s.members);
    l->zero->wide[n++] = sl_build_part(l, from, SL_READ, one ? s.mean_at : s.sent_at, one ? s.piece : all);
    l->zero->wide[n++] = sl_build_part(l, to, SL_WRITE, s.sent_at, all);
    op.dim[0] += all;
  }
  return sl_build_emit(p, op, n, l->zero->wide);
}

enum sl_status sl_onebit_update(struct sl_lowering *l, struct sl_program *p) {
  struct way w;
  if (l->homes->worker_error < 0) return SL_OK;
  SL_TRY(open_way(l, &w));
  for (int g = 0; g < l->pp_rank->group_count; g++) {
    if (l->pp_rank->layouts[g].tensor_count == 0 || !communicates(&l->pp_rank->layouts[g])) continue;
    SL_TRY(each(l, p, w, g, pack));
    SL_TRY(call(l, p, g, SL_OP_ALL_TO_ALL, w.sent, w.arrived));
    SL_TRY(each(l, p, w, g, sum));
    SL_TRY(call(l, p, g, SL_OP_ALL_GATHER, w.mean, w.means));
    SL_TRY(each(l, p, w, g, update));
  }
  return SL_OK;
}
