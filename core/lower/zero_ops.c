/* Ops and operands that all files lowering a sharding strategy use; see lower.h. */
#include "core/lower/lower.h"

struct sl_op sl_zero_op(enum sl_op_kind kind, enum sl_dtype dtype, enum sl_phase phase, int64_t count) {
  struct sl_op op = sl_op_plain(kind, dtype, phase);
  op.dim[0] = count;
  op.layer = -1;
  return op;
}

struct sl_op sl_zero_collective(const struct sl_lowering *l, enum sl_op_kind kind, enum sl_group group,
                                enum sl_dtype dtype, enum sl_phase phase, enum sl_payload payload, int64_t count) {
  struct sl_op op = sl_zero_op(kind, dtype, phase, count);
  op.lane = sl_lane_of_group(group);
  op.group = group;
  op.payload = payload;
  op.flags = SL_OP_AFTER_COMPUTE;
  if (sl_zero_blocks(l)) op.flags |= SL_OP_BLOCKING;
  return op;
}

bool sl_zero_blocks(const struct sl_lowering *l) {
  return !l->plan->strategy.overlap && l->plan->stage_count == 1;
}

struct sl_operand sl_zero_own(const struct sl_lowering *l, int32_t buffer, enum sl_access access,
                              const struct sl_unit *u) {
  const struct sl_param_group *group = &sl_layout_of(l->pp_rank, u)->group;
  struct sl_operand o = sl_build_part(l, buffer, access, u->first, u->part);
  o.place_group = group->shard;
  if (group->members > 1) o.slice.shard_stride = o.slice.bytes;
  return o;
}

enum sl_status sl_zero_convert(const struct sl_lowering *l, struct sl_program *p, struct sl_operand source,
                               struct sl_operand target, int64_t count, enum sl_phase phase, bool add) {
  struct sl_op op = sl_build_copy(l, source.buffer, target.buffer, count, phase);
  if (add) op.kind = SL_OP_ADD;
  if (source.slice.shard_stride != 0) op.place_group = source.place_group;
  if (target.slice.shard_stride != 0) op.place_group = target.place_group;
  target.slice.access = add ? SL_READ_WRITE : SL_WRITE;
  source.slice.access = SL_READ;
  if (!sl_lane_is_nvme(op.lane)) return SL_BUILD_EMIT(p, op, source, target);
  op.flags |= SL_OP_WORKSPACE;
  op.dim[1] = l->plan->config->aio.block_size;
  op.dim[2] = l->plan->config->aio.queue_depth * l->plan->config->aio.threads;
  return SL_BUILD_EMIT(p, op, source, target, sl_build_write(l, l->homes->nvme.blocks[op.lane == SL_LANE_NVME_WRITE]));
}

enum sl_status sl_zero_state(struct sl_lowering *l, enum sl_role role, enum sl_role_form form, enum sl_scope scope,
                             enum sl_category category, enum sl_dtype dtype, const char *name) {
  const struct sl_pp_rank *pp_rank = l->pp_rank;
  const int64_t count = form == SL_FORM_SHARD ? sl_layout_shard(pp_rank, l->member) : pp_rank->padded;
  l->rank_class->role[role].form = form;
  return sl_build_buffer(l, &l->rank_class->role[role].buffer, scope, category, dtype, count, "%s", name);
}

/* Megatron-LM's buffers of weights in fp8 have one byte an element, and all others, such as embeddings, buffers of their
 * own (param_and_grad_buffer.py, param_dtype torch.uint8). Norms and biases between the weights are counted with them:
 * less than a hundredth. */
static bool gathers_fp8(const struct sl_lowering *l, const struct sl_unit *u) {
  int64_t weights = 0;
  if (!l->plan->config->sl.fp8_param_gather || u->owner >= 0 || !sl_build_casts_once(l)) return false;
  for (int i = u->first_tensor; i < u->first_tensor + u->tensor_count; i++)
    if (l->pp_rank->tensors[i].linear >= 0) weights += l->pp_rank->tensors[i].numel;
  return weights > u->numel - u->numel / 100;
}

enum sl_status sl_zero_gather_unit(struct sl_lowering *l, struct sl_program *p, const struct sl_unit *u,
                                   enum sl_phase phase) {
  const int32_t param = l->rank_class->role[SL_ROLE_PARAM].buffer;
  const struct sl_param_group *group = &sl_layout_of(l->pp_rank, u)->group;
  const int64_t whole = u->owner >= 0 ? u->numel : u->part * group->members;
  const enum sl_dtype dtype = gathers_fp8(l, u) ? SL_F8 : l->dtype;
  struct sl_op op = sl_zero_collective(l, u->owner >= 0 ? SL_OP_BROADCAST : SL_OP_ALL_GATHER, group->shard, dtype,
                                       phase, SL_PAYLOAD_PARAMETER, whole);
  if (u->owner >= 0) {
    op.peer = u->owner;
    return SL_BUILD_EMIT(p, op, sl_build_part(l, param, SL_READ_WRITE, u->first, whole));
  }
  op.place_group = group->shard;
  return SL_BUILD_EMIT(p, op, sl_zero_own(l, param, SL_READ, u), sl_build_part(l, param, SL_WRITE, u->first, whole));
}
