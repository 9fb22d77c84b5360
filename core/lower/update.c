/* The optimizer step and initialisation: which runs of the states a rank updates, and how updated parameters reach the
 * ranks that do not own them. */
#include "core/lower/update.h"

#include "core/lower/lower.h"
#include "core/program/step_state.h"
#include "core/program/workspace.h"

static bool offloaded(const struct sl_lowering *l) {
  return l->plan->strategy.offload_optimizer;
}

/* An fp32 copy that the optimizer updates: of 16-bit parameters, and of offloaded states whatever the parameters are. */
static bool keeps_master(const struct sl_lowering *l) {
  return l->dtype != SL_F32 || offloaded(l);
}

static enum sl_status optimizer_state(struct sl_lowering *l, enum sl_role role, const char *name) {
  const enum sl_role_form form = l->plan->strategy.shard_optimizer ? SL_FORM_SHARD : SL_FORM_WHOLE;
  SL_TRY(sl_zero_state(l, role, form, SL_SCOPE_PERSISTENT, SL_CATEGORY_OPTIMIZER, SL_F32, name));
  if (offloaded(l)) sl_build_move(l, l->rank_class->role[role].buffer, SL_SPACE_HOST);
  return SL_OK;
}

enum sl_status sl_update_open(struct sl_lowering *l) {
  const struct sl_config *config = l->plan->config;
  if (keeps_master(l)) SL_TRY(optimizer_state(l, SL_ROLE_MASTER, "master"));
  if (config->optimizer.type == SL_OPT_SGD) {
    return config->optimizer.momentum != 0 ? optimizer_state(l, SL_ROLE_MOMENT1, "momentum_buffer") : SL_OK;
  }
  SL_TRY(optimizer_state(l, SL_ROLE_MOMENT1, "exp_avg"));
  return optimizer_state(l, SL_ROLE_MOMENT2, "exp_avg_sq");
}

/* A run that a rank answers for: all of a member's shard at once, or a unit's part of it. */
struct run {
  const struct sl_unit *unit; /* NULL: the whole shard */
  int64_t count;
};

/* Number of runs, and run `i`. Shards that stand contiguous on both sides are one run. */
static int run_count(const struct sl_lowering *l, bool contiguous) {
  return contiguous || l->pp_rank->layout.members == 1 ? 1 : l->pp_rank->layout.unit_count;
}

static struct run run_at(const struct sl_lowering *l, bool contiguous, int i) {
  const struct sl_layout *layout = &l->pp_rank->layout;
  if (run_count(l, contiguous) == 1 && (contiguous || layout->members == 1)) {
    return (struct run){.count = l->member >= 0 ? sl_layout_shard(layout, l->member) : layout->shard_numel};
  }
  const struct sl_unit *u = &layout->units[i];
  const bool owned = u->owner < 0 || u->owner == l->member;
  return (struct run){.unit = u, .count = owned ? u->part : 0};
}

/* The operand of a state that a run covers, whatever the state's form. */
static struct sl_operand state_run(const struct sl_lowering *l, enum sl_role role, enum sl_access access,
                                   struct run run) {
  const int32_t buffer = l->rank_class->role[role].buffer;
  const struct sl_unit *u = run.unit;
  if (l->rank_class->role[role].form == SL_FORM_SHARD) {
    return sl_build_part(l, buffer, access, u != NULL ? u->shard_offset : 0, run.count);
  }
  if (u == NULL) return sl_build_part(l, buffer, access, 0, run.count);
  return u->owner >= 0 ? sl_build_part(l, buffer, access, u->first, run.count)
                       : sl_zero_own(l, buffer, access, u->first, run.count);
}

/* ---- norm and control ---- */

/* How often the gradient of a placed tensor is counted, beyond data parallelism, when all ranks add theirs up. */
static int copies(const struct sl_lowering *l, int placed) {
  const struct sl_placed *t = &l->pp_rank->tensors[placed];
  return (t->replicated ? l->plan->tp : 1) * (t->tied ? 2 : 1);
}

/* Squares of `gradient`, `count` elements; a whole gradient stands on all dp ranks, a shard on dp / shard of them. With hi >
 * 0 only elements [lo, hi) of a unit count, of which the operand is one member's part. */
