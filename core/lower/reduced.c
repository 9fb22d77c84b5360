/* Moves reduced gradients to where they are kept; see reduced.h. */
#include "core/lower/reduced.h"

#include "core/lower/grad_norm.h"
#include "core/lower/gradients.h"
#include "core/lower/host_sum.h"
#include "core/lower/lower.h"

bool sl_reduced_in_place(const struct sl_lowering *l) {
  return l->homes->arrived < 0 && !sl_gradients_sharded(l) && !l->plan->strategy.reduces_apart;
}

/* Where do own parts arrive that are not there yet where they are kept? -1: there. */
static int32_t arrived(const struct sl_lowering *l) {
  const bool alike = l->accumulate == sl_gradients_bucket_dtype(l);
  return sl_gradients_added_later(l) && alike && l->zero->reduce->pass.first ? -1 : l->homes->arrived;
}

/* Own parts of an earlier micro-batch are in the shard in which these arrive. */
static enum sl_access arrival_access(const struct sl_lowering *l, const struct sl_bucket *b) {
  const bool adds = sl_gradients_kept(l, b->first) && sl_gradients_sharded(l) && arrived(l) < 0;
  return adds ? SL_READ_WRITE : SL_WRITE;
}

static struct sl_operand arriving_flat(const struct sl_lowering *l, const struct sl_bucket *b) {
  const int64_t end = b->arrival_at + b->arrival_count;
  return sl_build_part(l, b->arrival, SL_WRITE, 0, end);
}

struct sl_operand sl_reduced_arriving(const struct sl_lowering *l, const struct sl_bucket *b, const struct sl_unit *u) {
  const int32_t there = arrived(l);
  /* for a flat partition, the call itself says where in its buffer a bucket's parts are: reduce_range */
  if (l->homes->by_call && l->plan->strategy.units == SL_UNITS_FLAT) return arriving_flat(l, b);
  if (l->homes->by_call)
    return sl_build_part(l, b->arrival, SL_WRITE, b->arrival_at + u->shard_offset - b->arrival_first, u->part);
  if (sl_reduced_in_place(l)) return sl_zero_own(l, l->homes->flat, SL_WRITE, u);
  return sl_build_part(l, there >= 0 ? there : l->rank_class->role[SL_ROLE_GRAD].buffer, arrival_access(l, b),
                       u->shard_offset, u->part);
}

/* Do own parts go on to where they are kept with the call that they arrive with? Others stay where they arrived until
 * another call needs the room. */
static bool moves_at_once(const struct sl_lowering *l) {
  return l->plan->strategy.offload_optimizer || l->plan->strategy.replica_sums == SL_REPLICAS_KEPT;
}

/* Where in the shard a bucket's own parts are. A flat partition that is moved by its calls has one member. */
static void place_arrival(const struct sl_lowering *l, struct sl_bucket *b) {
  const struct sl_pp_rank *s = l->pp_rank;
  const struct sl_unit *first = &s->units[s->tensors[b->first].unit], *last = &s->units[s->tensors[b->last].unit];
  const bool flat = l->plan->strategy.units == SL_UNITS_FLAT;
  b->arrival_first = first->shard_offset + (flat ? b->lo - first->first : 0);
  b->arrival_count = flat ? b->count : last->shard_offset + last->part - first->shard_offset;
}

static int call_size(const struct sl_reduce *r, int i) {
  return i + 1 < r->bucket_count && r->buckets[i + 1].joins ? 2 : 1;
}

/* Makes the buffer for own parts that are moved at once and, if they go on to NVMe, the one in host memory. */
static enum sl_status open_arrival(struct sl_lowering *l, int turn, int64_t count) {
  struct sl_reduce *r = l->zero->reduce;
  SL_TRY(sl_build_buffer(l, &r->arrivals[turn], SL_SCOPE_MICRO, SL_CATEGORY_COMMUNICATION, sl_gradients_bucket_dtype(l),
                         count, "grad.arriving.%d", turn));
  if (!l->homes->nvme.gradients) return SL_OK;
  SL_TRY(sl_build_buffer(l, &r->passing[turn], SL_SCOPE_MICRO, SL_CATEGORY_GRADIENT, l->accumulate, count,
                         "grad.passing.%d", turn));
  sl_build_move(l, r->passing[turn], SL_SPACE_HOST);
  return SL_OK;
}

