/* Whole sums of the buckets of sharded gradients; see take.h. */
#include "core/lower/take.h"

#include "core/lower/gradients.h"
#include "core/lower/lower.h"
#include "core/lower/reduced.h"

enum { MOST_BUCKETS = 2 }; /* of a call */

/* A copy of *bucket in `type`, on the lane of its reduction; *bucket becomes that. */
static enum sl_status copy(struct sl_lowering *l, struct sl_program *p, const struct sl_op *sum, int64_t count,
                           enum sl_dtype type, const char *name, struct sl_operand *bucket) {
  struct sl_op op = sl_zero_op(SL_OP_COPY, type, SL_PHASE_BACKWARD, count);
  int32_t made;
  op.lane = sum->lane, op.flags = sum->flags;
  SL_TRY(sl_build_buffer(l, &made, SL_SCOPE_MICRO, SL_CATEGORY_COMMUNICATION, type, count, "%s", name));
  SL_TRY(SL_BUILD_EMIT(p, op, sl_build_as(*bucket, SL_READ), sl_build_write(l, made)));
  *bucket = sl_build_update(l, made);
  return SL_OK;
}

/* What DeepSpeed all-reduces instead of a bucket (stage_1_and_2.py, allreduce_bucket): a flat copy, of which *sum is a
 * cast to the communicated type if that differs. Without reduce_scatter it makes no copy but the cast
 * (gradient_reduction_w_predivide). */
static enum sl_status prepare(struct sl_lowering *l, struct sl_program *p, const struct sl_op *op, int64_t count,
                              struct sl_operand *flat, struct sl_operand *sum) {
  const enum sl_dtype type = sl_gradients_bucket_dtype(l);
  if (l->plan->strategy.whole_buckets && l->plan->config->zero.reduce_scatter)
    SL_TRY(copy(l, p, op, count, type, "bucket.flat", flat));
  *sum = *flat;
  return type != l->wire ? copy(l, p, op, count, l->wire, "bucket.cast", sum) : SL_OK;
}

/* Copies the sum back to what it was cast from, and this member's own part on to where that arrives. */
static enum sl_status take(struct sl_lowering *l, struct sl_program *p, const struct sl_bucket *b,
                           const struct sl_op *sum, struct sl_operand summed, struct sl_operand flat) {
  const struct sl_unit *u = &l->pp_rank->units[l->pp_rank->tensors[b->first].unit];
  const struct sl_operand own = sl_reduced_arriving(l, b, u);
  struct sl_op back = sl_zero_op(SL_OP_COPY, sl_gradients_bucket_dtype(l), SL_PHASE_BACKWARD, b->count);
  struct sl_op op = sl_zero_op(own.slice.access == SL_WRITE ? SL_OP_COPY : SL_OP_ADD,
                               l->rank_class->buffers[own.buffer].dtype, SL_PHASE_BACKWARD, b->count);
  back.lane = op.lane = sum->lane;
  if (summed.buffer != flat.buffer)
    SL_TRY(SL_BUILD_EMIT(p, back, sl_build_as(summed, SL_READ), sl_build_as(flat, SL_WRITE)));
  op.flags = SL_OP_SHARE_RANGE, op.place_group = l->pp_rank->layouts[b->group].group.shard;
  op.dim[1] = b->lo - u->first, op.dim[2] = op.dim[1] + op.dim[0], op.dim[3] = u->part;
  return SL_BUILD_EMIT(p, op, sl_build_as(flat, SL_READ), own);
}

enum sl_status sl_take_own(struct sl_lowering *l, struct sl_program *p, const struct sl_bucket *call, int buckets,
                           struct sl_op sum) {
  struct sl_operand sums[MOST_BUCKETS] = {0}, flat[MOST_BUCKETS] = {0};
  for (int i = 0; i < buckets; i++) {
    flat[i] = sl_build_part(l, call[i].buffer, SL_READ_WRITE, 0, call[i].count);
    SL_TRY(prepare(l, p, &sum, call[i].count, &flat[i], &sums[i]));
  }
  SL_TRY(sl_build_emit(p, sum, buckets, sums));
  for (int i = 0; i < buckets; i++) SL_TRY(take(l, p, &call[i], &sum, sums[i], flat[i]));
  return SL_OK;
}
