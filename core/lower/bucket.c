/* Which gradients are reduced together, and the buffer in which they wait for that; see bucket.h. */
#include "core/lower/bucket.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/checked.h"
#include "core/lower/gradients.h"
#include "core/lower/lower.h"

/* What the backward of stage `local` contributes to each placed tensor. */
int *sl_bucket_contributions(const struct sl_lowering *l, int local) {
  return l->zero->reduce->contributions + (size_t)local * (size_t)l->pp_rank->tensor_count;
}

static void count_contributions(struct sl_lowering *l) {
  for (int c = 0; c < l->pp_rank->stage_count; c++) {
    const struct sl_drafts *drafts = &l->stages[c].backward;
    for (size_t i = 0; i < drafts->count; i++) {
      const struct sl_draft *d = &drafts->items[i];
      for (int k = 0; k < d->operand_count; k++) {
        if (d->operand[k].buffer < 0 && d->operand[k].gradient) sl_bucket_contributions(l, c)[d->operand[k].placed]++;
      }
    }
  }
}

/* When each gradient is computed: the first and the last draft of the backward that write it. Later stages come first,
 * in the order in which a micro-batch visits them. */
struct made {
  int first, last;
};

static void find_made(const struct sl_lowering *l, struct made *made) {
  int at = 0;
  for (int i = 0; i < l->pp_rank->tensor_count; i++) made[i].first = -1;
  for (int c = l->pp_rank->stage_count - 1; c >= 0; c--) {
    const struct sl_drafts *drafts = &l->stages[c].backward;
    for (size_t i = 0; i < drafts->count; i++, at++) {
      const struct sl_draft *d = &drafts->items[i];
      for (int k = 0; k < d->operand_count; k++) {
        if (d->operand[k].buffer >= 0 || !d->operand[k].gradient) continue;
        struct made *m = &made[d->operand[k].placed];
        if (m->first < 0) m->first = at;
        m->last = at;
      }
    }
  }
}

/* Is a gradient open for long: one with several contributions, or one that is a unit beside others of the same op (a
 * tied embedding's)? */
static bool stands_open(const struct sl_lowering *l, int placed) {
  int most = 0;
  for (int c = 0; c < l->pp_rank->stage_count; c++) most += sl_bucket_contributions(l, c)[placed];
  return most > 1 || l->pp_rank->tensors[placed].tied;
}

/* When any part of a unit is written first, and last. */
static struct made unit_made(const struct sl_unit *u, const struct made *made) {
  struct made out = {INT_MAX, -1};
  for (int i = u->first_tensor; i < u->first_tensor + u->tensor_count; i++) {
    if (made[i].first < out.first) out.first = made[i].first;
    if (made[i].last > out.last) out.last = made[i].last;
  }
  return out;
}

/* Finds units whose buckets cannot take turns in shared buffers: gradients that are open for long, and units of layers
 * that are begun before the units behind them are done (a root with the LM head in it). */
static void find_alone(const struct sl_lowering *l, const struct sl_layout *layout, const struct made *made) {
  const struct sl_pp_rank *s = l->pp_rank;
  bool *alone = l->zero->reduce->alone;
  int behind = -1; /* the last write of the units behind */
  if (l->plan->strategy.units != SL_UNITS_LAYER) {
    for (int i = layout->first_tensor; i < layout->first_tensor + layout->tensor_count; i++)
      alone[i] = stands_open(l, i);
    return;
  }
  for (int k = layout->first_unit + layout->unit_count - 1; k >= layout->first_unit; k--) {
    const struct sl_unit *u = &s->units[k];
    const struct made now = unit_made(u, made);
    for (int i = u->first_tensor; i < u->first_tensor + u->tensor_count; i++)
      alone[i] = now.first <= behind || s->tensors[i].shared || s->tensors[i].tied;
    if (now.first > behind) behind = now.last;
  }
}

/* May a bucket end with tensor i + 1 and the next one start with tensor i? They may share a buffer, so nothing of the
 * tensors up to i may be written before everything behind them is complete. That excludes a cut between a weight and
 * its bias if the weight's gradient comes first, and between two gradients of one op. Gradients with a bucket of their
 * own do not count. */
