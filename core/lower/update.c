/* The optimizer step: which runs of the states a rank updates, and how updated parameters reach the ranks that do not
 * own them. */
#include "core/lower/update.h"

#include "core/lower/ahead.h"
#include "core/lower/grad_norm.h"
#include "core/lower/gradients.h"
#include "core/lower/lists.h"
#include "core/lower/lower.h"
#include "core/lower/owned.h"
#include "core/lower/scaling.h"
#include "core/plan/kernels.h"
#include "core/program/step_state.h"

static bool offloaded(const struct sl_lowering *l) {
  return l->plan->strategy.offload_optimizer;
}

/* Is there an fp32 copy that the optimizer updates? There is beside 16-bit parameters, and for some strategies whatever
 * the parameters are. */
static bool keeps_master(const struct sl_lowering *l) {
  const enum sl_dtype kept = l->rank_class->buffers[l->rank_class->role[SL_ROLE_PARAM].buffer].dtype;
  return kept != SL_F32 || l->plan->strategy.master_beside_fp32;
}

static enum sl_status optimizer_state(struct sl_lowering *l, enum sl_role role, const char *name) {
  const enum sl_role_form form = l->plan->strategy.shard_optimizer ? SL_FORM_SHARD : SL_FORM_WHOLE;
  SL_TRY(sl_zero_state(l, role, form, SL_SCOPE_PERSISTENT, SL_CATEGORY_OPTIMIZER, SL_F32, name));
  const enum sl_space space = l->plan->strategy.optimizer_on_nvme ? SL_SPACE_NVME : SL_SPACE_HOST;
  return offloaded(l) ? sl_home_split(l, role, sl_home_on_device(l), SL_SPACE_DEVICE, space) : SL_OK;
}

enum sl_status sl_update_open(struct sl_lowering *l) {
  const struct sl_config *config = l->plan->config;
  if (keeps_master(l)) SL_TRY(optimizer_state(l, SL_ROLE_MASTER, "master"));
  if (config->optimizer.type == SL_OPT_SGD) {
    if (config->optimizer.momentum != 0) SL_TRY(optimizer_state(l, SL_ROLE_MOMENT1, "momentum_buffer"));
  } else {
    SL_TRY(optimizer_state(l, SL_ROLE_MOMENT1, "exp_avg"));
    SL_TRY(optimizer_state(l, SL_ROLE_MOMENT2, "exp_avg_sq"));
  }
  SL_TRY(sl_onebit_open(l));
  return l->plan->strategy.optimizer_on_nvme ? sl_nvme_open_optimizer(l) : SL_OK;
}

/* ---- sums beyond the shard group ---- */

/* All-reduces the `n` gradient runs in zero->wide, `count` elements of tensors of `layout`, over `group`. */
static enum sl_status sum_wide(struct sl_lowering *l, struct sl_program *p, enum sl_group group,
                               const struct sl_layout *layout, int n, int64_t count) {
  const enum sl_dtype type = l->rank_class->buffers[l->rank_class->role[SL_ROLE_GRAD].buffer].dtype;
  struct sl_op op = sl_zero_collective(l, SL_OP_ALL_REDUCE, group, type, SL_PHASE_STEP, SL_PAYLOAD_GRADIENT, count);
  op.place_group = layout->group.shard;
  return n > 0 ? sl_build_emit(p, op, n, l->zero->wide) : SL_OK;
}

/* Sums a rank's own parts of `units` units. */
static enum sl_status sum_parts(struct sl_lowering *l, struct sl_program *p, enum sl_group group, int first,
                                int units) {
  int64_t count = 0;
  for (int k = 0; k < units; k++) {
    const struct sl_owned part = sl_owned_unit(l, &l->pp_rank->units[first + k]);
    l->zero->wide[k] = sl_owned_state(l, SL_ROLE_GRAD, SL_READ_WRITE, part);
    count += part.count;
  }
  if (units == 0) return SL_OK;
  return sum_wide(l, p, group, sl_layout_of(l->pp_rank, &l->pp_rank->units[first]), units, count);
}

/* Sums a tied embedding over the two pipeline ranks that hold it (Megatron-LM's embedding group). Own parts are enough;
 * frameworks that keep whole gradients sum them whole (Megatron-LM's core/distributed/finalize_model_grads.py,
 * _allreduce_word_embedding_grads; DeepSpeed's runtime/pipe/engine.py, _exec_reduce_tied_grads). */