/* The later bucket of a call comes first, in the flat space as in its buffer. Returns the elements of all. */
static int64_t place_call(struct sl_bucket *call, int buckets) {
  int64_t at = 0;
  for (struct sl_bucket *b = call + buckets - 1; b >= call; b--) {
    b->arrival_at = at;
    at += b->arrival_count;
  }
  return at;
}

/* A buffer for each call, which compute waits for before the next, as in FSDP2 (_fsdp_param_group.py, post_backward);
 * for what is moved at once one as large as any call needs, or two in turn where copies to host memory overlap with
 * calls, so that one is filled while the other is copied. */
enum sl_status sl_reduced_plan(struct sl_lowering *l) {
  struct sl_reduce *r = l->zero->reduce;
  int64_t most = 0;
  r->arrival_count = l->plan->strategy.offload_optimizer && l->plan->strategy.overlap ? 2 : 1;
  for (int i = 0; i < r->bucket_count; i++) place_arrival(l, &r->buckets[i]);
  for (int i = 0, buckets; i < r->bucket_count; i += buckets) {
    buckets = call_size(r, i);
    const int64_t count = place_call(&r->buckets[i], buckets);
    if (count > most) most = count;
    if (moves_at_once(l)) continue;
    SL_TRY(sl_build_buffer(l, &r->buckets[i].arrival, SL_SCOPE_MICRO, SL_CATEGORY_COMMUNICATION,
                           sl_gradients_bucket_dtype(l), count, "grad.arriving.%d", i));
    if (buckets > 1) r->buckets[i + 1].arrival = r->buckets[i].arrival;
  }
  for (int i = 0; i < r->arrival_count && moves_at_once(l); i++) SL_TRY(open_arrival(l, i, most));
  return SL_OK;
}

/* Copies `count` own parts from element `first` of the shard on to where they are kept, which is one buffer. */
static enum sl_status keep(struct sl_lowering *l, struct sl_program *p, struct sl_operand source, int64_t first,
                           int64_t count, bool add) {
  return sl_zero_convert(l, p, source, sl_home_part(l, SL_ROLE_GRAD, SL_WRITE, first, count), count, SL_PHASE_BACKWARD,
                         add);
}

/* The same within the device, on the lane of the reduction, which compute does not wait for: DeepSpeed's
 * partition_grads runs on reduce_and_partition_stream (stage3.py, __reduce_and_partition_ipg_grads). */
static enum sl_status keep_beside(struct sl_lowering *l, struct sl_program *p, const struct sl_bucket *b,
                                  struct sl_operand source, int64_t first, int64_t count) {
  const bool add = sl_gradients_kept(l, b->first);
  const struct sl_operand target = sl_home_part(l, SL_ROLE_GRAD, add ? SL_READ_WRITE : SL_WRITE, first, count);
  struct sl_op op = sl_build_copy(l, source.buffer, target.buffer, count, SL_PHASE_BACKWARD);
  if (add) op.kind = SL_OP_ADD;
  op.lane = sl_lane_of_group(l->pp_rank->layouts[b->group].group.scatter);
  op.flags = sl_zero_blocks(l) ? SL_OP_BLOCKING : 0;
  SL_TRY(SL_BUILD_EMIT(p, op, source, target));
  l->zero->reduce->last_launch = p->op_count - 1;
  return SL_OK;
}

/* Writes `count` own parts from element `first` of a bucket on to NVMe, through host memory, where their squares are
 * summed so that the norm need not read them again. */
static enum sl_status put_on_nvme(struct sl_lowering *l, struct sl_program *p, const struct sl_bucket *b, int64_t first,
                                  int64_t count) {
  const struct sl_operand passing = sl_build_part(l, b->passing, SL_READ, b->arrival_at + first, count);
  SL_TRY(sl_zero_convert(l, p, sl_build_part(l, b->arrival, SL_READ, b->arrival_at + first, count), passing, count,
                         SL_PHASE_BACKWARD, false));
  SL_TRY(sl_grad_norm_arrived(l, p, passing, b->arrival_first + first, count));
  return keep(l, p, passing, b->arrival_first + first, count, false);
}

