/* Records lifetimes of buffer slots, issue by issue; see lives.h. */
#include "core/place/lives.h"

#include "core/place/linker.h"
#include "core/place/pieces.h"

#include <string.h>

/* A lifetime of a slot begins with `issue`, op `own` of a lane. */
static enum sl_status begin_life(struct linker *k, uint32_t slot, int32_t buffer, int32_t micro_batch, uint32_t issue,
                                 int own_lane, uint32_t own) {
  SL_TRY(sl_lives_room(k->lives, k->rank_class->slot_count));
  struct sl_life *life = &k->lives->items[k->lives->count];
  *life = (struct sl_life){.slot = slot,
                           .buffer = buffer,
                           .program = k->p->kind,
                           .micro_batch = micro_batch,
                           .first = issue,
                           .last = issue,
                           .lanes = UINT32_C(1) << own_lane,
                           .before = k->last_life[slot]};
  memcpy(life->known, sl_clock_of(k, issue), sizeof life->known);
  life->done[own_lane] = own + 1;
  k->last_life[slot] = (int32_t)k->lives->count++;
  return SL_OK;
}

/* Does the newest lifetime of a slot go on when `issue` uses it for `key`, its micro-batch if that matters? */
static inline bool life_goes_on(const struct sl_life *life, const struct sl_use *use, int32_t key, uint32_t issue) {
  if (life->buffer != use->buffer || life->micro_batch != key)
    return false;                             /* passed on to another stage, or renewed */
  return !use->renews || life->last == issue; /* read and overwritten by one op */
}

/* Op `own` of a lane, which has `issue`, uses a slot for `micro_batch`. */
static enum sl_status record_life(struct linker *k, const struct sl_use *use, uint32_t slot, int32_t micro_batch,
                                  uint32_t issue, int own_lane, uint32_t own) {
  const int32_t key = use->of_micro ? micro_batch : -1, newest = k->last_life[slot];
  struct sl_life *life = newest >= 0 ? &k->lives->items[newest] : NULL;
  if (life == NULL || !life_goes_on(life, use, key, issue))
    return begin_life(k, slot, use->buffer, key, issue, own_lane, own);
  life->last = issue;
  if (!(life->lanes >> own_lane & 1)) { /* later ops of a lane know no less than its first, which is what counts */
    const uint32_t *clock = sl_clock_of(k, issue);
    for (int lane = 0; lane < SL_LANE_COUNT; lane++)
      life->known[lane] = clock[lane] < life->known[lane] ? clock[lane] : life->known[lane];
    life->lanes |= UINT32_C(1) << own_lane;
  }
  life->done[own_lane] = own + 1;
  return SL_OK;
}

/* The same for the pieces that slice `s` of an op touches, of a buffer that consists of such. A member's own part of a
 * range is somewhere in that range, which begins where the first member's does (op/wire.h, sl_share_piece). */
static enum sl_status record_pieces(struct linker *k, const struct sl_use *use, const struct sl_op *op,
                                    const struct sl_slice *s, uint32_t issue, uint32_t own) {
  const struct sl_class *c = k->rank_class;
  const bool range = op->flags & SL_OP_SHARE_RANGE && s->shard_stride != 0;
  const int64_t element = sl_dtype_bytes(op->dtype), lo = range ? s->offset + op->dim[1] * element : use->lo,
                hi = range ? s->offset + op->dim[2] * element : use->hi;
  const int32_t end = use->buffer + 1 + c->buffers[use->buffer].pieces;
  if (hi <= lo) return SL_OK;
  for (int32_t i = use->buffer + 1 + sl_pieces_find(c, use->buffer, lo); i < end; i++) {
    const struct sl_use piece = {.buffer = i};
    if (c->buffers[i].piece_at >= hi) break;
    SL_TRY(record_life(k, &piece, (uint32_t)c->buffers[i].first_slot, -1, issue, (int)op->lane, own));
  }
  return SL_OK;
}

enum sl_status sl_lives_record(struct linker *k, uint32_t issue) {
  const struct sl_program *p = k->p;
  const struct sl_issue *e = sl_issue_at(k, issue);
  const struct sl_op *op = &p->ops[e->op];
  const struct sl_instance *n = &p->instances[e->instance];
  const struct sl_use *uses = &k->uses[k->first_use[e->op]];
  for (const struct sl_use *use = uses; use < uses + op->slice_count; use++) {
    if (use->pieces)
      SL_TRY(record_pieces(k, use, op, &p->slices[op->slice + (use - uses)], issue, e->lane_index));
    else if (use->lives)
      SL_TRY(record_life(k, use, sl_use_slot(use, p, n), n->micro_batch, issue, (int)op->lane, e->lane_index));
  }
  return SL_OK;
}
