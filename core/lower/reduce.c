/* Gradients on their way from the kernels to the optimizer: where they are kept, how they are bucketed, when and how a bucket
 * is reduced.
 *
 * Three element types may differ: what kernels write (the parameters' type), what micro-batches accumulate in
 * (grad_accum_dtype), what travels (communication_data_type). Where they are equal, kernels write in place and nothing is
 * copied; where not, a conversion is an op of the program, and so is the addition of what a kernel can only overwrite.
 *
 *   whole gradients    kernels -> flat buffer (accumulate type) -> [bucket in the wire's type -> back] -> reduced
 *   sharded gradients  kernels -> bucket (wire's type) -> own part (wire's type) -> [own part, accumulate type]
 *
 * The optimizer so reads the accumulate type whatever travelled, as in DeepSpeed: its allreduce_bucket copies the sum back
 * into the tensor that it was cast from. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/lower/lower.h"

/* A run of the flat gradient in one stretch of memory, that one call reduces, alone or with the bucket before it: placed
 * tensors first..last. */
struct bucket {
  int first, last;
  int64_t lo, count; /* elements of the flat space, padding included */
  bool alone;        /* stands open while others come and go, so it has a buffer of its own */
  int turn;          /* which of the rotating bucket buffers */
  int32_t buffer;    /* -1: reduced in place */
  bool joins;        /* reduced by the call of the bucket before it in the array; see join_last */
  int ready;         /* tensors complete, in the backward being lowered */
  bool launched;     /* in the backward being lowered */
};

struct sl_reduce {
  struct bucket *buckets;
  int bucket_count;
  int *bucket_of;      /* of each placed tensor */
  bool *alone;         /* of each placed tensor: its bucket shares no buffer; see find_alone */
  int *contributions;  /* per stage and placed tensor: gradient operands in one backward of the stage */
  int *seen;           /* per placed tensor: of those, how many the present backward has had */
  int32_t flat;        /* whole gradients, -1 when sharded */
  int32_t arrived;     /* own part in the wire's type, where that differs from the accumulate type; -1 none */
  struct sl_pass pass; /* the present backward */
  size_t last_launch;  /* the last reduction's op, 0 = none */
  int32_t temporary[SL_MAX_OPERANDS]; /* of the present draft: what its kernel writes, -1 = in place */
};

static bool sharded(const struct sl_lowering *l) {
  return l->plan->strategy.shard_grads;
}

/* Does a call reduce the gradients at all? A shard is filled by its reduction even where it is the whole. */
static bool travels(const struct sl_lowering *l) {
  return l->plan->dp > 1 || sharded(l);
}

/* Whole gradients that travel in another type than they are kept in go through bucket buffers too. */
static bool recast(const struct sl_lowering *l) {
  return l->accumulate != l->wire && travels(l);
}

/* Reduced own parts do not arrive where they are kept: another type, or host memory. */
static bool passes_through(const struct sl_lowering *l) {
  return recast(l) || (sharded(l) && l->plan->strategy.offload_optimizer);
}

/* Only own parts of the whole gradient are reduced: what reads it looks there. */
static bool owned_in_flat(const struct sl_lowering *l) {
  return !sharded(l) && l->plan->strategy.shard_optimizer && l->plan->strategy.units != SL_UNITS_OWNER;
}

enum sl_status sl_reduce_open(struct sl_lowering *l) {
  const struct sl_strategy *s = &l->plan->strategy;
  const size_t n = (size_t)l->pp_rank->tensor_count;
  const enum sl_scope scope = l->options->save_grads ? SL_SCOPE_PERSISTENT : SL_SCOPE_PROGRAM;
  struct sl_reduce *r;
  SL_TRY(sl_calloc(&r, 1, sizeof *r));
  l->zero->reduce = r;
  SL_TRY(sl_calloc(&r->alone, n, sizeof(bool)));
  SL_TRY(sl_calloc(&r->contributions, n * (size_t)l->pp_rank->stage_count, sizeof(int)));
  SL_TRY(sl_calloc(&r->seen, n, sizeof(int)));
  r->flat = r->arrived = -1;
  if (sharded(l)) {
    SL_TRY(sl_zero_state(l, SL_ROLE_GRAD, SL_FORM_SHARD, scope, SL_CATEGORY_GRADIENT, l->accumulate, "grad.shard"));
    if (s->offload_optimizer) sl_build_move(l, l->rank_class->role[SL_ROLE_GRAD].buffer, SL_SPACE_HOST);
  } else {
    SL_TRY(sl_zero_state(l, SL_ROLE_GRAD, owned_in_flat(l) ? SL_FORM_SHARD_IN_FLAT : SL_FORM_WHOLE, scope,
                         SL_CATEGORY_GRADIENT, l->accumulate, "grad"));
    r->flat = l->rank_class->role[SL_ROLE_GRAD].buffer;
  }
  if (!passes_through(l) || (!sharded(l) && !owned_in_flat(l))) return SL_OK;
  return sl_build_buffer(l, &r->arrived, SL_SCOPE_MICRO, SL_CATEGORY_COMMUNICATION, l->wire,
                         l->pp_rank->layout.shard_numel, "grad.arrived");
}