static enum sl_status emit_squares(struct sl_lowering *l, struct sl_program *p, struct sl_operand gradient,
                                   int64_t count, int times, int64_t lo, int64_t hi) {
  const struct sl_buffer from = l->rank_class->buffers[gradient.buffer];
  const bool whole = l->rank_class->role[SL_ROLE_GRAD].form == SL_FORM_WHOLE;
  struct sl_op op = sl_zero_op(SL_OP_NORM, from.dtype, SL_PHASE_STEP, count);
  int32_t scratch;
  op.scale = (whole ? 1.0 : (double)l->plan->shard) / l->plan->dp / times;
  op.place_group = SL_GROUP_SHARD;
  if (hi > 0) {
    op.flags |= SL_OP_SHARE_RANGE;
    op.dim[1] = lo, op.dim[2] = hi, op.dim[3] = count;
  }
  if (from.space == SL_SPACE_HOST) op.lane = SL_LANE_HOST;
  SL_TRY(sl_build_buffer(l, &scratch, SL_SCOPE_PROGRAM, SL_CATEGORY_WORKSPACE, SL_U8, sl_scratch_sum(count),
                         "norm.scratch"));
  return SL_BUILD_EMIT(p, op, gradient, sl_build_update(l, l->rank_class->control), sl_build_write(l, scratch));
}

/* The squares of tensors first .. end - 1, which are counted equally often: whole, or their cut of each unit. */
static enum sl_status square_stretch(struct sl_lowering *l, struct sl_program *p, int first, int end) {
  const struct sl_layout *layout = &l->pp_rank->layout;
  const struct sl_placed *t = l->pp_rank->tensors;
  const int64_t lo = t[first].flat, hi = t[end - 1].flat + t[end - 1].numel;
  const int times = copies(l, first);
  if (l->rank_class->role[SL_ROLE_GRAD].form == SL_FORM_WHOLE) {
    const int32_t grad = l->rank_class->role[SL_ROLE_GRAD].buffer;
    return emit_squares(l, p, sl_build_part(l, grad, SL_READ, lo, hi - lo), hi - lo, times, 0, 0);
  }
  for (int k = t[first].unit; k <= t[end - 1].unit; k++) {
    const struct sl_unit *u = &layout->units[k];
    const struct sl_operand own = state_run(l, SL_ROLE_GRAD, SL_READ, (struct run){u, u->part});
    const int64_t from = lo > u->first ? lo - u->first : 0, to = hi < u->first + u->numel ? hi - u->first : u->numel;
    const bool cut = from > 0 || to < u->numel;
    SL_TRY(emit_squares(l, p, own, u->part, times, cut ? from : 0, cut ? to : 0));
  }
  return SL_OK;
}

static enum sl_status emit_norm(struct sl_lowering *l, struct sl_program *p) {
  const enum sl_role_form form = l->rank_class->role[SL_ROLE_GRAD].form;
  const bool contiguous = form != SL_FORM_SHARD_IN_FLAT;
  const int n = l->pp_rank->tensor_count;
  int end = 1;
  while (end < n && copies(l, end) == copies(l, 0)) end++;
  if (end == n && copies(l, 0) == 1) { /* everything counts alike: in as few runs as there are */
    for (int i = 0; i < run_count(l, contiguous); i++) {
      struct run run = run_at(l, contiguous, i);
      if (form == SL_FORM_WHOLE) run.count = l->pp_rank->layout.padded;
      SL_TRY(emit_squares(l, p, state_run(l, SL_ROLE_GRAD, SL_READ, run), run.count, 1, 0, 0));
    }
    return SL_OK;
  }
  for (int first = 0; first < n; first = end) {
    for (end = first + 1; end < n && copies(l, end) == copies(l, first);) end++;
    SL_TRY(square_stretch(l, p, first, end));
  }
  return SL_OK;
}

/* ---- sums beyond the shard group ---- */

