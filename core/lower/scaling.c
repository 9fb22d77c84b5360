/* Scales of fp8; see scaling.h. */
#include "core/lower/scaling.h"

#include "core/base/checked.h"
#include "core/lower/lower.h"

#include <math.h>

static enum sl_status state(struct sl_lowering *l, int32_t *out, int64_t count, const char *name) {
  return sl_build_buffer(l, out, SL_SCOPE_PERSISTENT, SL_CATEGORY_WORKSPACE, SL_F32, count, "%s", name);
}

static enum sl_status state_of_weights(struct sl_lowering *l, enum sl_role role, int64_t count, const char *name) {
  l->rank_class->role[role].form = SL_FORM_WHOLE;
  return state(l, &l->rank_class->role[role].buffer, count, name);
}

/* The weights that Transformer Engine casts once a step and keeps (module/base.py, quantize_weight with a workspace),
 * and transposes where products take factors of one layout alone: before Blackwell (cpp_extensions,
 * is_non_tn_fp8_gemm_supported). With fp8_param_gather the 16 bits of the parameter stand for the two. */
static enum sl_status keep_casts(struct sl_lowering *l) {
  const int layouts = l->plan->cluster->device.compute_capability < 10 ? 2 : 1;
  int64_t count = 0;
  int32_t buffer;
  if (!sl_build_casts_once(l) || l->plan->config->sl.fp8_param_gather || l->plan->strategy.shard_params) return SL_OK;
  for (int i = 0; i < l->pp_rank->tensor_count; i++)
    if (l->pp_rank->tensors[i].linear >= 0) count += l->pp_rank->tensors[i].numel;
  if (count == 0) return SL_OK;
  return sl_build_buffer(l, &buffer, SL_SCOPE_PERSISTENT, SL_CATEGORY_WORKSPACE, SL_U8, layouts * count, "fp8.weights");
}

enum sl_status sl_scaling_open(struct sl_lowering *l) {
  l->fp8_amax = -1;
  SL_TRY(keep_casts(l));
  const int64_t factors = sl_build_casts(l) ? sl_build_factors(l) : 0;
  if (factors == 0) return SL_OK;
  SL_TRY(state_of_weights(l, SL_ROLE_FP8_SCALE, 2 * factors, "fp8.scale"));
  SL_TRY(state(l, &l->fp8_amax, factors, "fp8.amax"));
  return state_of_weights(l, SL_ROLE_FP8_HISTORY, sl_product(l->plan->config->sl.fp8_amax_history_len, factors),
                          "fp8.history");
}

enum sl_status sl_scaling_forget(const struct sl_lowering *l, struct sl_program *p, enum sl_phase phase) {
  if (l->fp8_amax < 0) return SL_OK;
  const struct sl_op op = sl_zero_op(SL_OP_FILL, SL_F32, phase, sl_build_factors(l));
  return SL_BUILD_EMIT(p, op, sl_build_write(l, l->fp8_amax));
}

/* Two all-reduces in place of one over the product of both groups, which has no communicator. */
static enum sl_status agree(const struct sl_lowering *l, struct sl_program *p, enum sl_group group, int ranks) {
  if (ranks == 1) return SL_OK;
  struct sl_op op =
      sl_zero_collective(l, SL_OP_ALL_REDUCE, group, SL_F32, SL_PHASE_STEP, SL_PAYLOAD_SCALAR, sl_build_factors(l));
  op.flags |= SL_OP_MOST;
  return SL_BUILD_EMIT(p, op, sl_build_update(l, l->fp8_amax));
}

enum sl_status sl_scaling_step(const struct sl_lowering *l, struct sl_program *p) {
  const struct sl_config *config = l->plan->config;
  if (l->fp8_amax < 0) return SL_OK;
  SL_TRY(agree(l, p, SL_GROUP_TP, l->plan->tp));
  SL_TRY(agree(l, p, SL_GROUP_DP, l->plan->dp_cp));
  struct sl_op op = sl_zero_op(SL_OP_FP8_SCALE, SL_F32, SL_PHASE_STEP, sl_build_factors(l));
  op.dim[1] = config->sl.fp8_amax_history_len;
  op.scale = ldexp(1, -config->sl.fp8_margin);
  if (config->sl.fp8_amax_compute_algo == SL_FP8_MOST_RECENT) op.flags |= SL_OP_MOST_RECENT;
  if (config->sl.fp8_format == SL_FP8_ALL_E4M3) op.flags |= SL_OP_ALL_E4M3;
  return SL_BUILD_EMIT(p, op, sl_build_update(l, l->fp8_amax),
                       sl_build_update(l, l->rank_class->role[SL_ROLE_FP8_HISTORY].buffer),
                       sl_build_update(l, l->rank_class->role[SL_ROLE_FP8_SCALE].buffer));
}