void sl_reduce_close(struct sl_lowering *l) {
  struct sl_reduce *r = l->zero->reduce;
  if (r == NULL) return;
  free(r->buckets);
  free(r->bucket_of);
  free(r->alone);
  free(r->contributions);
  free(r->seen);
  free(r);
  l->zero->reduce = NULL;
}

/* ---- buckets ---- */

/* What the backward of stage `local` contributes to each placed tensor. */
static int *contributions(const struct sl_lowering *l, int local) {
  return l->zero->reduce->contributions + (size_t)local * (size_t)l->pp_rank->tensor_count;
}

/* Of the stage at hand. */
static int expected(const struct sl_lowering *l, int placed) {
  return contributions(l, (int)(l->stage - l->stages))[placed];
}

static bool shared(const struct sl_lowering *l, int placed) {
  return l->pp_rank->tensors[placed].shared;
}

static void count_contributions(struct sl_lowering *l) {
  for (int c = 0; c < l->pp_rank->stage_count; c++) {
    const struct sl_drafts *drafts = &l->stages[c].backward;
    for (size_t i = 0; i < drafts->count; i++) {
      const struct sl_draft *d = &drafts->items[i];
      for (int k = 0; k < d->operand_count; k++) {
        if (d->operand[k].buffer < 0 && d->operand[k].gradient) contributions(l, c)[d->operand[k].placed]++;
      }
    }
  }
}

/* When each gradient is made: drafts of the backward that write it first and last. Later stages come first, as a micro-batch
 * goes through them. */
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

/* Whose buckets cannot take turns in shared buffers: a gradient with several contributions, or one that is a unit beside others
 * of the same op (a tied embedding's), and a unit of layers that is begun before the units behind it are done (a root with
 * the head in it). */
static void find_alone(const struct sl_lowering *l, const struct made *made) {
  const struct sl_layout *layout = &l->pp_rank->layout;
  struct sl_reduce *r = l->zero->reduce;
  int behind = -1; /* the last write of the units behind */
  if (l->plan->strategy.units != SL_UNITS_LAYER) {
    for (int i = 0; i < l->pp_rank->tensor_count; i++) {
      int most = 0;
      for (int c = 0; c < l->pp_rank->stage_count; c++) most += contributions(l, c)[i];
      r->alone[i] = most > 1 || l->pp_rank->tensors[i].tied;
    }
    return;
  }
  for (int k = layout->unit_count - 1; k >= 0; k--) {
    const int begin = layout->units[k].first_tensor, end = begin + layout->units[k].tensor_count;
    int first = INT_MAX, last = -1;
    for (int i = begin; i < end; i++) {
      if (made[i].first < first) first = made[i].first;
      if (made[i].last > last) last = made[i].last;
    }
    for (int i = begin; i < end; i++) r->alone[i] = first <= behind || shared(l, i) || l->pp_rank->tensors[i].tied;
    if (first > behind) behind = last;
  }
}

static bool any_alone(const struct sl_lowering *l, int first, int last) {
  for (int i = first; i <= last; i++) {
    if (l->zero->reduce->alone[i]) return true;
  }
  return false;
}

/* May a bucket end with tensor i + 1 and the next one start with tensor i? They may share a buffer, so nothing of the
 * tensors up to i may be written before everything behind them is: not between a weight and its bias where the weight's
 * gradient comes first, nor between two gradients of one op. Gradients with a bucket of their own do not count. */
