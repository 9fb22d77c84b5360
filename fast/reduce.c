/* Buckets and their reductions; see reduce.h. This file handles whole gradients only, those of ZeRO 0 and 1. */
#include "fast/reduce.h"

#include "core/base/checked.h"
#include "core/op/op.h"
#include "cost/collective.h"
#include "cost/compute.h"
#include "fast/call.h"
#include "fast/ring.h"

#include <math.h>

/* A bucket that is full. */
struct bucket {
  int turn; /* which of the rotating buffers has its copy */
  int64_t lo, hi, count, partial;
  double ready;  /* when its last gradient is complete */
  double called; /* when the host has called its reduction */
  bool tied;     /* that of a tied embedding */
};

/* The walk over gradients, in the order in which the backward completes them. */
struct walk {
  const struct sl_fast_setting *s;
  struct sl_fast_call reduce, sum; /* over the data-parallel ranks; over tensor parallelism */
  int64_t count, partial;          /* elements in the open bucket */
  int64_t hi;                      /* the flat index behind the open bucket */
  double ready;                    /* when its last gradient is complete ... */
  double hosted;                   /* ... and when the host has launched the op that writes it */
  double end, end_hosted;          /* of the backward, without reductions */
  double late;                     /* of the host, at the start of the backward */
  double at, slow; /* the time that the backward has reached; the share of their speed that kernels lose during a
                    * reduction */
  double bare;     /* the time without reductions */
  double host;     /* the host's seconds for buckets so far */
  double call;     /* the seconds of a reduction's launch by a host that blocks */
  double held, held_before, dp_lane, tp_lane;
  double sums, last_sum;    /* seconds of sums over tensor parallelism beside the backward, and of the last of them */
  double each;              /* the seconds of one of the backward's own collectives of tensor parallelism */
  double hidden;            /* of those, what waits for reductions may hide: one collective at a time */
  double tied_over;         /* when the tied embedding's bucket was reduced */
  struct sl_fast_ring ring; /* of copies for communication */
  double now;               /* bytes in use besides them after the last tensor */
  double moving;            /* until when reductions slow kernels, if all copies behind them came last */
  /* of the copy to the communication type, and of that back, which no host launches on its own */
  double copy_launch, back_launch, copy_per_element;
  int64_t unit, part;    /* elements of the flat space; a member's share of those that are not tied */
  int64_t tied;          /* elements of a tied embedding, which comes first and is a partition of its own */
  int64_t flat, padding; /* the position of the walk; padding elements behind the next tensor */
  int64_t blocks;        /* of the stage */
  double made;           /* bytes of gradients that a block adds */
  int opened;            /* buckets that fill one after the other */
  bool other;            /* not the first micro-batch's backward */
  bool serial, communicates, recast, sharded;
  bool whole; /* the stage is one bucket */
  /* nothing is reduced before the backward is over; seconds from its end to the end of the reductions on both lanes */
  bool last;
  double tp_after, dp_after;
  /* buckets whose reductions have not begun: they begin in the order of time, which may differ from that of places. A
   * run of tensors ends a bucket a tensor at most, and may find as many of the run before. */
  struct bucket waiting[2 * SL_FAST_TENSORS];
  int waiting_count;
};

/* The elements of [lo, hi) that the member with the fewest of them has: the shares of all others cross the busiest
 * link. */
static int64_t least_share(const struct walk *w, int64_t lo, int64_t hi) {
  const int members = w->reduce.members;
  const int64_t last = (members - 1) * w->part;
  if (lo >= w->part || hi <= last) return 0;
  const int64_t first_has = w->part - lo, last_has = hi - last;
  int64_t least = first_has < last_has ? first_has : last_has;
  if (members == 2) return least;
  return least < w->part ? least : w->part;
}

static double reduction(const struct walk *w, int64_t lo, int64_t hi) {
  const int64_t count = hi - lo;
  if (!w->sharded || w->s->strategy.sums_whole) return sl_fast_call_seconds(&w->reduce, w->s->rank, count, 0, false);
  const int64_t least = lo < w->tied ? count / w->reduce.members : least_share(w, lo - w->tied, hi - w->tied);
  return sl_fast_call_seconds(&w->reduce, w->s->rank, count, count - least, true);
}

static double later(double a, double b) {
  return a > b ? a : b;
}