/* Moves a bucket's own parts, as many at once as are kept in one memory. */
static enum sl_status settle_bucket(struct sl_lowering *l, struct sl_program *p, const struct sl_bucket *b) {
  if (sl_host_sum_applies(l)) return sl_host_sum(l, p, b->arrival, b->arrival_at, b->arrival_first, b->arrival_count);
  for (int64_t done = 0, piece; done < b->arrival_count; done += piece) {
    const int64_t first = b->arrival_first + done;
    piece = sl_home_together(l, SL_ROLE_GRAD, first, b->arrival_count - done);
    const enum sl_space space = sl_home_space(l, SL_ROLE_GRAD, first);
    const struct sl_operand parts = sl_build_part(l, b->arrival, SL_READ, b->arrival_at + done, piece);
    if (space == SL_SPACE_NVME)
      SL_TRY(put_on_nvme(l, p, b, done, piece));
    else if (space == SL_SPACE_DEVICE && moves_at_once(l))
      SL_TRY(keep_beside(l, p, b, parts, first, piece));
    else
      SL_TRY(keep(l, p, parts, first, piece, sl_gradients_kept(l, b->first)));
  }
  return SL_OK;
}

static enum sl_status settle_turn(struct sl_lowering *l, struct sl_program *p, int turn) {
  struct sl_arrived_call *c = &l->zero->reduce->arrived[turn];
  for (int i = 0; i < c->buckets; i++) SL_TRY(settle_bucket(l, p, &c->call[i]));
  c->buckets = 0;
  return SL_OK;
}

enum sl_status sl_reduced_open_call(struct sl_lowering *l, struct sl_program *p, struct sl_bucket *call, int buckets) {
  struct sl_reduce *r = l->zero->reduce;
  const int turn = r->arrival_turn++ % r->arrival_count;
  SL_TRY(settle_turn(l, p, turn));
  for (struct sl_bucket *b = call; b < call + buckets && moves_at_once(l); b++) {
    b->arrival = r->arrivals[turn];
    b->passing = r->passing[turn];
  }
  r->arrived[turn] = (struct sl_arrived_call){call, buckets};
  return SL_OK;
}

/* Compute would wait for a call whose parts it moves, so those stay until its turn comes again. */
enum sl_status sl_reduced_call(struct sl_lowering *l, struct sl_program *p) {
  const struct sl_reduce *r = l->zero->reduce;
  return moves_at_once(l) ? settle_turn(l, p, (r->arrival_turn - 1) % r->arrival_count) : SL_OK;
}

/* Moves own parts from the buffer they arrived in to where they are kept: all at once if all have arrived, otherwise by
 * unit. */
static enum sl_status keep_parts(struct sl_lowering *l, struct sl_program *p) {
  const struct sl_pp_rank *s = l->pp_rank;
  const struct sl_reduce *r = l->zero->reduce;
  const bool sharded = sl_gradients_sharded(l);
  if (sl_host_sum_applies(l)) return sl_host_sum(l, p, l->homes->arrived, 0, 0, s->shard_numel);
  if (sharded && l->plan->stage_count == 1)
    return keep(l, p, sl_build_read(l, l->homes->arrived), 0, s->shard_numel, !r->pass.first);
  for (int i = 0; i < s->unit_count; i++) {
    const struct sl_unit *u = &s->units[i];
    if (!r->buckets[r->bucket_of[u->first_tensor]].launched) continue;
    const struct sl_operand part = sl_build_part(l, l->homes->arrived, SL_READ, u->shard_offset, u->part);
    if (sharded)
      SL_TRY(keep(l, p, part, u->shard_offset, u->part, sl_gradients_kept(l, u->first_tensor)));
    else
      SL_TRY(
          sl_zero_convert(l, p, part, sl_zero_own(l, l->homes->flat, SL_WRITE, u), u->part, SL_PHASE_BACKWARD, false));
  }
  return SL_OK;
}

enum sl_status sl_reduced_back(struct sl_lowering *l, struct sl_program *p, const struct sl_bucket *b,
                               const struct sl_op *sum) {
  struct sl_op copy = sl_zero_op(SL_OP_COPY, l->accumulate, SL_PHASE_BACKWARD, b->count);
  if (b->buffer < 0) return SL_OK;
  copy.lane = sum->lane, copy.flags = sum->flags & SL_OP_BLOCKING;
  return SL_BUILD_EMIT(p, copy, sl_build_part(l, b->buffer, SL_READ, 0, b->count),
                       sl_build_part(l, l->homes->flat, SL_WRITE, b->lo, b->count));
}

enum sl_status sl_reduced_store(struct sl_lowering *l, struct sl_program *p) {
  const struct sl_reduce *r = l->zero->reduce;
  for (int i = 0; i < r->arrival_count; i++) SL_TRY(settle_turn(l, p, (r->arrival_turn + i) % r->arrival_count));
  return arrived(l) >= 0 ? keep_parts(l, p) : SL_OK;
}