static void find_cuts(const struct sl_lowering *l, const struct made *made, int count, int *earliest, bool *cut) {
  int latest = -1;
  for (int i = 0; i < count; i++) { /* the first write of anything up to i */
    earliest[i] = l->zero->reduce->alone[i] ? INT_MAX : made[i].first;
    if (i > 0 && earliest[i - 1] < earliest[i]) earliest[i] = earliest[i - 1];
  }
  for (int i = count - 1; i >= 0; i--) {
    cut[i] = earliest[i] > latest;
    if (!l->zero->reduce->alone[i] && made[i].last > latest) latest = made[i].last;
  }
}

/* Where buckets may be cut: anywhere, while the whole flat gradient stands. */
static enum sl_status plan_cuts(const struct sl_lowering *l, bool *cut) {
  const size_t count = (size_t)l->pp_rank->tensor_count;
  struct made *made = NULL;
  int *earliest = NULL;
  enum sl_status status = SL_OK;
  memset(cut, true, count * sizeof *cut);
  if (!sharded(l)) return SL_OK;
  SL_GO(sl_calloc(&made, count, sizeof *made));
  SL_GO(sl_calloc(&earliest, count, sizeof *earliest));
  find_made(l, made);
  find_alone(l, made);
  find_cuts(l, made, (int)count, earliest, cut);
fail:
  free(made);
  free(earliest);
  return status;
}

/* Must placed tensor `i` be reduced apart from what stands behind it, `count` elements of one call? `run` elements from i on
 * cannot be cut. */
static bool starts_call(const struct sl_lowering *l, int i, int64_t count, int64_t run) {
  const struct sl_strategy *s = &l->plan->strategy;
  const struct sl_placed *t = l->pp_rank->tensors;
  /* a bucket is one stage's, and an embedding tied across stages, whose gradient is complete at a time of its own, is one */
  if (t[i].stage != t[i + 1].stage || t[i].tied != t[i + 1].tied || t[i].shared != t[i + 1].shared) return true;
  if (s->units == SL_UNITS_LAYER || s->units == SL_UNITS_BUCKET) return t[i].unit != t[i + 1].unit;
  const int64_t limit = sl_plan_bucket_limit(l->plan, l->pp_rank, i + 1, l->zero->reduce->bucket_count <= 1);
  return s->closes_after ? count >= limit : count + run > limit;
}

/* Does a new bucket start with placed tensor `i`, coming from the end of the model? */
static bool starts_bucket(const struct sl_lowering *l, const struct bucket *open, int i, int64_t run) {
  const enum sl_units units = l->plan->strategy.units;
  if (open == NULL || starts_call(l, i, open->count, run)) return true;
  return sharded(l) && units != SL_UNITS_LAYER && units != SL_UNITS_BUCKET && any_alone(l, i, open->last);
}

/* The first bucket of the model, where the gradient of an embedding with a tied head stands alone, fills a bucket of
 * DeepSpeed's together with the one before it: what is apart in memory is one call all the same. Not so elsewhere, where
 * the one before would hold up the buffers that later ones take turns in. */
static void join_last(const struct sl_lowering *l) {
  const struct sl_reduce *r = l->zero->reduce;
  if (!sharded(l) || r->bucket_count < 2) return;
  struct bucket *b = &r->buckets[r->bucket_count - 1];
  b->joins = !starts_call(l, b->last, b[-1].count, b->count);
}

/* Buckets fill against model order, the order in which backward makes gradients; what cannot be cut goes together, even past
 * the limit. */
static void fill_buckets(const struct sl_lowering *l, const bool *cut) {
  struct sl_reduce *r = l->zero->reduce;
  const struct sl_pp_rank *s = l->pp_rank;
  struct bucket *open = NULL;
  int64_t end = s->layout.padded;
  for (int i = s->tensor_count - 1; i >= 0; i--) {
    int last = i; /* of the run that cannot be cut */
    while (last > 0 && !cut[last - 1] && !r->alone[last - 1]) last--;
    if (open == NULL || (cut[i] && starts_bucket(l, open, i, end - s->tensors[last].flat))) {
      open = &r->buckets[r->bucket_count++];
      *open = (struct bucket){.last = i, .buffer = -1};
    }
    open->first = i;
    open->lo = s->tensors[i].flat;
    open->count += end - open->lo; /* padding goes with the tensor before it */
    r->bucket_of[i] = r->bucket_count - 1;
    end = s->tensors[i].flat;
  }
  for (int i = 0; i < r->bucket_count; i++) {
    struct bucket *b = &r->buckets[i];
    b->alone = sharded(l) && any_alone(l, b->first, b->last);
  }
  join_last(l);
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
  fill_buckets(l, cut);
fail:
  free(cut);
  return status;
}