/* An own part of the gradient for each unit, or, where it is contiguous, all of it; `only` >= 0: that tensor's unit. */
static int gradient_parts(const struct sl_lowering *l, int only, int64_t *count) {
  const enum sl_role_form form = l->rank_class->role[SL_ROLE_GRAD].form;
  int n = 0;
  *count = 0;
  if (form == SL_FORM_WHOLE) {
    const struct sl_placed *t = &l->pp_rank->tensors[only];
    *count = t->numel;
    l->zero->wide[n++] = sl_build_part(l, l->rank_class->role[SL_ROLE_GRAD].buffer, SL_READ_WRITE, t->flat, t->numel);
    return n;
  }
  for (int k = 0; k < l->pp_rank->layout.unit_count; k++) {
    const struct sl_unit *u = &l->pp_rank->layout.units[k];
    if (only >= 0 && k != l->pp_rank->tensors[only].unit) continue;
    l->zero->wide[n++] = state_run(l, SL_ROLE_GRAD, SL_READ_WRITE, (struct run){u, u->part});
    *count += u->part;
  }
  return n;
}

static enum sl_status sum_gradient(struct sl_lowering *l, struct sl_program *p, enum sl_group group, int only) {
  int64_t count;
  const enum sl_dtype type = l->rank_class->buffers[l->rank_class->role[SL_ROLE_GRAD].buffer].dtype;
  const int n = gradient_parts(l, only, &count);
  struct sl_op op = sl_zero_collective(l, SL_OP_ALL_REDUCE, group, type, SL_PHASE_STEP, SL_PAYLOAD_GRADIENT, count);
  op.place_group = SL_GROUP_SHARD;
  return sl_build_emit(p, op, n, l->zero->wide);
}

/* Hybrid sharding: own parts over the replicas of the shard group, once a step. A tied embedding: over the two pipeline ranks
 * that hold it (Megatron-LM's embedding group). */
static enum sl_status emit_sums(struct sl_lowering *l, struct sl_program *p) {
  const struct sl_strategy *s = &l->plan->strategy;
  const bool owned = s->shard_optimizer && s->units != SL_UNITS_OWNER;
  if (owned && l->plan->shard < l->plan->dp) SL_TRY(sum_gradient(l, p, SL_GROUP_REPLICATE, -1));
  for (int i = 0; i < l->pp_rank->tensor_count; i++) {
    if (l->pp_rank->tensors[i].tied) SL_TRY(sum_gradient(l, p, SL_GROUP_EMBED, i));
  }
  return SL_OK;
}

/* Sum the loss, the squares and the overflow flag over the world, then let the control block decide. */
static enum sl_status emit_control(struct sl_lowering *l, struct sl_program *p) {
  const int32_t control = l->rank_class->control;
  const struct sl_op sum = sl_zero_collective(l, SL_OP_ALL_REDUCE, SL_GROUP_WORLD, SL_F64, SL_PHASE_STEP,
                                              SL_PAYLOAD_SCALAR, SL_CONTROL_REDUCED);
  if (l->plan->world > 1)
    SL_TRY(SL_BUILD_EMIT(p, sum, sl_build_part(l, control, SL_READ_WRITE, 0, SL_CONTROL_REDUCED)));
  return SL_BUILD_EMIT(p, sl_zero_op(SL_OP_CONTROL, SL_F64, SL_PHASE_STEP, 0), sl_build_update(l, control));
}

/* ---- update ---- */

/* A host copy of a run of device gradients, for an offloaded update that finds none in host memory. */
static enum sl_status gradient_to_host(struct sl_lowering *l, struct sl_program *p, struct run run,
                                       struct sl_operand *grad) {
  int32_t copy;
  SL_TRY(sl_build_buffer(l, &copy, SL_SCOPE_PROGRAM, SL_CATEGORY_GRADIENT, SL_F32, run.count, "grad.host"));
  sl_build_move(l, copy, SL_SPACE_HOST);
  SL_TRY(sl_zero_convert(l, p, *grad, sl_build_write(l, copy), run.count, false));
  *grad = sl_build_read(l, copy);
  return SL_OK;
}