static enum sl_status sum_tied(struct sl_lowering *l, struct sl_program *p, const struct sl_placed *t) {
  const int32_t grad = l->rank_class->role[SL_ROLE_GRAD].buffer;
  const enum sl_role_form form = l->rank_class->role[SL_ROLE_GRAD].form;
  const bool kept = form == SL_FORM_SHARD_IN_FLAT && l->plan->config->sl.kernels != SL_KERNELS_SHARDLAB;
  if (form != SL_FORM_WHOLE && !kept) return sum_parts(l, p, SL_GROUP_EMBED, t->unit, 1);
  l->zero->wide[0] = sl_build_part(l, grad, SL_READ_WRITE, t->flat, t->numel);
  return sum_wide(l, p, SL_GROUP_EMBED, &l->pp_rank->layouts[t->group], 1, t->numel);
}

/* With hybrid sharding, own parts are summed over the replicas of the shard group, if they were not when they were
 * reduced. */
static enum sl_status emit_sums(struct sl_lowering *l, struct sl_program *p) {
  const struct sl_strategy *s = &l->plan->strategy;
  const bool owned = s->shard_optimizer && s->units != SL_UNITS_OWNER && s->replica_sums == SL_REPLICAS_LAST;
  for (int g = 0; g < l->pp_rank->group_count && owned; g++) {
    const struct sl_layout *layout = &l->pp_rank->layouts[g];
    if (layout->group.members == layout->group.ranks) continue;
    SL_TRY(sum_parts(l, p, layout->group.replicate, layout->first_unit, layout->unit_count));
  }
  for (int i = 0; i < l->pp_rank->tensor_count; i++) {
    if (l->pp_rank->tensors[i].tied) SL_TRY(sum_tied(l, p, &l->pp_rank->tensors[i]));
  }
  return SL_OK;
}

enum sl_status sl_update_sum(struct sl_lowering *l, struct sl_program *p) {
  const int32_t control = l->rank_class->control;
  const struct sl_op sum = sl_zero_collective(l, SL_OP_ALL_REDUCE, SL_GROUP_WORLD, SL_F64, SL_PHASE_STEP,
                                              SL_PAYLOAD_SCALAR, SL_STEP_STATE_REDUCED);
  if (l->plan->world == 1) return SL_OK;
  return SL_BUILD_EMIT(p, sum, sl_build_part(l, control, SL_READ_WRITE, 0, SL_STEP_STATE_REDUCED));
}

/* ---- update ---- */

/* Copies a run of device gradients to host memory, for an offloaded update that finds none there. */
static enum sl_status gradient_to_host(struct sl_lowering *l, struct sl_program *p, struct sl_owned run,
                                       struct sl_operand *grad) {
  int32_t copy;
  SL_TRY(sl_build_buffer(l, &copy, SL_SCOPE_PROGRAM, SL_CATEGORY_GRADIENT, SL_F32, run.count, "grad.host"));
  sl_build_move(l, copy, SL_SPACE_HOST);
  SL_TRY(sl_zero_convert(l, p, *grad, sl_build_write(l, copy), run.count, SL_PHASE_STEP, false));
  *grad = sl_build_read(l, copy);
  return SL_OK;
}

static enum sl_status copy_gradient(struct sl_lowering *l, struct sl_program *p, struct sl_owned run,
                                    enum sl_dtype type, const char *name, struct sl_operand *grad) {
  int32_t copy;
  SL_TRY(sl_build_buffer(l, &copy, SL_SCOPE_PROGRAM, SL_CATEGORY_GRADIENT, type, run.count, "%s", name));
  SL_TRY(sl_zero_convert(l, p, *grad, sl_build_write(l, copy), run.count, SL_PHASE_STEP, false));
  *grad = sl_build_read(l, copy);
  return SL_OK;
}

/* The copy of a run's gradients that an update reads instead; see enum sl_gradient_copies. */
static enum sl_status copied_gradient(struct sl_lowering *l, struct sl_program *p, struct sl_owned run,
                                      struct sl_operand *grad) {
  const enum sl_gradient_copies copies = l->plan->strategy.copies_gradients;
  const enum sl_dtype type = l->rank_class->buffers[grad->buffer].dtype;
  const struct sl_operand kept = *grad;
  if (copies == SL_COPIES_NONE) return SL_OK;
  if (copies == SL_COPIES_FLAT) SL_TRY(copy_gradient(l, p, run, type, "grad.flat", grad));
  if (copies == SL_COPIES_LIST) SL_TRY(copy_gradient(l, p, run, SL_F32, "grad.list", grad));
  if (copies == SL_COPIES_FLAT && type == SL_F32) return SL_OK;
  SL_TRY(copy_gradient(l, p, run, SL_F32, "grad.fp32", grad));
  const bool others = !sl_gradients_sharded(l) && l->plan->dp_cp > 1;
  if (copies == SL_COPIES_FLOAT || (copies == SL_COPIES_FLAT && others)) return SL_OK;
  /* the gradients themselves go when both copies are made; ZeRO-1 lets go before of what others own */
  struct sl_op held = sl_zero_op(SL_OP_PASS, SL_U8, SL_PHASE_STEP, 1);
  held.dim[1] = 1, held.flags = SL_OP_READS_KEPT;
  return SL_BUILD_EMIT(p, held, kept);
}