/* Adds `seconds` of kernels, which are slowed while a reduction runs. */
static void compute(struct walk *w, double seconds) {
  const double busy = w->moving - (w->at + w->held), beside = busy * (1 - w->slow);
  if (w->slow == 0 || busy <= 0) return;
  w->held += seconds < beside ? seconds / (1 - w->slow) - seconds : busy - beside;
}

/* Moves the backward on to `to`; the host, which has also launched what buckets ask for, lets it get there at
 * `hosted`. */
static void go_to(struct walk *w, double to, double hosted) {
  if (to < w->at) return;
  compute(w, to - w->at);
  w->at = to;
  w->bare = later(to, hosted);
  w->held = later(w->held, hosted - to);
}

/* The host's seconds for a bucket. */
static double host_of(const struct walk *w) {
  const struct sl_kernel_costs *costs = &w->s->rank->kernel_costs;
  const double sum = w->partial > 0 ? costs->host_collective : 0;
  return sum + (w->communicates ? costs->host_collective + (w->recast ? costs->host_launch : 0) : 0);
}

/* The seconds of a sum's copy back to the accumulation type, on the lane of the reduction. */
static double copy_back(const struct walk *w, int64_t count) {
  return w->recast ? w->back_launch + (double)count * w->copy_per_element : 0;
}

/* The backward waits, perhaps while it would wait for a collective of tensor parallelism, too. */
static void wait_for(struct walk *w, double seconds) {
  w->hidden += seconds < w->each ? seconds : w->each;
}

/* A host that is behind launches the copy and calls the reduction later than the device could start them. */
static void reduce_bucket(struct walk *w, const struct bucket *b) {
  const double reached = b->called - (w->communicates ? w->s->rank->kernel_costs.host_collective : 0);
  const double ready = b->ready + w->held;
  double at = ready;
  if (b->partial > 0) {
    const double seconds = sl_fast_call_seconds(&w->sum, w->s->rank, b->partial, 0, false);
    w->tp_lane = later(later(w->tp_lane, at), reached) + seconds;
    if (w->serial) w->held = later(w->held, reached - b->ready) + seconds;
    if (w->serial && b->ready < w->end) w->hidden += w->each; /* the lane may be busy with a collective */
    if (!w->serial) w->sums += seconds, w->last_sum = seconds;
    at = w->tp_lane;
  }
  if (w->communicates && w->recast) {
    const double seconds = w->copy_launch + (double)b->count * w->copy_per_element;
    at = later(later(at, reached), w->ring.taken[b->turn]);
    const double stall = at - (b->ready + w->held); /* the copy is on the compute lane, behind the sum */
    if (stall > 0) wait_for(w, w->serial ? 0 : stall), w->held += stall;
    const double before = w->held;
    compute(w, seconds);
    w->held += seconds;
    at += w->held - before;
  }
  if (w->communicates) {
    const double seconds = reduction(w, b->lo, b->hi), back = copy_back(w, b->count);
    w->held += w->call;
    const double begins = later(later(w->dp_lane, at + w->call), b->called);
    w->moving = later(w->moving, begins) + seconds;
    w->dp_lane = w->ring.taken[b->turn] = begins + seconds + back;
    if (w->serial) w->held = later(w->held, b->called - b->ready) + seconds + back;
  }
  if (w->serial && b->ready < w->end) wait_for(w, b->ready + w->held - ready);
  if (b->tied) w->tied_over = w->communicates ? w->dp_lane : b->ready + w->held;
}

/* Reduces the buckets that are complete at `now`, the first of them first: of those that one op completes, as an
 * embedding's does with its positions', the last of them, whose tensors come first. */
static void reduce_until(struct walk *w, double now) {
  for (;;) {
    int first = -1;
    for (int i = 0; i < w->waiting_count; i++)
      if (w->waiting[i].ready <= now && (first < 0 || w->waiting[i].ready <= w->waiting[first].ready)) first = i;
    if (first < 0) return;
    const struct bucket b = w->waiting[first];
    for (int i = first + 1; i < w->waiting_count; i++) w->waiting[i - 1] = w->waiting[i];
    w->waiting_count--;
    reduce_bucket(w, &b);
  }
}

/* Reduces a bucket when the backward is over, behind those before; in another type it is copied there and back. */
static void reduce_after_all(struct walk *w, int64_t lo) {
  const double copy = w->recast ? w->copy_launch + (double)w->count * w->copy_per_element : 0;
  if (w->partial > 0) w->tp_after += sl_fast_call_seconds(&w->sum, w->s->rank, w->partial, 0, false);
  if (w->communicates)
    w->dp_after = later(w->dp_after, w->tp_after) + copy + w->call + reduction(w, lo, w->hi) + copy_back(w, w->count);
}