/* The parameter that an update writes beside its master: in place, or staged in host memory and copied to the device. */
static enum sl_status parameter_target(struct sl_lowering *l, struct run run, struct sl_operand *target, bool *staged) {
  int32_t stage;
  *target = state_run(l, SL_ROLE_PARAM, SL_WRITE, run);
  *staged = offloaded(l) && !l->plan->strategy.offload_params;
  if (!*staged) return SL_OK;
  SL_TRY(sl_build_buffer(l, &stage, SL_SCOPE_PROGRAM, SL_CATEGORY_PARAMETER, l->dtype, run.count, "param.host"));
  sl_build_move(l, stage, SL_SPACE_HOST);
  *target = sl_build_write(l, stage);
  return SL_OK;
}

static enum sl_status emit_update_run(struct sl_lowering *l, struct sl_program *p, struct run run) {
  static const enum sl_op_kind kinds[] = {
      [SL_OPT_SGD] = SL_OP_SGD, [SL_OPT_ADAM] = SL_OP_ADAM, [SL_OPT_ADAMW] = SL_OP_ADAMW};
  const bool master = keeps_master(l);
  struct sl_op op = sl_zero_op(kinds[l->plan->config->optimizer.type], SL_F32, SL_PHASE_STEP, run.count);
  struct sl_operand operands[SL_MAX_OPERANDS], grad = state_run(l, SL_ROLE_GRAD, SL_READ, run), target;
  bool staged = false;
  int n = 0;
  if (offloaded(l)) op.lane = SL_LANE_HOST;
  op.place_group = SL_GROUP_SHARD;
  if (offloaded(l) && l->rank_class->buffers[grad.buffer].space == SL_SPACE_DEVICE)
    SL_TRY(gradient_to_host(l, p, run, &grad));
  operands[n++] = state_run(l, master ? SL_ROLE_MASTER : SL_ROLE_PARAM, SL_READ_WRITE, run);
  operands[n++] = grad;
  for (int role = SL_ROLE_MOMENT1; role <= SL_ROLE_MOMENT2; role++) {
    if (l->rank_class->role[role].form == SL_FORM_ABSENT) continue;
    operands[n++] = state_run(l, (enum sl_role)role, SL_READ_WRITE, run);
  }
  operands[n++] = sl_build_read(l, l->rank_class->control);
  if (master) {
    SL_TRY(parameter_target(l, run, &target, &staged));
    op.flags |= SL_OP_PARAM_COPY;
    operands[n++] = target;
  }
  SL_TRY(sl_build_emit(p, op, n, operands));
  if (!staged) return SL_OK;
  return sl_zero_convert(l, p, target, state_run(l, SL_ROLE_PARAM, SL_WRITE, run), run.count, false);
}

static enum sl_status emit_update(struct sl_lowering *l, struct sl_program *p) {
  const bool contiguous = l->rank_class->role[SL_ROLE_PARAM].form == SL_FORM_SHARD;
  for (int i = 0; i < run_count(l, contiguous); i++) {
    const struct run run = run_at(l, contiguous, i);
    if (run.count > 0) SL_TRY(emit_update_run(l, p, run));
  }
  return SL_OK;
}

/* ---- updated parameters to everyone ---- */

/* A flat partition, allgather_bucket_size elements at a time: the same run of every member's part in each call, as DeepSpeed's
 * all_gather_dp_groups cuts them. */
static enum sl_status gather_flat(struct sl_lowering *l, struct sl_program *p, const struct sl_unit *u) {
  const int members = l->pp_rank->layout.members;
  const int32_t param = l->rank_class->role[SL_ROLE_PARAM].buffer;
  const int64_t part = u->part, limit = l->plan->config->zero.allgather_bucket_size;
  int64_t chunks = limit > 0 ? part * members / limit : part;
  if (chunks < 1) chunks = 1;
  if (chunks > part) chunks = part;
  for (int64_t i = 0; i < chunks; i++) {
    const int64_t lo = i * (part / chunks), hi = i + 1 == chunks ? part : lo + part / chunks;
    struct sl_op op = sl_zero_collective(l, SL_OP_ALL_GATHER, SL_GROUP_SHARD, l->dtype, SL_PHASE_STEP,
                                         SL_PAYLOAD_PARAMETER, (hi - lo) * members);
    op.place_group = SL_GROUP_SHARD;
    op.flags |= SL_OP_SHARE_CHUNK;
    op.dim[1] = lo, op.dim[2] = hi, op.dim[3] = part;
    SL_TRY(SL_BUILD_EMIT(p, op, sl_zero_own(l, param, SL_READ, u->first, part),
                         sl_build_part(l, param, SL_WRITE, u->first, part * members)));
  }
  return SL_OK;
}