/* Buffers of the buckets that are not reduced in place: one, or with overlap two, so that one fills while the other is on its
 * way, as DeepSpeed's ipg_buffer. DeepSpeed allocates reduce_bucket_size elements even for a small model, we what the
 * buckets can fill. A recast all_reduce is copied back when backward is over, so each of its buckets has its own. */
static enum sl_status bucket_buffers(struct sl_lowering *l) {
  struct sl_reduce *r = l->zero->reduce;
  const int ring = l->plan->strategy.overlap ? 2 : 1;
  const bool copied_back = !sharded(l) && !owned_in_flat(l);
  int64_t largest[2] = {0};
  int32_t rotating[2] = {-1, -1};
  int turn = 0;
  for (int i = 0; i < r->bucket_count; i++) {
    struct bucket *b = &r->buckets[i];
    b->alone |= copied_back;
    if (b->alone) continue;
    b->turn = turn++ % ring;
    if (b->count > largest[b->turn]) largest[b->turn] = b->count;
  }
  for (int i = 0; i < ring && largest[i] > 0; i++) {
    SL_TRY(sl_build_buffer(l, &rotating[i], SL_SCOPE_MICRO, SL_CATEGORY_COMMUNICATION, l->wire, largest[i], "bucket.%d",
                           i));
  }
  for (int i = 0; i < r->bucket_count; i++) {
    struct bucket *b = &r->buckets[i];
    b->buffer = b->alone ? -1 : rotating[b->turn];
    if (!b->alone) continue;
    const char *name = l->plan->model->tensors[l->pp_rank->tensors[b->first].tensor].name;
    SL_TRY(sl_build_buffer(l, &b->buffer, SL_SCOPE_MICRO, SL_CATEGORY_COMMUNICATION, l->wire, b->count, "bucket.%s",
                           name));
  }
  return SL_OK;
}

enum sl_status sl_reduce_begin(struct sl_lowering *l, struct sl_pass pass) {
  struct sl_reduce *r = l->zero->reduce;
  if (r->buckets == NULL) {
    count_contributions(l);
    SL_TRY(plan_buckets(l));
    if (sharded(l) || recast(l)) SL_TRY(bucket_buffers(l));
  }
  for (int i = 0; i < l->pp_rank->tensor_count; i++) r->seen[i] = 0;
  for (int i = 0; i < r->bucket_count; i++) {
    r->buckets[i].ready = 0;
    r->buckets[i].launched = false;
  }
  r->pass = pass;
  r->last_launch = 0;
  return SL_OK;
}

/* Has an earlier backward of the step left something of this gradient? */
static bool kept(const struct sl_lowering *l, int placed) {
  const struct sl_pass *pass = &l->zero->reduce->pass;
  return shared(l, placed) ? !pass->tied_first : !pass->first;
}

/* Is the gradient to be reduced in the present backward, once it is complete? Sharded ones always: there is nowhere to keep
 * them whole. */
static bool reduces(const struct sl_lowering *l, int placed) {
  const struct sl_pass *pass = &l->zero->reduce->pass;
  return sharded(l) || (shared(l, placed) ? pass->tied_last : pass->last);
}

/* ---- binding ---- */

/* Where the gradient of `placed` goes: a run of the flat buffer or of its bucket. */
static struct sl_operand target_of(const struct sl_lowering *l, int placed, enum sl_access access) {
  const struct sl_reduce *r = l->zero->reduce;
  const struct sl_placed *t = &l->pp_rank->tensors[placed];
  const struct bucket *b = &r->buckets[r->bucket_of[placed]];
  if (sharded(l)) return sl_build_part(l, b->buffer, access, t->flat - b->lo, t->numel);
  return sl_build_part(l, r->flat, access, t->flat, t->numel);
}

/* Is something there to add to: an earlier contribution, or an earlier micro-batch in the whole gradient? */
static bool adds(const struct sl_lowering *l, int placed) {
  const struct sl_reduce *r = l->zero->reduce;
  return r->seen[placed] > 0 || (kept(l, placed) && !sharded(l));
}