/* Ends the open bucket, which goes down to `lo`. */
static void end_bucket(struct walk *w, int64_t lo) {
  const int turn = sl_fast_ring_take(&w->ring, w->count);
  if (!w->s->rank->kernel_costs.launch_blocking) w->host += host_of(w);
  w->opened++;
  if (w->last)
    reduce_after_all(w, lo);
  else
    w->waiting[w->waiting_count++] =
        (struct bucket){turn, lo, w->hi, w->count, w->partial, w->ready, w->hosted + w->host, lo < w->tied};
  w->hi = lo;
  w->count = w->partial = 0;
  w->ready = 0;
  w->hosted = -INFINITY;
}

/* An op writes a gradient from `begins` to `ready`; the host lets it end at `hosted`. */
struct written {
  double begins, ready, hosted;
  double host; /* the host's seconds for the buckets that are complete before it */
};

/* Bytes in use when an op has written a gradient, and the most of them from there to the end of its block. */
struct in_use {
  double now, left;
};

/* Those of a tensor in the first micro-batch's backward, or another one's. `above`: blocks that come before its own. */
static struct in_use bytes_in_use(const struct walk *w, const struct sl_fast_stage *stage,
                                  const struct sl_fast_tensor *t, int64_t above) {
  const double released = (double)above * (stage->kept.block - w->made), n = (double)w->blocks;
  return (struct in_use){sl_fast_at(t->now[!w->other], n) - released, sl_fast_at(t->left[!w->other], n) - released};
}

/* Adds a tensor's gradient, which `op` writes, to the open bucket. */
static void fill(struct walk *w, const struct sl_fast_tensor *t, const struct written *op, const struct in_use *bytes) {
  const struct sl_strategy *s = &w->s->strategy;
  const int64_t limit = w->whole ? INT64_MAX : w->opened == 0 ? s->first_bucket : s->bucket;
  const int64_t run = t->numel + w->padding;
  const bool full = s->closes_after ? w->count >= limit : w->count > limit - run;
  if (w->count > 0 && (full || t->tied)) {
    end_bucket(w, w->flat);
    sl_fast_ring_note(&w->ring, w->now, bytes->left);
  }
  w->padding = 0;
  w->flat -= t->numel;
  w->now = bytes->now;
  w->count += run;
  if (t->partial) w->partial += t->numel;
  w->ready = later(w->ready, op->ready);
  w->hosted = later(w->hosted, op->hosted - (op->ready - op->begins));
}

/* Puts the ops of a run in the order of time, which may differ from that of their tensors. */
static void put_in_order(struct written *ops, int count) {
  for (int i = 1; i < count; i++) {
    const struct written op = ops[i];
    int at = i;
    for (; at > 0 && ops[at - 1].ready > op.ready; at--) ops[at] = ops[at - 1];
    ops[at] = op;
  }
}

/* The backward's last op ends when the backward does, which a host may delay more than the sample shows. */
static void write_gradient(struct walk *w, const struct written *op) {
  const double hosted = op->ready < w->end * (1 - 1e-9) ? op->hosted : later(op->hosted, w->end_hosted);
  reduce_until(w, nextafter(op->ready, 0));
  go_to(w, op->begins, op->hosted - (op->ready - op->begins) + op->host);
  go_to(w, op->ready, hosted + op->host);
}

/* A host that falls behind only after some blocks lets those before end sooner than `hosted`, which grows as if it had
 * been behind from the first: the ops that follow still have to run before the backward ends. */
static double hosted_at_most(const struct walk *w, double ready, double hosted) {
  const double most = w->end_hosted - (w->end - ready);
  return hosted < most ? hosted : most;
}