/* One unit: gathered from its parts, or broadcast by its owner. */
static enum sl_status gather_unit(struct sl_lowering *l, struct sl_program *p, const struct sl_unit *u) {
  const int32_t param = l->rank_class->role[SL_ROLE_PARAM].buffer;
  const int64_t whole = u->owner >= 0 ? u->numel : u->part * l->pp_rank->layout.members;
  struct sl_op op = sl_zero_collective(l, u->owner >= 0 ? SL_OP_BROADCAST : SL_OP_ALL_GATHER, SL_GROUP_SHARD, l->dtype,
                                       SL_PHASE_STEP, SL_PAYLOAD_PARAMETER, whole);
  if (u->owner >= 0) {
    op.peer = u->owner;
    return SL_BUILD_EMIT(p, op, sl_build_part(l, param, SL_READ_WRITE, u->first, whole));
  }
  op.place_group = SL_GROUP_SHARD;
  return SL_BUILD_EMIT(p, op, sl_zero_own(l, param, SL_READ, u->first, u->part),
                       sl_build_part(l, param, SL_WRITE, u->first, whole));
}

enum sl_status sl_update_step(struct sl_lowering *l, struct sl_program *p) {
  const struct sl_strategy *s = &l->plan->strategy;
  SL_TRY(emit_sums(l, p));
  SL_TRY(emit_norm(l, p));
  SL_TRY(emit_control(l, p));
  SL_TRY(emit_update(l, p));
  if (!s->shard_optimizer) return SL_OK;
  if (s->shard_params) return sl_gather_persistent(l, p, SL_PHASE_STEP);
  for (int i = 0; i < l->pp_rank->layout.unit_count; i++) {
    const struct sl_unit *u = &l->pp_rank->layout.units[i];
    SL_TRY(s->units == SL_UNITS_FLAT ? gather_flat(l, p, u) : gather_unit(l, p, u));
  }
  return SL_OK;
}

/* ---- initialisation: no rank needs another, numbers are drawn by logical element ---- */

static enum sl_status init_role(struct sl_lowering *l, struct sl_program *p, enum sl_role role) {
  const int32_t buffer = l->rank_class->role[role].buffer;
  if (l->rank_class->role[role].form == SL_FORM_ABSENT) return SL_OK;
  for (int i = 0; i < l->pp_rank->tensor_count; i++) {
    struct sl_op op = sl_zero_op(SL_OP_INIT_TENSOR, l->rank_class->buffers[buffer].dtype, SL_PHASE_INIT,
                                 l->pp_rank->tensors[i].numel);
    op.tensor = i;
    op.role = role;
    SL_TRY(SL_BUILD_EMIT(p, op, sl_build_update(l, buffer))); /* a piece of it: the rest stays */
  }
  return SL_OK;
}

enum sl_status sl_update_init(struct sl_lowering *l, struct sl_program *p) {
  const struct sl_class *c = l->rank_class;
  for (int role = 0; role < SL_ROLE_COUNT; role++) {
    if (c->role[role].form == SL_FORM_ABSENT || !c->buffers[c->role[role].buffer].persistent) continue;
    const struct sl_buffer *b = &c->buffers[c->role[role].buffer];
    SL_TRY(SL_BUILD_EMIT(p, sl_zero_op(SL_OP_FILL, b->dtype, SL_PHASE_INIT, b->bytes / sl_dtype_bytes(b->dtype)),
                         sl_build_write(l, c->role[role].buffer)));
  }
  SL_TRY(init_role(l, p, SL_ROLE_PARAM));
  SL_TRY(init_role(l, p, SL_ROLE_MASTER));
  return l->zero->gather != NULL ? sl_gather_persistent(l, p, SL_PHASE_INIT) : SL_OK;
}
