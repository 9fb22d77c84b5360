/* The norm of gradients; see grad_norm.h. */
#include "core/lower/grad_norm.h"

#include "core/lower/lower.h"
#include "core/lower/owned.h"
#include "core/op/workspace.h"

/* How often the gradient of a placed tensor is counted, beyond data parallelism, if all ranks add theirs up. */
static int copies(const struct sl_lowering *l, int placed) {
  const struct sl_placed *t = &l->pp_rank->tensors[placed];
  return (t->replicated ? l->plan->tp : 1) * (t->tied ? 2 : 1);
}

/* A sum of squares: of `count` elements of a gradient, each of which all ranks together count `times` as often as their
 * group has it. With hi > 0 only elements [lo, hi) of a unit count, of which the operand is one member's part. */
struct squares {
  const struct sl_param_group *group;
  struct sl_operand gradient;
  int64_t count, lo, hi;
  int times;
  enum sl_phase phase;
};

/* All ranks of a group have a whole gradient, ranks / members of them a shard. In a compressed step each rank has a
 * gradient of its own, `ranks` times as large as what its kernels compute, and the mean of their squares counts:
 * DeepSpeed's ranks clip each by its own norm, here all by the root of that mean. */
static enum sl_status emit_squares(struct sl_lowering *l, struct sl_program *p, struct squares s) {
  const struct sl_buffer from = l->rank_class->buffers[s.gradient.buffer];
  if (from.space == SL_SPACE_NVME) return SL_OK; /* summed when they arrived */
  const bool whole = l->rank_class->role[SL_ROLE_GRAD].form == SL_FORM_WHOLE;
  struct sl_op op = sl_zero_op(SL_OP_NORM, from.dtype, s.phase, s.count);
  int32_t scratch;
  op.scale = (whole ? 1.0 : (double)s.group->members) / s.group->ranks / s.times;
  if (l->zero->compressed) op.scale = (double)s.group->ranks / s.times;
  op.place_group = s.group->shard;
  if (s.hi > 0) {
    op.flags |= SL_OP_SHARE_RANGE;
    op.dim[1] = s.lo, op.dim[2] = s.hi, op.dim[3] = s.count;
  }
  if (from.space == SL_SPACE_HOST) op.lane = SL_LANE_HOST;
  SL_TRY(sl_build_buffer(l, &scratch, SL_SCOPE_PROGRAM, SL_CATEGORY_WORKSPACE, SL_U8, sl_op_workspace(&op, 1),
                         "norm.scratch"));
  return SL_BUILD_EMIT(p, op, s.gradient, sl_build_update(l, l->rank_class->control), sl_build_write(l, scratch));
}

/* The squares of tensors first .. end - 1 of a group, which are counted equally often: of whole tensors, or of their
 * part of each unit. */
static enum sl_status square_stretch(struct sl_lowering *l, struct sl_program *p, int first, int end) {
  const struct sl_placed *t = l->pp_rank->tensors;
  const int64_t lo = t[first].flat, hi = t[end - 1].flat + t[end - 1].numel;
  struct squares s = {
      .group = &l->pp_rank->layouts[t[first].group].group, .times = copies(l, first), .phase = SL_PHASE_STEP};
  if (l->rank_class->role[SL_ROLE_GRAD].form == SL_FORM_WHOLE) {
    s.count = hi - lo;
    s.gradient = sl_build_part(l, l->rank_class->role[SL_ROLE_GRAD].buffer, SL_READ, lo, s.count);
    return emit_squares(l, p, s);
  }
  for (int k = t[first].unit; k <= t[end - 1].unit; k++) {
    const struct sl_unit *u = &l->pp_rank->units[k];
    const int64_t from = lo > u->first ? lo - u->first : 0, to = hi < u->first + u->numel ? hi - u->first : u->numel;
    const bool cut = from > 0 || to < u->numel;
    s.gradient = sl_owned_state(l, SL_ROLE_GRAD, SL_READ, sl_owned_unit(l, u));
    s.count = u->part, s.lo = cut ? from : 0, s.hi = cut ? to : 0;
    SL_TRY(emit_squares(l, p, s));
  }
  return SL_OK;
}

/* A group in which every element counts once: in as few runs as possible. */
static enum sl_status square_group(struct sl_lowering *l, struct sl_program *p, const struct sl_layout *layout) {
  const enum sl_role_form form = l->rank_class->role[SL_ROLE_GRAD].form;
  const bool contiguous = form != SL_FORM_SHARD_IN_FLAT;
  for (int i = 0; i < sl_owned_count(layout, contiguous) && layout->tensor_count > 0; i++) {
    struct sl_owned run = sl_owned_at(l, layout, contiguous, i);
    if (form == SL_FORM_WHOLE) run.count = layout->padded;
    while (run.count > 0) {
      const struct sl_owned piece = sl_owned_together(l, &run);
      const struct sl_operand gradient = sl_owned_state(l, SL_ROLE_GRAD, SL_READ, piece);
      SL_TRY(emit_squares(l, p,
                          (struct squares){.group = &layout->group,
                                           .gradient = gradient,
                                           .count = piece.count,
                                           .times = 1,
                                           .phase = SL_PHASE_STEP}));
    }
  }
  return SL_OK;
}

enum sl_status sl_grad_norm(struct sl_lowering *l, struct sl_program *p) {
  const struct sl_placed *t = l->pp_rank->tensors;
  const int n = l->pp_rank->tensor_count;
  int once = 0;
  while (once < n && copies(l, once) == 1) once++;
  for (int g = 0; g < l->pp_rank->group_count && once == n; g++) SL_TRY(square_group(l, p, &l->pp_rank->layouts[g]));
  for (int first = 0, end; first < n && once < n; first = end) {
    for (end = first + 1; end < n && copies(l, end) == copies(l, first) && t[end].group == t[first].group;) end++;
    SL_TRY(square_stretch(l, p, first, end));
  }
  return SL_OK;
}

/* Units that are counted equally often are summed together. A unit of stage 3 is a parameter, and padding is zero. */
enum sl_status sl_grad_norm_arrived(struct sl_lowering *l, struct sl_program *p, struct sl_operand passing,
                                    int64_t first, int64_t count) {
  const struct sl_unit *units = l->pp_rank->units;
  int k = 0;
  while (units[k].shard_offset < first) k++;
  for (int64_t done = 0, piece; done < count; done += piece) {
    const int times = copies(l, units[k].first_tensor);
    const struct sl_param_group *group = &sl_layout_of(l->pp_rank, &units[k])->group;
    for (piece = 0; done + piece < count && copies(l, units[k].first_tensor) == times; k++) piece += units[k].part;
    struct sl_operand part = sl_build_part(l, passing.buffer, SL_READ, 0, piece);
    part.slice.offset = passing.slice.offset + done * sl_dtype_bytes(l->accumulate);
    SL_TRY(emit_squares(
        l, p,
        (struct squares){
            .group = group, .gradient = part, .count = piece, .times = times, .phase = SL_PHASE_BACKWARD}));
  }
  return SL_OK;
}