/* Adds the tensors first .. end - 1 of the stage. `above`: blocks that come before theirs. */
static void take_run(struct walk *w, const struct sl_fast_stage *stage, int first, int end, double blocks,
                     int64_t above) {
  const struct sl_fast_action *a = w->other ? &stage->next : &stage->first;
  struct written ops[SL_FAST_TENSORS];
  int count = 0;
  for (int i = end - 1; i >= first; i--) {
    const struct sl_fast_tensor *t = &stage->tensor[i];
    struct written *op = &ops[count++];
    op->begins = sl_fast_at(t->begins[w->other], blocks) + (double)above * a->end.block;
    op->ready = sl_fast_at(t->ready[w->other], blocks) + (double)above * a->end.block;
    op->hosted = hosted_at_most(
        w, op->ready, w->late + sl_fast_at(t->hosted[w->other], blocks) + (double)above * a->end_hosted.block);
    const struct in_use bytes = bytes_in_use(w, stage, t, above);
    fill(w, t, op, &bytes);
    op->host = w->host;
  }
  put_in_order(ops, count);
  for (int i = 0; i < count; i++) write_gradient(w, &ops[i]);
}

/* Ends the bucket of a tied embedding, which comes first in the flat space, while no other is open. */
static void end_tied(struct walk *w, const struct sl_fast_tensor *t, double blocks) {
  const double begins = sl_fast_at(t->begins[w->other], blocks);
  w->count = w->hi = w->tied;
  w->ready = sl_fast_at(t->ready[w->other], blocks);
  w->hosted = hosted_at_most(w, w->ready, w->late + sl_fast_at(t->hosted[w->other], blocks)) - (w->ready - begins);
  end_bucket(w, 0);
}

/* Reduces a tied embedding whose gradient the head completes before the blocks do, although it precedes them in the
 * flat space. */
static bool take_early(struct walk *w, const struct sl_fast_stage *stage, int first_block) {
  const struct sl_fast_tensor *t = &stage->tensor[0];
  if (first_block != 1 || !t->tied || t->ready[w->other].block > 0) return false;
  end_tied(w, t, 0);
  reduce_until(w, INFINITY);
  return true;
}

/* Takes block `b`, counted from the top. Copies of the blocks above stand beside all of it, or beside what comes before
 * its gradients if it closes a bucket. */
static void take_block(struct walk *w, const struct sl_fast_stage *stage, int first, int end, int64_t b) {
  const double released = (double)(b - 1) * (stage->kept.block - w->made), n = (double)w->blocks;
  const int buckets = w->ring.buckets;
  if (b == w->blocks - 1) w->ring.before_lowest = buckets;
  if (b > 0) sl_fast_ring_pass(&w->ring, sl_fast_at(stage->under_top_opens[!w->other], n) - released);
  take_run(w, stage, first, end, 2, b);
  if (b > 0 && w->ring.buckets == buckets)
    sl_fast_ring_pass(&w->ring, sl_fast_at(stage->under_top[!w->other], n) - released);
}

static void walk_tensors(struct walk *w, const struct sl_fast_stage *stage, int64_t blocks) {
  int first_block = 0, behind;
  while (first_block < stage->tensor_count && stage->tensor[first_block].where < 0) first_block++;
  for (behind = first_block; behind < stage->tensor_count && stage->tensor[behind].where == 0;) behind++;
  const bool early = take_early(w, stage, first_block);
  w->flat = w->unit - w->padding;
  w->hi = w->unit;
  w->opened = 0;
  take_run(w, stage, behind, stage->tensor_count, 2, 0);
  for (int64_t b = 0; b < blocks; b++) take_block(w, stage, first_block, behind, b);
  const int tied = first_block > 0 && stage->tensor[0].tied; /* handled separately */
  w->ring.by_blocks = w->ring.buckets;
  take_run(w, stage, tied, first_block, (double)blocks, 0);
  double ready = w->count > 0 ? w->ready : INFINITY; /* of the last bucket */
  if (w->count > 0) end_bucket(w, w->tied);
  if (tied && !early) {
    ready = sl_fast_at(stage->tensor[0].ready[w->other], (double)blocks);
    end_tied(w, &stage->tensor[0], (double)blocks);
  }
  reduce_until(w, nextafter(ready, 0));
  w->held_before = w->at + w->held - w->bare;
  reduce_until(w, INFINITY);
}

/* The cost of a copy from the accumulation type to the communication type. */
static void price_copy(struct walk *w) {
  const struct sl_config *c = w->s->config;
  w->copy_launch = w->back_launch = w->s->rank->launch;
  if (w->s->rank->kernel_costs.launch_blocking) w->copy_launch += w->s->rank->kernel_costs.host_launch;
  const double factor = w->s->rank->kernel_costs.elementwise_factor;
  const double bytes = (double)(sl_dtype_bytes(c->grad_accum_dtype) + sl_dtype_bytes(c->communication_data_type));
  w->copy_per_element = (factor > 0 ? factor : 1) * bytes / w->s->rank->memory_bandwidth;
}

