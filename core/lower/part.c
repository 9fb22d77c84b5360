/* This rank's part of a unit; see part.h. */
#include "core/lower/part.h"

#include "core/lower/lower.h"

/* A new buffer on the device, of `unit`'s part. */
static enum sl_status open_copy(struct sl_lowering *l, int32_t *out, int unit, enum sl_phase phase, enum sl_dtype type,
                                const char *name) {
  const struct sl_unit *u = &l->pp_rank->units[unit];
  const char *tensor = l->plan->model->tensors[l->pp_rank->tensors[u->first_tensor].tensor].name;
  const bool passes = phase == SL_PHASE_FORWARD || phase == SL_PHASE_BACKWARD;
  return sl_build_buffer(l, out, passes ? SL_SCOPE_MICRO : SL_SCOPE_PROGRAM, SL_CATEGORY_COMMUNICATION, type, u->part,
                         "%s.%s", tensor, name);
}

static enum sl_status to_device(struct sl_lowering *l, struct sl_program *p, enum sl_phase phase, enum sl_dtype type,
                                int unit, struct sl_operand *part) {
  int32_t copy;
  SL_TRY(open_copy(l, &copy, unit, phase, type, "part"));
  SL_TRY(sl_zero_convert(l, p, *part, sl_build_write(l, copy), l->pp_rank->units[unit].part, phase, false));
  *part = sl_build_read(l, copy);
  return SL_OK;
}

/* Where the gather runs, so that compute does not wait for a part that comes from host memory. */
static enum sl_status cast(struct sl_lowering *l, struct sl_program *p, const struct sl_op *gather, int unit,
                           struct sl_operand *part) {
  struct sl_op op = sl_zero_op(SL_OP_COPY, l->dtype, gather->phase, l->pp_rank->units[unit].part);
  int32_t copy;
  op.lane = gather->lane;
  op.flags = gather->flags & SL_OP_AFTER_COMPUTE;
  SL_TRY(open_copy(l, &copy, unit, gather->phase, l->dtype, "cast"));
  SL_TRY(SL_BUILD_EMIT(p, op, *part, sl_build_write(l, copy)));
  *part = sl_build_read(l, copy);
  return SL_OK;
}

enum sl_status sl_part_to_gather(struct sl_lowering *l, struct sl_program *p, struct sl_op gather, int unit,
                                 struct sl_operand *out) {
  const struct sl_unit *u = &l->pp_rank->units[unit];
  *out = sl_home_part(l, SL_ROLE_PARAM, SL_READ, u->shard_offset, u->part);
  const struct sl_buffer *kept = &l->rank_class->buffers[out->buffer];
  const enum sl_space space = kept->space;
  const enum sl_dtype type = kept->dtype;
  if (space == SL_SPACE_NVME) SL_TRY(sl_nvme_read_param(l, p, gather.phase, out, u->part));
  if (l->plan->strategy.offload_params) SL_TRY(to_device(l, p, gather.phase, type, unit, out));
  return type != l->dtype ? cast(l, p, &gather, unit, out) : SL_OK;
}
