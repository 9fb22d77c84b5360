/* What becomes of reduced gradients; see settle.h. */
#include "core/lower/settle.h"

#include "core/lower/lower.h"

bool sl_settle_in_place(const struct sl_lowering *l) {
  return l->homes->arrived < 0 && !sl_reduce_sharded(l);
}

/* Own parts of an earlier micro-batch are in the shard they arrive in. */
static enum sl_access arrival_access(const struct sl_lowering *l, const struct sl_bucket *b) {
  const bool adds = sl_reduce_kept(l, b->first) && sl_reduce_sharded(l) && l->homes->arrived < 0;
  return adds ? SL_READ_WRITE : SL_WRITE;
}

struct sl_operand sl_settle_arriving(const struct sl_lowering *l, const struct sl_bucket *b, const struct sl_unit *u) {
  const int32_t arrived = l->homes->arrived;
  if (sl_settle_in_place(l)) return sl_zero_own(l, l->homes->flat, SL_WRITE, u);
  return sl_build_part(l, arrived >= 0 ? arrived : l->rank_class->role[SL_ROLE_GRAD].buffer, arrival_access(l, b),
                       u->shard_offset, u->part);
}

/* Own parts from the buffer they arrived in to where they are kept: all at once, where all have arrived, or by unit. */
static enum sl_status keep_parts(struct sl_lowering *l, struct sl_program *p) {
  const struct sl_pp_rank *s = l->pp_rank;
  const struct sl_reduce *r = l->zero->reduce;
  const int32_t shard = l->rank_class->role[SL_ROLE_GRAD].buffer;
  const bool sharded = sl_reduce_sharded(l);
  if (sharded && l->plan->stage_count == 1) {
    return sl_zero_convert(l, p, sl_build_read(l, l->homes->arrived), sl_build_write(l, shard), s->shard_numel,
                           SL_PHASE_BACKWARD, !r->pass.first);
  }
  for (int i = 0; i < s->unit_count; i++) {
    const struct sl_unit *u = &s->units[i];
    if (!r->buckets[r->bucket_of[u->first_tensor]].launched) continue;
    const struct sl_operand own = sharded ? sl_build_part(l, shard, SL_WRITE, u->shard_offset, u->part)
                                          : sl_zero_own(l, l->homes->flat, SL_WRITE, u);
    SL_TRY(sl_zero_convert(l, p, sl_build_part(l, l->homes->arrived, SL_READ, u->shard_offset, u->part), own, u->part,
                           SL_PHASE_BACKWARD, sharded && sl_reduce_kept(l, u->first_tensor)));
  }
  return SL_OK;
}

enum sl_status sl_settle_back(struct sl_lowering *l, struct sl_program *p, const struct sl_bucket *b) {
  if (!b->launched || b->buffer < 0) return SL_OK;
  return sl_zero_convert(l, p, sl_build_part(l, b->buffer, SL_READ, 0, b->count),
                         sl_build_part(l, l->homes->flat, SL_WRITE, b->lo, b->count), b->count, SL_PHASE_BACKWARD,
                         false);
}

enum sl_status sl_settle(struct sl_lowering *l, struct sl_program *p) {
  const struct sl_reduce *r = l->zero->reduce;
  if (l->homes->arrived >= 0) return keep_parts(l, p);
  if (sl_reduce_sharded(l) || l->plan->strategy.reduces_last) return SL_OK;
  for (int i = 0; i < r->bucket_count; i++) SL_TRY(sl_settle_back(l, p, &r->buckets[i]));
  return SL_OK;
}
