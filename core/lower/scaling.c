/* Scales of fp8; see scaling.h. */
#include "core/lower/scaling.h"

#include "core/lower/lower.h"

static enum sl_status state(struct sl_lowering *l, int32_t *out, int64_t count, const char *name) {
  return sl_build_buffer(l, out, SL_SCOPE_PERSISTENT, SL_CATEGORY_WORKSPACE, SL_F32, count, "%s", name);
}

enum sl_status sl_scaling_open(struct sl_lowering *l) {
  l->scaling = (struct sl_scaling){-1, -1, -1};
  const int64_t factors = sl_build_casts(l) ? sl_build_factors(l) : 0;
  if (factors == 0) return SL_OK;
  SL_TRY(state(l, &l->scaling.scale, 2 * factors, "fp8.scale"));
  SL_TRY(state(l, &l->scaling.amax, factors, "fp8.amax"));
  return state(l, &l->scaling.history, SL_FP8_HISTORY * factors, "fp8.history");
}

static enum sl_status fill(const struct sl_lowering *l, struct sl_program *p, int32_t buffer, double value) {
  const int64_t count = l->rank_class->buffers[buffer].bytes / sl_dtype_bytes(SL_F32);
  struct sl_op op = sl_zero_op(SL_OP_FILL, SL_F32, SL_PHASE_INIT, count);
  op.scale = value;
  return SL_BUILD_EMIT(p, op, sl_build_write(l, buffer));
}

enum sl_status sl_scaling_init(const struct sl_lowering *l, struct sl_program *p) {
  if (l->scaling.scale < 0) return SL_OK;
  SL_TRY(fill(l, p, l->scaling.scale, 1));
  SL_TRY(fill(l, p, l->scaling.amax, 0));
  return fill(l, p, l->scaling.history, 0);
}

/* Two all-reduces in place of one over the product of both groups, which has no communicator. */
static enum sl_status agree(const struct sl_lowering *l, struct sl_program *p, enum sl_group group, int ranks) {
  if (ranks == 1) return SL_OK;
  struct sl_op op =
      sl_zero_collective(l, SL_OP_ALL_REDUCE, group, SL_F32, SL_PHASE_STEP, SL_PAYLOAD_SCALAR, sl_build_factors(l));
  op.flags |= SL_OP_MOST;
  return SL_BUILD_EMIT(p, op, sl_build_update(l, l->scaling.amax));
}

enum sl_status sl_scaling_step(const struct sl_lowering *l, struct sl_program *p) {
  if (l->scaling.scale < 0) return SL_OK;
  SL_TRY(agree(l, p, SL_GROUP_TP, l->plan->tp));
  SL_TRY(agree(l, p, SL_GROUP_DP, l->plan->dp_cp));
  struct sl_op op = sl_zero_op(SL_OP_FP8_SCALE, SL_F32, SL_PHASE_STEP, sl_build_factors(l));
  op.dim[1] = SL_FP8_HISTORY;
  return SL_BUILD_EMIT(p, op, sl_build_update(l, l->scaling.amax), sl_build_update(l, l->scaling.history),
                       sl_build_update(l, l->scaling.scale));
}