/* Does the kernel write operand `i`, a gradient, to where it is kept? That must be of the kernel's type; and a product's
 * epilogue overwrites, so what it makes is added by an op of its own. */
static bool in_place(const struct sl_lowering *l, const struct sl_draft *d, int i) {
  const enum sl_dtype kept = sharded(l) ? l->wire : l->accumulate;
  const bool overwrites = d->op.kind == SL_OP_GEMM && i == sl_gemm_operands(&d->op).dbias;
  return kept == l->dtype && !(overwrites && adds(l, d->operand[i].placed));
}

enum sl_status sl_reduce_bind(struct sl_lowering *l, struct sl_draft *d) {
  struct sl_reduce *r = l->zero->reduce;
  for (int i = 0; i < d->operand_count; i++) {
    struct sl_operand *o = &d->operand[i];
    r->temporary[i] = -1;
    if (o->buffer >= 0 || !o->gradient) continue;
    if (in_place(l, d, i)) {
      *o = target_of(l, o->placed, adds(l, o->placed) ? SL_READ_WRITE : SL_WRITE);
      continue;
    }
    const char *name = l->plan->model->tensors[l->pp_rank->tensors[o->placed].tensor].name;
    SL_TRY(sl_build_buffer(l, &r->temporary[i], SL_SCOPE_MICRO, SL_CATEGORY_GRADIENT, l->dtype,
                           l->pp_rank->tensors[o->placed].numel, "d.%s", name));
    *o = sl_build_write(l, r->temporary[i]);
  }
  return SL_OK;
}

/* ---- reduction ---- */

/* Padding takes part in a reduce_scatter and in the norm, so it must be zero; nothing ever writes it but this. */
static enum sl_status clear_padding(struct sl_lowering *l, struct sl_program *p, const struct bucket *b) {
  const struct sl_pp_rank *s = l->pp_rank;
  const int32_t buffer = sharded(l) ? b->buffer : l->zero->reduce->flat;
  const int64_t base = sharded(l) ? b->lo : 0;
  int64_t end = b->lo + b->count;
  for (int i = b->last; i >= b->first; i--) {
    const int64_t data_end = s->tensors[i].flat + s->tensors[i].numel;
    if (end > data_end) {
      SL_TRY(SL_BUILD_EMIT(
          p, sl_zero_op(SL_OP_FILL, l->rank_class->buffers[buffer].dtype, SL_PHASE_BACKWARD, end - data_end),
          sl_build_part(l, buffer, SL_WRITE, data_end - base, end - data_end)));
    }
    end = s->tensors[i].flat;
  }
  return SL_OK;
}

/* The bucket as it travels. */
static struct sl_operand travelling(const struct sl_lowering *l, const struct bucket *b) {
  if (b->buffer >= 0) return sl_build_part(l, b->buffer, SL_READ_WRITE, 0, b->count);
  return sl_build_part(l, l->zero->reduce->flat, SL_READ_WRITE, b->lo, b->count);
}

/* Where the own parts arrive: a shard buffer, or (-1) in place in the flat gradient. */
static int32_t arrival(const struct sl_lowering *l) {
  if (l->zero->reduce->arrived >= 0) return l->zero->reduce->arrived;
  return sharded(l) ? l->rank_class->role[SL_ROLE_GRAD].buffer : -1;
}

/* Own parts of an earlier micro-batch are in the shard they arrive in. */
static enum sl_access arrival_access(const struct sl_lowering *l, const struct bucket *b) {
  return kept(l, b->first) && sharded(l) && l->zero->reduce->arrived < 0 ? SL_READ_WRITE : SL_WRITE;
}

/* Where this member's part of unit `u` arrives, of bucket `b` of it. */
static struct sl_operand arriving(const struct sl_lowering *l, const struct bucket *b, const struct sl_unit *u) {
  const int32_t shard = arrival(l);
  return shard >= 0 ? sl_build_part(l, shard, arrival_access(l, b), u->shard_offset, u->part)
                    : sl_zero_own(l, l->zero->reduce->flat, SL_WRITE, u->first, u->part);
}