/* What copies for communication add to memory. If they come last, activations are gone, and gradients are there. Those
 * that close with the blocks are gone when the last gradient comes, that of an embedding. */
static void put_copies(struct walk *w, const struct sl_fast_stage *stage, int64_t numel,
                       struct sl_fast_reduction *out) {
  const struct sl_config *c = w->s->config;
  const struct sl_fast_ring_bytes bytes =
      sl_fast_ring_bytes(&w->ring, (double)sl_dtype_bytes(c->communication_data_type));
  const double gradients = stage->gradient > 0 ? 0 : (double)numel * (double)sl_dtype_bytes(c->grad_accum_dtype);
  out->live = w->last ? bytes.all + gradients : bytes.live;
  out->wire_before = w->last ? 0 : bytes.before;
  out->wire_after = w->last ? 0 : bytes.after;
  if (w->made == 0 || w->last) return;
  out->wire_before = bytes.under;
  out->wire_after = later(bytes.last, bytes.after - sl_fast_gradient_bytes(w->s, stage, -1));
}

void sl_fast_reduce(struct sl_fast_reduction *out, const struct sl_fast_setting *s, const struct sl_fast_stage *stage,
                    int64_t blocks, const struct sl_fast_backward *backward, int64_t numel, int64_t first_device) {
  enum { START_ALIGNMENT = 2, COLLECTIVES = 2 }; /* at least as many has a block's backward */
  const int64_t multiple = (int64_t)START_ALIGNMENT * s->dp;
  struct walk w = {.s = s,
                   .other = !backward->only,
                   .end = backward->end,
                   .end_hosted = backward->end_hosted,
                   .late = backward->late,
                   .hosted = -INFINITY,
                   .blocks = blocks,
                   .each = (backward->end - backward->bare) / (double)(COLLECTIVES * blocks),
                   .communicates = s->dp > 1,
                   .serial = !s->strategy.overlap && !s->pipeline,
                   .last = s->strategy.reduces_last,
                   .ring.size = s->strategy.overlap && !s->strategy.reduces_last ? SL_FAST_RING : 1};
  *out = (struct sl_fast_reduction){0};
  w.sharded = s->strategy.shard_optimizer;
  if (!w.other && s->strategy.gradients_by_tensor) w.made = sl_fast_gradient_bytes(s, stage, 0);
  w.whole = s->strategy.whole_later_stages && stage->place > SL_FAST_FIRST;
  for (int i = 0; i < stage->tensor_count; i++) w.tied += stage->tensor[i].tied ? stage->tensor[i].numel : 0;
  const int64_t rest = numel - w.tied;
  w.unit = numel;
  if (w.sharded) {
    w.tied = sl_round_up(w.tied, multiple);
    w.unit = w.tied + sl_round_up(rest, multiple);
  }
  w.padding = w.unit - w.tied - rest;
  w.part = (w.unit - w.tied) / s->dp;
  w.recast = s->config->grad_accum_dtype != s->config->communication_data_type;
  const bool scatters = w.sharded && !s->strategy.sums_whole;
  w.reduce = sl_fast_call_open(s, scatters ? SL_OP_REDUCE_SCATTER : SL_OP_ALL_REDUCE,
                               s->config->communication_data_type, first_device, s->tp, s->dp);
  w.sum = sl_fast_call_open(s, SL_OP_ALL_REDUCE, s->config->grad_accum_dtype, first_device, 1, s->tp);
  price_copy(&w);
  if (w.communicates && s->rank->kernel_costs.launch_blocking) w.call = s->rank->kernel_costs.host_collective;
  if (w.communicates && !w.serial) w.slow = sl_cost_lost_beside(s->rank, s->cluster, &w.reduce.link);
  walk_tensors(&w, stage, blocks);
  go_to(&w, backward->end, backward->end_hosted + w.host);
  out->held = w.at + w.held - w.bare;
  out->held_before = w.held_before;
  out->tied_over = w.tied_over;
  out->over = later(w.dp_lane, w.tp_lane);
  if (w.last) out->tied_over = out->over = w.at + later(w.dp_after, w.tp_after);
  out->buckets = w.ring.buckets;
  out->hidden = w.sums - w.last_sum + w.hidden;
  out->host = w.host;
  if (w.communicates && w.recast) put_copies(&w, stage, numel, out);
}