/* The parameter that an update writes besides its master: in place, or staged in the updating memory, `space`, and
 * copied to where it is kept. */
static enum sl_status parameter_target(struct sl_lowering *l, struct sl_owned run, enum sl_space space,
                                       struct sl_operand *target, bool *staged) {
  int32_t stage;
  *target = sl_owned_state(l, SL_ROLE_PARAM, SL_WRITE, run);
  *staged = l->rank_class->buffers[target->buffer].space != space;
  if (!*staged) return SL_OK;
  SL_TRY(sl_build_buffer(l, &stage, SL_SCOPE_PROGRAM, SL_CATEGORY_PARAMETER, l->dtype, run.count,
                         space == SL_SPACE_HOST ? "param.host" : "param.updated"));
  sl_build_move(l, stage, space);
  *target = sl_build_write(l, stage);
  return SL_OK;
}

/* What a framework's optimizer does in addition to ours: bytes and launches of its rows. */
static enum sl_status emit_beside(const struct sl_lowering *l, struct sl_program *p, const struct sl_op *update) {
  for (const struct sl_kernel_row *row = NULL;
       (row = sl_kernel_row(l->plan->config, l->plan->model, update, row)) != NULL;) {
    struct sl_op pass = sl_zero_op(SL_OP_PASS, SL_U8, SL_PHASE_STEP, row->bytes * update->dim[0]);
    pass.dim[1] = row->launches;
    SL_TRY(sl_build_emit(p, pass, 0, NULL));
  }
  return SL_OK;
}

static enum sl_space space_of(const struct sl_lowering *l, enum sl_role role, struct sl_owned run) {
  return l->rank_class->buffers[sl_owned_state(l, role, SL_READ, run).buffer].space;
}

/* A state that the update reads or writes: where it is kept or, if that is on NVMe, its copy in set `set`. */
static struct sl_operand state_at(const struct sl_lowering *l, enum sl_role role, enum sl_access access,
                                  struct sl_owned run, int set) {
  if (space_of(l, role, run) != SL_SPACE_NVME) return sl_owned_state(l, role, access, run);
  return sl_build_part(l, l->homes->nvme.staged[set][role], access, 0, run.count);
}

/* The memory in which a run is updated: the host's if its states are there or pass through it. */
static enum sl_space update_space(const struct sl_lowering *l, struct sl_owned run) {
  const enum sl_role role = keeps_master(l) ? SL_ROLE_MASTER : SL_ROLE_PARAM;
  const bool device = !offloaded(l) || space_of(l, role, run) == SL_SPACE_DEVICE;
  return device ? SL_SPACE_DEVICE : SL_SPACE_HOST;
}

static enum sl_status emit_update_run(struct sl_lowering *l, struct sl_program *p, struct sl_owned run, int set) {
  static const enum sl_op_kind kinds[] = {[SL_OPT_SGD] = SL_OP_SGD,
                                          [SL_OPT_ADAM] = SL_OP_ADAM,
                                          [SL_OPT_ADAMW] = SL_OP_ADAMW,
                                          [SL_OPT_ONEBIT_ADAM] = SL_OP_ADAMW};
  const bool master = keeps_master(l);
  struct sl_op op = sl_zero_op(kinds[l->plan->config->optimizer.type], SL_F32, SL_PHASE_STEP, run.count);
  struct sl_operand operands[SL_MAX_OPERANDS], grad = state_at(l, SL_ROLE_GRAD, SL_READ, run, set), target;
  const enum sl_space space = update_space(l, run);
  bool staged = false;
  int n = 0;
  if (l->zero->compressed) op.flags |= SL_OP_FROZEN;
  if (space == SL_SPACE_HOST) op.lane = SL_LANE_HOST;
  op.place_group = run.layout->group.shard;
  if (space == SL_SPACE_HOST && l->rank_class->buffers[grad.buffer].space == SL_SPACE_DEVICE)
    SL_TRY(gradient_to_host(l, p, run, &grad));
  SL_TRY(copied_gradient(l, p, run, &grad));
  operands[n++] = state_at(l, master ? SL_ROLE_MASTER : SL_ROLE_PARAM, SL_READ_WRITE, run, set);
  operands[n++] = grad;
  for (int role = SL_ROLE_MOMENT1; role <= SL_ROLE_MOMENT2; role++) {
    if (l->rank_class->role[role].form == SL_FORM_ABSENT) continue;
    operands[n++] = state_at(l, (enum sl_role)role, SL_READ_WRITE, run, set);
    if (op.kind == SL_OP_SGD) op.flags |= SL_OP_MOMENTUM;
  }
  operands[n++] = sl_build_read(l, l->rank_class->control);
  if (master) {
    SL_TRY(parameter_target(l, run, space, &target, &staged));
    op.flags |= SL_OP_PARAM_COPY;
    operands[n++] = target;
  }
  SL_TRY(sl_build_emit(p, op, n, operands));
  SL_TRY(emit_beside(l, p, &op));
  if (!staged) return SL_OK;
  return sl_zero_convert(l, p, target, sl_owned_state(l, SL_ROLE_PARAM, SL_WRITE, run), run.count, SL_PHASE_STEP,
                         false);
}

