/* Sharded data parallelism (ZeRO, arXiv:1910.02054, and similar strategies): binds the compute drafts, which are the
 * same for every strategy, to the buffers that the strategy keeps.
 *
 *                          parameters       gradients                    optimizer  communication of a step
 *   replicated (0, DDP)    flat, whole      flat, whole                  whole      all_reduce
 *   sharded optimizer (1)  flat, whole      flat, whole; own part valid  own part   reduce, all_gather
 *   + gradients (2)        flat, whole      bucket, then own part        own part   reduce, all_gather
 *   + parameters (3, FSDP) gathered at use  bucket, then own part        own part   all_gather x 2, reduce
 *
 * overlap_param_gather moves the all_gather of (1) to the next forward: lower/ahead.h. Whole gradients are reduced once
 * per step, in the last backward. Sharded ones are reduced after every micro-batch, because no rank keeps them
 * whole. */
#include "core/lower/ahead.h"
#include "core/lower/bind.h"
#include "core/lower/lower.h"

#include "core/op/operands.h"

#include <stdlib.h>
#include <string.h>

enum sl_status sl_zero_open(struct sl_lowering *l) {
  const bool sharded = l->plan->strategy.shard_params;
  SL_TRY(sl_calloc(&l->homes, 1, sizeof *l->homes));
  l->homes->flat = l->homes->beside = l->homes->arrived = l->homes->secondary = l->homes->summed = l->homes->restored =
      -1;
  const enum sl_role_form whole = l->plan->strategy.overlap_param_gather ? SL_FORM_SHARD_IN_FLAT : SL_FORM_WHOLE;
  SL_TRY(sl_zero_state(l, SL_ROLE_PARAM, sharded ? SL_FORM_SHARD : whole, SL_SCOPE_PERSISTENT, SL_CATEGORY_PARAMETER,
                       l->plan->strategy.casts_shards ? SL_F32 : l->dtype, sharded ? "param.shard" : "param"));
  l->homes->nvme.blocks[0] = l->homes->nvme.blocks[1] = -1;
  SL_TRY(sl_nvme_open_params(l));
  SL_TRY(sl_reduce_open(l));
  SL_TRY(sl_update_open(l));
  return sharded ? sl_gather_open(l) : SL_OK;
}

enum sl_status sl_zero_open_stage(struct sl_lowering *l) {
  return sl_gather_open_stage(l);
}

void sl_zero_close(struct sl_lowering *l) {
  if (l->homes == NULL) return;
  free(l->homes->persistent);
  free(l->homes->unsharded);
  free(l->homes->secondary_part);
  free(l->homes->nvme.pool);
  free(l->homes);
}

enum sl_status sl_zero_start(struct sl_lowering *l) {
  SL_TRY(sl_calloc(&l->zero, 1, sizeof *l->zero));
  SL_TRY(sl_calloc(&l->zero->wide, 2 * (size_t)l->pp_rank->tensor_count, sizeof *l->zero->wide));
  SL_TRY(sl_reduce_start(l));
  if (l->plan->strategy.overlap_param_gather) SL_TRY(sl_ahead_start(l));
  return l->plan->strategy.shard_params ? sl_gather_start(l) : SL_OK;
}

void sl_zero_stop(struct sl_lowering *l) {
  if (l->zero == NULL) return;
  sl_gather_stop(l);
  sl_reduce_stop(l);
  sl_ahead_stop(l);
  free(l->zero->wide);
  free(l->zero->lists);
  free(l->zero);
}

static void bind_params(const struct sl_lowering *l, struct sl_draft *d) {
  for (int i = 0; i < d->operand_count; i++) {
    struct sl_operand *o = &d->operand[i];
    if (o->buffer >= 0 || o->gradient) continue;
    if (l->plan->strategy.shard_params) {
      sl_gather_bind(l, o);
    } else {
      o->buffer = o->slice.buffer = l->rank_class->role[SL_ROLE_PARAM].buffer;
      o->slice.offset += l->pp_rank->tensors[o->placed].flat * sl_dtype_bytes(l->dtype);
    }
  }
}

