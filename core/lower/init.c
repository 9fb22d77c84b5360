/* Initial values of the states. No communication is needed: numbers are drawn by logical element. */
#include "core/lower/init.h"

#include "core/lower/lower.h"
#include "core/lower/scaling.h"

static enum sl_status init_role(struct sl_lowering *l, struct sl_program *p, enum sl_role role) {
  if (l->rank_class->role[role].form == SL_FORM_ABSENT) return SL_OK;
  for (int i = 0; i < l->pp_rank->tensor_count; i++) {
    const int32_t buffer = sl_home_of(l, role, i);
    struct sl_op op = sl_zero_op(SL_OP_INIT_TENSOR, l->rank_class->buffers[buffer].dtype, SL_PHASE_INIT,
                                 l->pp_rank->tensors[i].numel);
    op.tensor = i;
    op.role = role;
    SL_TRY(SL_BUILD_EMIT(p, op, sl_build_update(l, buffer))); /* only a piece of it: the rest is unchanged */
  }
  return SL_OK;
}

/* Scales begin with 1, everything else with 0. */
static enum sl_status fill(const struct sl_lowering *l, struct sl_program *p, enum sl_role role, int32_t buffer) {
  const struct sl_buffer *b = &l->rank_class->buffers[buffer];
  struct sl_op op = sl_zero_op(SL_OP_FILL, b->dtype, SL_PHASE_INIT, b->bytes / sl_dtype_bytes(b->dtype));
  op.scale = role == SL_ROLE_FP8_SCALE ? 1 : 0;
  return SL_BUILD_EMIT(p, op, sl_build_write(l, buffer));
}

enum sl_status sl_init_states(struct sl_lowering *l, struct sl_program *p) {
  const struct sl_class *c = l->rank_class;
  for (int role = 0; role < SL_ROLE_COUNT; role++) {
    if (c->role[role].form == SL_FORM_ABSENT || !c->buffers[c->role[role].buffer].persistent) continue;
    SL_TRY(fill(l, p, (enum sl_role)role, c->role[role].buffer));
    if (c->role[role].split > 0) SL_TRY(fill(l, p, (enum sl_role)role, c->role[role].rest));
  }
  SL_TRY(sl_onebit_init(l, p));
  SL_TRY(sl_scaling_forget(l, p, SL_PHASE_INIT));
  SL_TRY(init_role(l, p, SL_ROLE_PARAM));
  SL_TRY(init_role(l, p, SL_ROLE_MASTER));
  return l->plan->strategy.shard_params ? sl_gather_persistent(l, p, SL_PHASE_INIT) : SL_OK;
}