/* Moves the states of a run between NVMe and the set in which they are updated. Gradients are only read. */
static enum sl_status move_states(struct sl_lowering *l, struct sl_program *p, struct sl_owned run, int set,
                                  bool back) {
  for (int role = back ? SL_ROLE_MOMENT1 : SL_ROLE_GRAD; role <= SL_ROLE_MASTER; role++) {
    if (l->rank_class->role[role].form == SL_FORM_ABSENT) continue;
    if (space_of(l, (enum sl_role)role, run) != SL_SPACE_NVME) continue; /* gradients that were summed in host memory */
    const struct sl_operand there = sl_owned_state(l, (enum sl_role)role, SL_READ, run),
                            here = sl_build_part(l, l->homes->nvme.staged[set][role], SL_READ, 0, run.count);
    SL_TRY(sl_zero_convert(l, p, back ? here : there, back ? there : here, run.count, SL_PHASE_STEP, false));
  }
  return SL_OK;
}

/* Stage 3 copies the gradients of one sub-group at a time. */
static enum sl_status update_by_sub_group(struct sl_lowering *l, struct sl_program *p, struct sl_owned run) {
  struct sl_subgroup s = {0};
  struct sl_owned piece;
  while (sl_owned_next(l, run, &s, &piece)) SL_TRY(emit_update_run(l, p, piece, 0));
  return SL_OK;
}

/* Updates states on NVMe one sub-group at a time: read, update, write back (ZeRO-Infinity, arXiv:2104.07857, section
 * 5.1.2; DeepSpeed's runtime/swap_tensor/partitioned_optimizer_swapper.py). With several sets, reading the next and
 * writing the previous sub-group overlap with the update. */
static enum sl_status update_from_nvme(struct sl_lowering *l, struct sl_program *p, struct sl_owned run) {
  const int sets = l->homes->nvme.sets;
  const bool ahead = l->plan->config->zero.pipeline_read;
  struct sl_subgroup s = {0};
  struct sl_owned piece, next;
  bool more = sl_owned_next(l, run, &s, &next);
  for (int i = 0; more; i++) {
    piece = next;
    more = sl_owned_next(l, run, &s, &next);
    if (i == 0 || !ahead) SL_TRY(move_states(l, p, piece, i % sets, false));
    if (ahead && more) SL_TRY(move_states(l, p, next, (i + 1) % sets, false));
    SL_TRY(emit_update_run(l, p, piece, i % sets));
    SL_TRY(move_states(l, p, piece, i % sets, true));
  }
  return SL_OK;
}

static enum sl_status emit_update(struct sl_lowering *l, struct sl_program *p) {
  const bool contiguous = l->rank_class->role[SL_ROLE_PARAM].form == SL_FORM_SHARD &&
                          l->rank_class->role[SL_ROLE_GRAD].form != SL_FORM_SHARD_IN_FLAT;
  const bool in_groups =
      l->plan->strategy.copies_gradients == SL_COPIES_FLAT && l->plan->strategy.units == SL_UNITS_PARAMETER;
  for (int g = 0; g < l->pp_rank->group_count; g++) {
    const struct sl_layout *layout = &l->pp_rank->layouts[g];
    if (l->zero->compressed && layout->group.ranks > 1) continue; /* sl_onebit_update does it */
    for (int i = 0; i < sl_owned_count(layout, contiguous); i++) {
      struct sl_owned run = sl_owned_at(l, layout, contiguous, i);
      while (run.count > 0) {
        const struct sl_owned piece = sl_owned_together(l, &run);
        const bool on_nvme = l->homes->nvme.sets > 0 && space_of(l, SL_ROLE_MASTER, piece) == SL_SPACE_NVME;
        SL_TRY(on_nvme     ? update_from_nvme(l, p, piece)
               : in_groups ? update_by_sub_group(l, p, piece)
                           : emit_update_run(l, p, piece, 0));
      }
    }
  }
  return SL_OK;
}