/* An evaluation drops no elements, so no op needs a mask. An op's operands are in the order of its rows. */
static void drop_dropout(struct sl_draft *d) {
  static const enum sl_at masks[] = {SL_AT_MASK, SL_AT_DROPPED}; /* the last first */
  d->op.dropout = 0;
  if (!(d->op.flags & SL_OP_MASK)) return;
  for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
    const int at = sl_op_at(&d->op, masks[i]);
    if (at < 0) continue;
    memmove(&d->operand[at], &d->operand[at + 1], (size_t)(d->operand_count - at - 1) * sizeof *d->operand);
    d->operand_count--;
  }
  d->op.flags &= ~(unsigned)SL_OP_MASK;
}

enum sl_status sl_zero_forward(struct sl_lowering *l, struct sl_program *p, struct sl_pass pass) {
  const struct sl_drafts *drafts = &l->stage->forward;
  const bool gathers = sl_gather_traces(l);
  if (gathers) SL_TRY(sl_gather_begin(l));
  for (size_t i = 0; i < drafts->count; i++) {
    struct sl_draft d = drafts->items[i];
    if (gathers) SL_TRY(sl_gather_before(l, p, SL_PHASE_FORWARD, &drafts->items[i]));
    if (pass.gathers) SL_TRY(sl_ahead_before(l, p, &drafts->items[i]));
    bind_params(l, &d);
    if (l->zero->evaluates) drop_dropout(&d);
    SL_TRY(sl_build_emit(p, d.op, d.operand_count, d.operand));
    if (gathers) sl_gather_after(l, &drafts->items[i]);
  }
  return SL_OK;
}

/* Lowers one draft of a backward, and handles the gradients that it makes. */
static enum sl_status lower_backward(struct sl_lowering *l, struct sl_program *p, const struct sl_draft *draft) {
  const bool gathers = sl_gather_traces(l);
  struct sl_draft d = *draft;
  if (gathers) SL_TRY(sl_gather_before(l, p, SL_PHASE_BACKWARD, draft));
  bind_params(l, &d);
  SL_TRY(sl_bind_gradients(l, &d));
  SL_TRY(sl_sparse_gather(l, p, &d));
  SL_TRY(sl_build_emit(p, d.op, d.operand_count, d.operand));
  if (gathers) sl_gather_after(l, draft);
  return sl_reduce_after(l, p, draft);
}

enum sl_status sl_zero_backward(struct sl_lowering *l, struct sl_program *p, struct sl_pass pass) {
  const struct sl_drafts *drafts = &l->stage->backward;
  SL_TRY(sl_reduce_begin(l, p, pass));
  if (sl_gather_traces(l)) SL_TRY(sl_gather_resume(l));
  for (size_t i = 0; i < drafts->count; i++) SL_TRY(lower_backward(l, p, &drafts->items[i]));
  return sl_reduce_end(l, p);
}

enum sl_status sl_zero_backward_input(struct sl_lowering *l, struct sl_program *p) {
  const struct sl_drafts *drafts = &l->stage->backward;
  for (size_t i = 0; i < drafts->count; i++) {
    struct sl_draft d = drafts->items[i];
    if (d.half != SL_HALF_INPUT) continue;
    bind_params(l, &d);
    SL_TRY(sl_build_emit(p, d.op, d.operand_count, d.operand));
  }
  return SL_OK;
}

enum sl_status sl_zero_backward_weight(struct sl_lowering *l, struct sl_program *p, struct sl_pass pass) {
  const struct sl_drafts *drafts = &l->stage->backward;
  SL_TRY(sl_reduce_begin(l, p, pass));
  for (size_t i = 0; i < drafts->count; i++) {
    if (drafts->items[i].half == SL_HALF_WEIGHT) SL_TRY(lower_backward(l, p, &drafts->items[i]));
  }
  return sl_reduce_end(l, p);
}

enum sl_status sl_zero_unshard(struct sl_lowering *l, struct sl_program *p, bool again) {
  return l->plan->strategy.shard_params ? sl_gather_stage(l, p, again) : SL_OK;
}