static void find_cuts(const struct sl_lowering *l, const struct sl_layout *layout, const struct made *made,
                      int *earliest, bool *cut) {
  const bool *alone = l->zero->reduce->alone;
  const int begin = layout->first_tensor, end = begin + layout->tensor_count;
  int latest = -1;
  for (int i = begin; i < end; i++) { /* the first write of anything up to i */
    earliest[i] = alone[i] ? INT_MAX : made[i].first;
    if (i > begin && earliest[i - 1] < earliest[i]) earliest[i] = earliest[i - 1];
  }
  for (int i = end - 1; i >= begin; i--) {
    cut[i] = earliest[i] > latest;
    if (!alone[i] && made[i].last > latest) latest = made[i].last;
  }
}

/* Where buckets may be cut: anywhere if the whole flat gradient exists. */
static enum sl_status plan_cuts(const struct sl_lowering *l, bool *cut) {
  const size_t count = (size_t)l->pp_rank->tensor_count;
  struct made *made = NULL;
  int *earliest = NULL;
  enum sl_status status = SL_OK;
  memset(cut, true, count * sizeof *cut);
  if (!sl_gradients_sharded(l)) return SL_OK;
  SL_GO(sl_calloc(&made, count, sizeof *made));
  SL_GO(sl_calloc(&earliest, count, sizeof *earliest));
  find_made(l, made);
  for (int g = 0; g < l->pp_rank->group_count; g++) {
    find_alone(l, &l->pp_rank->layouts[g], made);
    find_cuts(l, &l->pp_rank->layouts[g], made, earliest, cut);
  }
done:
  free(made);
  free(earliest);
  return status;
}

/* Must placed tensor `i` be reduced separately from the `count` elements behind it in one call, which is or is not the
 * group's `first`? `run` elements from i on cannot be cut. */
static bool starts_call(const struct sl_lowering *l, int i, int64_t count, int64_t run, bool first) {
  const struct sl_strategy *s = &l->plan->strategy;
  const struct sl_placed *t = l->pp_rank->tensors;
  /* a bucket belongs to one stage; an embedding that is tied across stages is a bucket of its own, since its gradient
   * is complete at another time */
  if (sl_sparse_holds(l, i) != sl_sparse_holds(l, i + 1)) return true;
  if (t[i].stage != t[i + 1].stage || t[i].tied != t[i + 1].tied || t[i].shared != t[i + 1].shared) return true;
  if (s->units == SL_UNITS_LAYER || s->units == SL_UNITS_BUCKET) return t[i].unit != t[i + 1].unit;
  const int64_t limit = sl_plan_bucket_limit(l->plan, l->pp_rank, i + 1, first);
  return s->closes_after ? count >= limit : count + run > limit;
}

/* Does a new bucket start with placed tensor `i`, coming from the end of the model? */
static bool starts_bucket(const struct sl_lowering *l, const struct sl_bucket *open, int i, int64_t run, bool first) {
  const enum sl_units units = l->plan->strategy.units;
  if (starts_call(l, i, open->count, run, first)) return true;
  if (units == SL_UNITS_LAYER || units == SL_UNITS_BUCKET) return false;
  return sl_gradients_sharded(l) && (open->alone || l->zero->reduce->alone[i]);
}

/* The first bucket of the model, where the gradient of an embedding with a tied head is alone, fills a bucket of
 * DeepSpeed's together with the one before it: although separate in memory, they are reduced in one call. Elsewhere the
 * one before would hold up the buffers in which later ones take turns. `count`: buckets of the group. */
static void join_last(const struct sl_lowering *l, int count) {
  const struct sl_reduce *r = l->zero->reduce;
  if (!sl_gradients_sharded(l) || count < 2) return;
  struct sl_bucket *b = &r->buckets[r->bucket_count - 1];
  b->joins = !starts_call(l, b->last, b[-1].count, b->count, false);
}

/* The first of the tensors up to `last` that cannot be cut from it. `behind` is that of the tensor behind `last`: if it
 * lies before `last`, it is the same one. */
static int uncut_from(const struct sl_lowering *l, const struct sl_layout *layout, const bool *cut, int last,
                      int behind) {
  if (behind < last) return behind;
  while (last > layout->first_tensor && !cut[last - 1] && !l->zero->reduce->alone[last - 1]) last--;
  return last;
}

static struct sl_bucket *open_bucket(const struct sl_lowering *l, const struct sl_layout *layout, int last) {
  struct sl_reduce *r = l->zero->reduce;
  struct sl_bucket *b = &r->buckets[r->bucket_count++];
  *b = (struct sl_bucket){.group = (int)(layout - l->pp_rank->layouts), .last = last, .buffer = -1};
  return b;
}