/* A flat partition: the call's buckets are a range of their unit and go to the owners of that range. */
static enum sl_status reduce_range(struct sl_lowering *l, struct sl_program *p, const struct bucket *call, int buckets,
                                   struct sl_op op) {
  const struct sl_unit *u = &l->pp_rank->layout.units[l->pp_rank->tensors[call->first].unit];
  int n = 0;
  op.flags |= SL_OP_SHARE_RANGE;
  op.dim[1] = call[buckets - 1].lo - u->first;
  op.dim[2] = op.dim[1] + op.dim[0];
  op.dim[3] = u->part;
  for (const struct bucket *b = call + buckets - 1; b >= call; b--) { /* as they stand in the flat space */
    l->zero->wide[n++] = travelling(l, b);
    l->zero->wide[n++] = arriving(l, b, u);
  }
  return sl_build_emit(p, op, n, l->zero->wide);
}

/* Units that are split on their own: one coalesced call. */
static enum sl_status reduce_units(struct sl_lowering *l, struct sl_program *p, const struct bucket *call, int buckets,
                                   struct sl_op op) {
  const struct sl_pp_rank *s = l->pp_rank;
  int n = 0;
  for (const struct bucket *b = call; b < call + buckets; b++) {
    for (int k = s->tensors[b->last].unit; k >= s->tensors[b->first].unit; k--) {
      const struct sl_unit *u = &s->layout.units[k];
      struct sl_operand whole = travelling(l, b);
      whole.slice.offset += (u->first - b->lo) * sl_dtype_bytes(l->wire);
      whole.slice.bytes = u->part * s->layout.members * sl_dtype_bytes(l->wire);
      l->zero->wide[n++] = whole;
      l->zero->wide[n++] = arriving(l, b, u);
    }
  }
  return sl_build_emit(p, op, n, l->zero->wide);
}

/* Sequence parallel: what a member made of its own tokens is summed over the tp group, as Megatron-LM's
 * finalize_model_grads does, in one coalesced call a bucket. */
static enum sl_status sum_partial(struct sl_lowering *l, struct sl_program *p, const struct bucket *b) {
  const enum sl_dtype type = sharded(l) ? l->wire : l->accumulate;
  struct sl_op op =
      sl_zero_collective(l, SL_OP_ALL_REDUCE, SL_GROUP_TP, type, SL_PHASE_BACKWARD, SL_PAYLOAD_GRADIENT, 0);
  int n = 0;
  for (int i = b->last; i >= b->first; i--) {
    if (!l->pp_rank->tensors[i].partial) continue;
    l->zero->wide[n++] = target_of(l, i, SL_READ_WRITE);
    op.dim[0] += l->pp_rank->tensors[i].numel;
  }
  return n > 0 ? sl_build_emit(p, op, n, l->zero->wide) : SL_OK;
}

/* What a bucket's call needs before: sums over the tp group, zeros in the padding, the type of the wire. */
static enum sl_status prepare(struct sl_lowering *l, struct sl_program *p, const struct bucket *b, bool whole) {
  SL_TRY(sum_partial(l, p, b));
  if (!travels(l)) return SL_OK;
  if (!whole) SL_TRY(clear_padding(l, p, b));
  if (!recast(l) || sharded(l)) return SL_OK;
  return sl_zero_convert(l, p, sl_build_part(l, l->zero->reduce->flat, SL_READ, b->lo, b->count),
                         sl_build_part(l, b->buffer, SL_WRITE, 0, b->count), b->count, false);
}

/* Reduce call[0 .. buckets) at once. */
static enum sl_status launch(struct sl_lowering *l, struct sl_program *p, struct bucket *call, int buckets) {
  const struct sl_strategy *s = &l->plan->strategy;
  const bool whole = !s->shard_optimizer || s->units == SL_UNITS_OWNER;
  /* over dp, not shard, where those are the same ranks: a communicator of its own does not queue behind the gathers */
  const enum sl_group group = whole || l->plan->shard == l->plan->dp ? SL_GROUP_DP : SL_GROUP_SHARD;
  int64_t count = 0;
  for (struct bucket *b = call; b < call + buckets; b++) {
    SL_TRY(prepare(l, p, b, whole));
    b->launched = travels(l);
    count += b->count;
  }
  if (!travels(l)) return SL_OK;
  struct sl_op op = sl_zero_collective(l, whole ? SL_OP_ALL_REDUCE : SL_OP_REDUCE_SCATTER, group, l->wire,
                                       SL_PHASE_BACKWARD, SL_PAYLOAD_GRADIENT, count);
  if (whole) return SL_BUILD_EMIT(p, op, travelling(l, call));
  op.place_group = arrival(l) < 0 ? SL_GROUP_SHARD : SL_GROUP_NONE;
  return s->units == SL_UNITS_FLAT ? reduce_range(l, p, call, buckets, op) : reduce_units(l, p, call, buckets, op);
}