/* ---- updated parameters to all ranks ---- */

/* Gathers a flat partition, allgather_bucket_size elements at a time: each call has the same run of every member's
 * part, as in DeepSpeed's all_gather_dp_groups. */
static enum sl_status gather_flat(struct sl_lowering *l, struct sl_program *p, const struct sl_unit *u) {
  const struct sl_param_group *group = &sl_layout_of(l->pp_rank, u)->group;
  const int members = group->members;
  const int32_t param = l->rank_class->role[SL_ROLE_PARAM].buffer;
  const int64_t part = u->part, limit = l->plan->config->zero.allgather_bucket_size;
  int64_t chunks = limit > 0 ? part * members / limit : part;
  if (chunks < 1) chunks = 1;
  if (chunks > part) chunks = part;
  if (chunks > SL_MAX_GATHERS / l->plan->pp)
    return sl_json_fail(&l->plan->config->doc, "zero_optimization.allgather_bucket_size",
                        "is %lld%s: a partition would be gathered in %lld calls; expected at least %lld",
                        (long long)limit, limit == 0 ? ", which gathers one element of each rank at a time" : "",
                        (long long)chunks, (long long)(part * members / (SL_MAX_GATHERS / l->plan->pp + 1) + 1));
  for (int64_t i = 0; i < chunks; i++) {
    const int64_t lo = i * (part / chunks), hi = i + 1 == chunks ? part : lo + part / chunks;
    struct sl_op op = sl_zero_collective(l, SL_OP_ALL_GATHER, group->shard, l->dtype, SL_PHASE_STEP,
                                         SL_PAYLOAD_PARAMETER, (hi - lo) * members);
    op.place_group = group->shard;
    op.flags |= SL_OP_SHARE_CHUNK;
    op.dim[1] = lo, op.dim[2] = hi, op.dim[3] = part;
    SL_TRY(SL_BUILD_EMIT(p, op, sl_zero_own(l, param, SL_READ, u),
                         sl_build_part(l, param, SL_WRITE, u->first, part * members)));
  }
  return SL_OK;
}

/* Gathers one unit after another; a single member has them all (DeepSpeed's runtime/utils.py, all_gather_dp_groups). */
static enum sl_status gather_units(struct sl_lowering *l, struct sl_program *p) {
  if (l->plan->dp_cp == 1) return SL_OK;
  const bool flat = l->plan->strategy.units == SL_UNITS_FLAT;
  const bool into_lists = flat && sl_kernel_set(l->plan->config->sl.kernels)->gathers_into_lists;
  if (into_lists) SL_TRY(sl_lists_open(l, p));
  for (int i = 0; i < l->pp_rank->unit_count; i++) {
    const struct sl_unit *u = &l->pp_rank->units[i];
    SL_TRY(flat ? gather_flat(l, p, u) : sl_zero_gather_unit(l, p, u, SL_PHASE_STEP));
  }
  return into_lists ? sl_lists_close(l, p) : SL_OK;
}

enum sl_status sl_update_step(struct sl_lowering *l, struct sl_program *p) {
  const struct sl_strategy *s = &l->plan->strategy;
  SL_TRY(sl_scaling_step(l, p));
  SL_TRY(emit_sums(l, p));
  SL_TRY(sl_grad_norm(l, p));
  SL_TRY(sl_update_sum(l, p)); /* before the step state decides */
  SL_TRY(SL_BUILD_EMIT(p, sl_zero_op(SL_OP_CONTROL, SL_F64, SL_PHASE_STEP, 0),
                       sl_build_update(l, l->rank_class->control)));
  SL_TRY(emit_update(l, p));
  if (l->zero->compressed) SL_TRY(sl_onebit_update(l, p));
  if (!s->shard_optimizer) return SL_OK;
  if (s->shard_params) return sl_gather_persistent(l, p, SL_PHASE_STEP);
  return s->overlap_param_gather ? sl_ahead_check(l) : gather_units(l, p);
}