/* A group's buckets fill in reverse model order, in which the backward computes gradients; what cannot be cut stays
 * together, even beyond the limit. */
static void fill_buckets(const struct sl_lowering *l, const struct sl_layout *layout, const bool *cut) {
  struct sl_reduce *r = l->zero->reduce;
  const struct sl_placed *t = l->pp_rank->tensors;
  const int before = r->bucket_count;
  struct sl_bucket *open = NULL;
  int64_t end = layout->first + layout->padded;
  int uncut = layout->first_tensor + layout->tensor_count;
  for (int i = layout->first_tensor + layout->tensor_count - 1; i >= layout->first_tensor; i--) {
    uncut = uncut_from(l, layout, cut, i, uncut);
    const int64_t run = end - t[uncut].flat;
    if (open == NULL || (cut[i] && starts_bucket(l, open, i, run, r->bucket_count - before <= 1)))
      open = open_bucket(l, layout, i);
    open->first = i;
    open->alone |= sl_gradients_sharded(l) && r->alone[i];
    open->lo = t[i].flat;
    open->count += end - open->lo; /* padding belongs to the tensor before it */
    r->bucket_of[i] = r->bucket_count - 1;
    end = t[i].flat;
  }
  join_last(l, r->bucket_count - before);
}

static enum sl_status plan_buckets(struct sl_lowering *l) {
  struct sl_reduce *r = l->zero->reduce;
  const size_t count = (size_t)l->pp_rank->tensor_count;
  bool *cut = NULL;
  enum sl_status status;
  SL_GO(sl_calloc(&r->buckets, count, sizeof *r->buckets));
  SL_GO(sl_calloc(&r->bucket_of, count, sizeof *r->bucket_of));
  SL_GO(sl_calloc(&cut, count, sizeof *cut));
  SL_GO(plan_cuts(l, cut));
  for (int g = 0; g < l->pp_rank->group_count; g++) fill_buckets(l, &l->pp_rank->layouts[g], cut);
done:
  free(cut);
  return status;
}

/* The buffers of DeepSpeed's buckets stand beside whole gradients for as long as a backward takes
 * (zero/stage_1_and_2.py, setup_buckets and _release_ipg_buffers), in its pipelines while gradients are reduced
 * (reduce_gradients). */
enum sl_status sl_bucket_open(struct sl_lowering *l) {
  const struct sl_strategy *s = &l->plan->strategy;
  if (!s->whole_buckets || s->shard_grads) return SL_OK;
  return sl_build_buffer(l, &l->homes->beside, SL_SCOPE_MICRO, SL_CATEGORY_COMMUNICATION, l->dtype,
                         sl_product(l->plan->config->zero.reduce_bucket_size, s->overlap ? 2 : 1), "bucket.beside");
}

enum sl_status sl_bucket_hold(struct sl_lowering *l, struct sl_program *p, bool begin) {
  struct sl_op op = sl_zero_op(SL_OP_PASS, SL_U8, SL_PHASE_BACKWARD, 0); /* which takes no time */
  if (l->homes->beside < 0) return SL_OK;
  op.flags = begin ? SL_OP_KEEPS : SL_OP_READS_KEPT;
  return SL_BUILD_EMIT(p, op, begin ? sl_build_write(l, l->homes->beside) : sl_build_read(l, l->homes->beside));
}

enum { RING = 2 };

/* DeepSpeed allocates reduce_bucket_size elements even for a small model; we allocate what the buckets can fill. The
 * second of two stands unused if there is a single bucket. ZeRO-3 has one: what would fill our second waits beside it,
 * and so does a gradient that is larger than a bucket. The cast of a bucket of whole gradients is as large as that. */
static void fill_up(const struct sl_lowering *l, int ring, int64_t *largest) {
  const int64_t limit = l->plan->config->zero.reduce_bucket_size;
  if (!l->plan->strategy.whole_buckets || !sl_gradients_sharded(l) || largest[0] == 0) return;
  if (l->plan->strategy.units == SL_UNITS_PARAMETER) ring = 1;
  const bool single = ring > 1 && largest[1] == 0;
  for (int i = 0; i < ring; i++)
    if (largest[i] > 0 && largest[i] < limit) largest[i] = limit;
  if (single) largest[0] += limit;
}