static bool complete(const struct bucket *b) {
  return b->ready == b->last - b->first + 1;
}

/* A tensor of bucket `b` is complete: reduce what its call reduces if all of that is. */
static enum sl_status launch_if_complete(struct sl_lowering *l, struct sl_program *p, struct bucket *b) {
  struct sl_reduce *r = l->zero->reduce;
  struct bucket *call = b->joins ? b - 1 : b;
  const int buckets = call + 1 < r->buckets + r->bucket_count && call[1].joins ? 2 : 1;
  if (!complete(call) || !complete(call + buckets - 1)) return SL_OK;
  const size_t before = p->op_count;
  SL_TRY(launch(l, p, call, buckets));
  if (p->op_count > before) r->last_launch = p->op_count - 1;
  return SL_OK;
}

enum sl_status sl_reduce_after(struct sl_lowering *l, struct sl_program *p, const struct sl_draft *draft) {
  struct sl_reduce *r = l->zero->reduce;
  for (int k = 0; k < draft->operand_count; k++) {
    const struct sl_operand *o = &draft->operand[k];
    if (o->buffer >= 0 || !o->gradient) continue;
    if (r->temporary[k] >= 0) {
      SL_TRY(sl_zero_convert(l, p, sl_build_read(l, r->temporary[k]), target_of(l, o->placed, SL_WRITE),
                             l->pp_rank->tensors[o->placed].numel, adds(l, o->placed)));
    }
    struct bucket *b = &r->buckets[r->bucket_of[o->placed]];
    if (++r->seen[o->placed] < expected(l, o->placed) || !reduces(l, o->placed)) continue;
    b->ready++;
    SL_TRY(launch_if_complete(l, p, b));
  }
  return SL_OK;
}

/* Own parts from the buffer they arrived in to where they are kept. */
static enum sl_status settle(struct sl_lowering *l, struct sl_program *p) {
  const struct sl_layout *layout = &l->pp_rank->layout;
  const int32_t arrived = l->zero->reduce->arrived, flat = l->zero->reduce->flat;
  const int32_t shard = l->rank_class->role[SL_ROLE_GRAD].buffer;
  if (sharded(l) && l->plan->stage_count == 1) {
    return sl_zero_convert(l, p, sl_build_read(l, arrived), sl_build_write(l, shard), layout->shard_numel,
                           !l->zero->reduce->pass.first);
  }
  for (int i = 0; i < layout->unit_count; i++) {
    const struct sl_unit *u = &layout->units[i];
    if (!l->zero->reduce->buckets[l->zero->reduce->bucket_of[u->first_tensor]].launched) continue;
    const struct sl_operand own = sharded(l) ? sl_build_part(l, shard, SL_WRITE, u->shard_offset, u->part)
                                             : sl_zero_own(l, flat, SL_WRITE, u->first, u->part);
    SL_TRY(sl_zero_convert(l, p, sl_build_part(l, arrived, SL_READ, u->shard_offset, u->part), own, u->part,
                           sharded(l) && kept(l, u->first_tensor)));
  }
  return SL_OK;
}

/* Backward ends when its reductions have: DeepSpeed synchronises after the last bucket, DDP and FSDP in their final callback.
 * In a pipeline only a rank's last backward does, so that others go on. Sums that travelled in another type then return to
 * the type they are kept in. */
enum sl_status sl_reduce_end(struct sl_lowering *l, struct sl_program *p) {
  const struct sl_reduce *r = l->zero->reduce;
  const bool waits = r->pass.end || l->plan->stage_count == 1;
  if (r->last_launch > 0 && waits) p->ops[r->last_launch].flags |= SL_OP_BLOCKING;
  if (!passes_through(l)) return SL_OK;
  if (r->arrived >= 0) return settle(l, p);
  for (int i = 0; i < r->bucket_count; i++) {
    const struct bucket *b = &r->buckets[i];
    if (!b->launched) continue;
    SL_TRY(sl_zero_convert(l, p, sl_build_read(l, b->buffer), sl_build_part(l, r->flat, SL_WRITE, b->lo, b->count),
                           b->count, false));
  }
  return SL_OK;
}