/* Buffers of the buckets that are not reduced in place: one, or with overlap two, so that one fills while the other is
 * in flight, as DeepSpeed's ipg_buffer. What is reduced when the backward is over overlaps with nothing. Whole gradients
 * are in such a buffer only from their cast to their copy back, in one backward of a step; it stays for the next, except
 * where all casts come one after the other: a framework allocates each anew, ahead of the device. FSDP2's in a pipeline
 * stays for good (plan/strategy.h, reduces_apart). */
static enum sl_status rotating_buffers(struct sl_lowering *l, int group) {
  struct sl_reduce *r = l->zero->reduce;
  const int ring = l->plan->strategy.overlap && !l->plan->strategy.reduces_last ? RING : 1;
  const bool renewed = sl_gradients_sharded(l) || l->plan->strategy.reduces_last;
  const bool stays = l->plan->strategy.reduces_apart && l->plan->strategy.reduces_last;
  const enum sl_scope scope = stays ? SL_SCOPE_PERSISTENT : renewed ? SL_SCOPE_MICRO : SL_SCOPE_PROGRAM;
  int64_t largest[RING] = {0};
  int32_t rotating[RING] = {-1, -1};
  int turn = 0;
  for (int i = 0; i < r->bucket_count; i++) {
    struct sl_bucket *b = &r->buckets[i];
    if (b->group != group || b->alone) continue;
    b->turn = turn++ % ring;
    if (b->count > largest[b->turn]) largest[b->turn] = b->count;
  }
  fill_up(l, ring, largest);
  const int64_t limit = l->plan->config->zero.reduce_bucket_size;
  const bool from_start = l->plan->strategy.whole_buckets && l->plan->strategy.units == SL_UNITS_PARAMETER;
  const bool beside = from_start && largest[0] > limit;
  int32_t unused;
  if (beside)
    SL_TRY(sl_build_buffer(l, &unused, SL_SCOPE_PERSISTENT, SL_CATEGORY_COMMUNICATION, sl_gradients_bucket_dtype(l),
                           limit, "bucket.beside"));
  for (int i = 0; i < ring && largest[i] > 0; i++) {
    SL_TRY(sl_build_buffer(l, &rotating[i], from_start && i == 0 && !beside ? SL_SCOPE_PERSISTENT : scope,
                           SL_CATEGORY_COMMUNICATION, sl_gradients_bucket_dtype(l), largest[i], "bucket.%d",
                           group * RING + i));
  }
  for (int i = 0; i < r->bucket_count; i++) {
    struct sl_bucket *b = &r->buckets[i];
    if (b->group == group && !b->alone) b->buffer = rotating[b->turn];
  }
  return SL_OK;
}

/* Buffers of the buckets that share none. */
static enum sl_status own_buffers(struct sl_lowering *l, int group) {
  struct sl_reduce *r = l->zero->reduce;
  for (int i = 0; i < r->bucket_count; i++) {
    struct sl_bucket *b = &r->buckets[i];
    if (b->group != group || !b->alone) continue;
    const char *name = l->plan->model->tensors[l->pp_rank->tensors[b->first].tensor].name;
    SL_TRY(sl_build_buffer(l, &b->buffer, SL_SCOPE_MICRO, SL_CATEGORY_COMMUNICATION, sl_gradients_bucket_dtype(l),
                           b->count, "bucket.%s", name));
  }
  return SL_OK;
}

/* Buffers of the buckets of DDP's reducer, which stand beside the gradients from its construction on. */
static enum sl_status standing_buffers(struct sl_lowering *l, int group) {
  struct sl_reduce *r = l->zero->reduce;
  for (int i = 0; i < r->bucket_count; i++) {
    struct sl_bucket *b = &r->buckets[i];
    if (b->group != group) continue;
    SL_TRY(sl_build_buffer(l, &b->buffer, SL_SCOPE_PERSISTENT, SL_CATEGORY_COMMUNICATION, l->wire, b->count,
                           "bucket.%d", i));
  }
  return SL_OK;
}

enum sl_status sl_bucket_plan(struct sl_lowering *l) {
  count_contributions(l);
  SL_TRY(plan_buckets(l));
  for (int g = 0; g < l->pp_rank->group_count; g++) {
    if (!sl_gradients_sharded(l) && !sl_gradients_in_buckets(l, &l->pp_rank->layouts[g])) continue;
    if (l->plan->strategy.copies_to_buckets) {
      SL_TRY(standing_buffers(l, g));
      continue;
    }
    SL_TRY(rotating_buffers(l, g));
    SL_TRY(own_buffers(l, g));
  }
  return SL_OK;
}
