/* ZeRO (arXiv:1910.02054) as DeepSpeed runs it: which buffer a parameter or gradient operand means, and the
 * communication that follows. The compute drafts are the same for every stage; this file binds them.
 *
 *   stage  parameters           gradients                                      optimizer state  communication of a step
 *   0      flat, whole          flat, whole                                    whole            all_reduce
 *   1      flat, whole          flat, whole; own partition valid at the end    partition        reduce, all_gather
 *   2      flat, whole          bucket while produced, then own partition      partition        reduce, all_gather
 *   3      partition, gathered  bucket while produced, then own partition      partition        all_gather x 2, reduce
 *          around their use (lower_fetch.c)
 *
 * Stages 0 and 1 reduce once per step, at the accumulation boundary; stages 2 and 3 reduce every micro-batch, because
 * they have nowhere to keep a whole gradient. Gradients leave in buckets of at most reduce_bucket_size elements, in the
 * order backward makes them; a bucket's last gradient launches it. */
#include "core/lower_zero.h"

#include <stdlib.h>
#include <string.h>

#include "core/control.h"
#include "core/scratch.h"

static bool partitions_gradients(const struct sl_lowering *l) {
  return l->plan->zero_stage >= 2;
}

struct sl_op sl_zero_op(enum sl_op_kind kind, enum sl_phase phase, int64_t count) {
  return (struct sl_op){.kind = kind,
                        .lane = SL_LANE_COMPUTE,
                        .group = SL_GROUP_NONE,
                        .place_group = SL_GROUP_NONE,
                        .dtype = SL_F32,
                        .phase = phase,
                        .dim = {count},
                        .tensor = -1,
                        .layer = -1};
}

struct sl_op sl_zero_collective(const struct sl_lowering *l, enum sl_op_kind kind, enum sl_group group,
                                enum sl_phase phase, enum sl_payload payload, int64_t count) {
  struct sl_op op = sl_zero_op(kind, phase, count);
  op.lane = (enum sl_lane)(SL_LANE_TP + (int)group);
  op.group = group;
  op.payload = payload;
  op.flags = SL_OP_AFTER_COMPUTE;
  if (!l->plan->config->zero.overlap_comm) op.flags |= SL_OP_BLOCKING;
  return op;
}

/* ---- state buffers ---- */

static enum sl_status state_buffer(struct sl_lowering *l, enum sl_role role, enum sl_role_form form,
                                   enum sl_scope scope, enum sl_category category, const char *name) {
  const struct sl_layout *layout = &l->stage->layout;
  const int64_t count = form == SL_FORM_SHARD ? layout->shard_numel : layout->padded;
  l->rank_class->role[role].form = form;
  return sl_lower_buffer(l, &l->rank_class->role[role].buffer, scope, category, SL_F32, count, 1, "%s", name);
}

/* When each gradient is made: drafts of the backward that write it first and last. */
struct made {
  int first, last;
};

/* May a bucket end with tensor i + 1 and the next one start with tensor i? They may share a buffer, so nothing of the
 * tensors up to i may be written before everything behind them is: not between a weight and its bias where the weight's
 * gradient comes first, nor between two gradients of one op. Gradients with a bucket of their own do not count. */
static void find_cuts(const struct sl_zero *z, const struct made *made, int count, bool *cut) {
  int latest = -1;
  for (int i = count - 1; i >= 0; i--) {
    cut[i] = true;
    for (int j = 0; j <= i; j++) cut[i] = cut[i] && (z->contributions[j] > 1 || made[j].first > latest);
    if (z->contributions[i] == 1 && made[i].last > latest) latest = made[i].last;
  }
}

static void find_made(const struct sl_lowering *l, struct made *made) {
  for (int i = 0; i < l->stage->tensor_count; i++) made[i].first = -1;
  for (size_t i = 0; i < l->backward.count; i++) {
    const struct sl_draft *d = &l->backward.items[i];
    for (int k = 0; k < d->operand_count; k++) {
      if (d->operand[k].buffer >= 0 || !d->operand[k].gradient) continue;
      struct made *m = &made[d->operand[k].placed];
      if (m->first < 0) m->first = (int)i;
      m->last = (int)i;
    }
  }
}

/* Where buckets of a partitioned gradient may be cut; anywhere, while the whole flat gradient stands. */
static enum sl_status plan_cuts(const struct sl_lowering *l, bool **cut) {
  const int count = l->stage->tensor_count;
  struct made *made;
  SL_TRY(sl_calloc(cut, (size_t)count, sizeof **cut));
  memset(*cut, true, (size_t)count * sizeof **cut);
  if (!partitions_gradients(l)) return SL_OK;
  SL_TRY(sl_calloc(&made, (size_t)count, sizeof *made));
  find_made(l, made);
  find_cuts(l->zero, made, count, *cut);
  free(made);
  return SL_OK;
}

/* Buckets, filled against model order. A gradient that several ops contribute to (the tied embedding's) stays open from
 * the first to the last of them, so it gets a bucket and a buffer of its own. What cannot be cut goes together, even
 * past the limit. */
static void fill_buckets(const struct sl_lowering *l, const bool *cut) {
  struct sl_zero *z = l->zero;
  const struct sl_stage *s = l->stage;
  const int64_t limit = l->plan->config->zero.reduce_bucket_size;
  struct sl_bucket *open = NULL;
  int64_t end = s->layout.padded;
  for (int i = s->tensor_count - 1; i >= 0; i--) {
    const bool alone = z->contributions[i] > 1;
    int last = i; /* of the run that cannot be cut */
    while (last > 0 && !alone && !cut[last - 1] && z->contributions[last - 1] == 1) last--;
    const bool full = open != NULL && cut[i] && open->count + end - s->tensors[last].flat > limit;
    if (open == NULL || alone || open->alone || full) {
      open = &z->buckets[z->bucket_count++];
      *open = (struct sl_bucket){.last = i, .alone = alone};
    }
    open->first = i;
    open->lo = s->tensors[i].flat;
    open->count += end - s->tensors[i].flat; /* the flat space's padding goes with its last tensor */
    z->bucket_of[i] = z->bucket_count - 1;
    end = s->tensors[i].flat;
  }
}

static enum sl_status plan_buckets(struct sl_lowering *l) {
  struct sl_zero *z = l->zero;
  bool *cut = NULL;
  enum sl_status status;
  SL_GO(sl_calloc(&z->buckets, (size_t)l->stage->tensor_count, sizeof *z->buckets));
  SL_GO(sl_calloc(&z->bucket_of, (size_t)l->stage->tensor_count, sizeof *z->bucket_of));
  SL_GO(plan_cuts(l, &cut));
  fill_buckets(l, cut);
fail:
  free(cut);
  return status;
}

static void count_contributions(struct sl_lowering *l) {
  for (size_t i = 0; i < l->backward.count; i++) {
    const struct sl_draft *d = &l->backward.items[i];
    for (int k = 0; k < d->operand_count; k++) {
      if (d->operand[k].buffer < 0 && d->operand[k].gradient) l->zero->contributions[d->operand[k].placed]++;
    }
  }
}

/* Bucket buffers: one, or with overlap_comm two so that one fills while the other is on its way, as DeepSpeed's
 * ipg_buffer; DeepSpeed allocates reduce_bucket_size elements even for a small model, we what the buckets can fill. */
static enum sl_status bucket_buffers(struct sl_lowering *l) {
  struct sl_zero *z = l->zero;
  const int ring = l->plan->config->zero.overlap_comm ? 2 : 1;
  int64_t largest[2] = {0};
  int turn = 0;
  for (int i = 0; i < z->bucket_count; i++) {
    struct sl_bucket *b = &z->buckets[i];
    if (b->alone) continue;
    b->turn = turn++ % ring;
    if (b->count > largest[b->turn]) largest[b->turn] = b->count;
  }
  int32_t ring_buffer[2] = {-1, -1};
  for (int i = 0; i < ring && largest[i] > 0; i++) {
    SL_TRY(sl_lower_buffer(l, &ring_buffer[i], SL_SCOPE_MICRO, SL_CATEGORY_COMMUNICATION, SL_F32, largest[i], 1,
                           "bucket.%d", i));
  }
  for (int i = 0; i < z->bucket_count; i++) {
    struct sl_bucket *b = &z->buckets[i];
    b->buffer = b->alone ? -1 : ring_buffer[b->turn];
    if (!b->alone) continue;
    const char *name = l->plan->model->tensors[l->stage->tensors[b->first].tensor].name;
    SL_TRY(sl_lower_buffer(l, &b->buffer, SL_SCOPE_MICRO, SL_CATEGORY_COMMUNICATION, SL_F32, b->count, 1, "bucket.%s",
                           name));
  }
  return SL_OK;
}

enum sl_status sl_zero_open(struct sl_lowering *l) {
  const struct sl_config *config = l->plan->config;
  const int stage = l->plan->zero_stage;
  SL_TRY(sl_calloc(&l->zero, 1, sizeof *l->zero));
  SL_TRY(sl_calloc(&l->zero->contributions, (size_t)l->stage->tensor_count, sizeof(int)));
  SL_TRY(sl_calloc(&l->zero->wide, 2 * (size_t)l->stage->tensor_count, sizeof *l->zero->wide));
  SL_TRY(sl_calloc(&l->zero->seen, (size_t)l->stage->tensor_count, sizeof(int)));
  SL_TRY(state_buffer(l, SL_ROLE_PARAM, stage == 3 ? SL_FORM_SHARD : SL_FORM_WHOLE, SL_SCOPE_PERSISTENT,
                      SL_CATEGORY_PARAMETER, stage == 3 ? "param.shard" : "param"));
  SL_TRY(state_buffer(l, SL_ROLE_GRAD,
                      stage == 0   ? SL_FORM_WHOLE
                      : stage == 1 ? SL_FORM_SHARD_IN_FLAT
                                   : SL_FORM_SHARD,
                      l->options->save_grads ? SL_SCOPE_PERSISTENT : SL_SCOPE_PROGRAM, SL_CATEGORY_GRADIENT,
                      stage >= 2 ? "grad.shard" : "grad"));
  const enum sl_role_form form = stage == 0 ? SL_FORM_WHOLE : SL_FORM_SHARD;
  if (config->optimizer.type != SL_OPT_SGD) {
    SL_TRY(state_buffer(l, SL_ROLE_MOMENT1, form, SL_SCOPE_PERSISTENT, SL_CATEGORY_OPTIMIZER, "exp_avg"));
    SL_TRY(state_buffer(l, SL_ROLE_MOMENT2, form, SL_SCOPE_PERSISTENT, SL_CATEGORY_OPTIMIZER, "exp_avg_sq"));
  } else if (config->optimizer.momentum != 0) {
    SL_TRY(state_buffer(l, SL_ROLE_MOMENT1, form, SL_SCOPE_PERSISTENT, SL_CATEGORY_OPTIMIZER, "momentum_buffer"));
  }
  return stage == 3 ? sl_fetch_open(l) : SL_OK;
}

void sl_zero_close(struct sl_lowering *l) {
  if (l->zero == NULL) return;
  sl_fetch_close(l);
  free(l->zero->buckets);
  free(l->zero->bucket_of);
  free(l->zero->contributions);
  free(l->zero->seen);
  free(l->zero->wide);
  free(l->zero);
  l->zero = NULL;
}

/* The buckets need the backward's drafts, which exist only after sl_zero_open. */
static enum sl_status prepare_backward(struct sl_lowering *l) {
  if (l->zero->buckets != NULL) return SL_OK;
  count_contributions(l);
  SL_TRY(plan_buckets(l));
  return partitions_gradients(l) ? bucket_buffers(l) : SL_OK;
}

/* ---- binding ---- */

static void bind_param(const struct sl_lowering *l, struct sl_operand *o) {
  if (l->plan->zero_stage == 3) {
    o->buffer = sl_fetch_buffer(l, o->placed);
  } else {
    o->buffer = l->rank_class->role[SL_ROLE_PARAM].buffer;
    o->slice.offset += l->stage->tensors[o->placed].flat * (int64_t)sizeof(float);
  }
  o->slice.buffer = o->buffer;
}

/* `keep`: an earlier micro-batch's gradient is in the buffer, so even the first contribution of this one adds. */
static void bind_grad(const struct sl_lowering *l, struct sl_operand *o, bool keep) {
  struct sl_zero *z = l->zero;
  const struct sl_bucket *b = &z->buckets[z->bucket_of[o->placed]];
  const int64_t flat = l->stage->tensors[o->placed].flat;
  o->buffer = partitions_gradients(l) ? b->buffer : l->rank_class->role[SL_ROLE_GRAD].buffer;
  o->slice.offset += (partitions_gradients(l) ? flat - b->lo : flat) * (int64_t)sizeof(float);
  o->slice.buffer = o->buffer;
  o->slice.access = keep || z->seen[o->placed] > 0 ? SL_READ_WRITE : SL_WRITE;
  z->seen[o->placed]++;
}

enum sl_status sl_zero_bind(struct sl_lowering *l, struct sl_program *p, const struct sl_draft *draft, bool keep) {
  struct sl_draft d = *draft;
  for (int i = 0; i < d.operand_count; i++) {
    if (d.operand[i].buffer >= 0) continue;
    if (d.operand[i].gradient) {
      bind_grad(l, &d.operand[i], keep);
    } else {
      bind_param(l, &d.operand[i]);
    }
  }
  return sl_lower_emit(p, d.op, d.operand_count, d.operand);
}

/* ---- reduction ---- */

/* Padding takes part in the reduction and in the norm, so it must be zero; nothing ever writes it but this. */
static enum sl_status clear_padding(const struct sl_lowering *l, struct sl_program *p, int32_t buffer, int64_t first,
                                    int64_t count) {
  if (count == 0) return SL_OK;
  return SL_EMIT(p, sl_zero_op(SL_OP_FILL, SL_PHASE_BACKWARD, count), sl_part(l, buffer, SL_WRITE, first, count));
}

static enum sl_status clear_bucket_padding(struct sl_lowering *l, struct sl_program *p, const struct sl_bucket *b) {
  const struct sl_stage *s = l->stage;
  const bool flat = !partitions_gradients(l);
  const int32_t buffer = flat ? l->rank_class->role[SL_ROLE_GRAD].buffer : b->buffer;
  int64_t end = b->lo + b->count;
  for (int i = b->last; i >= b->first; i--) {
    const int64_t data_end = s->tensors[i].flat + s->tensors[i].numel;
    SL_TRY(clear_padding(l, p, buffer, flat ? data_end : data_end - b->lo, end - data_end));
    end = s->tensors[i].flat;
  }
  return SL_OK;
}

/* Stage 0: the whole bucket, summed in place. */
static enum sl_status all_reduce_bucket(const struct sl_lowering *l, struct sl_program *p, const struct sl_bucket *b) {
  return SL_EMIT(p,
                 sl_zero_collective(l, SL_OP_ALL_REDUCE, SL_GROUP_DP, SL_PHASE_BACKWARD, SL_PAYLOAD_GRADIENT, b->count),
                 sl_part(l, l->rank_class->role[SL_ROLE_GRAD].buffer, SL_READ_WRITE, b->lo, b->count));
}

/* Stages 1 and 2: the bucket is a range of the flat gradient and goes to the owners of that range. Stage 1 leaves the
 * sum in the flat gradient itself, stage 2 adds it to (or starts) the partition. */
static enum sl_status reduce_flat_bucket(const struct sl_lowering *l, struct sl_program *p, const struct sl_bucket *b,
                                         bool keep) {
  const int32_t grad = l->rank_class->role[SL_ROLE_GRAD].buffer;
  const int64_t part = l->stage->layout.shard_numel;
  struct sl_op op =
      sl_zero_collective(l, SL_OP_REDUCE_SCATTER, SL_GROUP_DP, SL_PHASE_BACKWARD, SL_PAYLOAD_GRADIENT, b->count);
  op.flags |= SL_OP_SHARE_RANGE;
  op.dim[1] = b->lo;
  op.dim[2] = b->lo + b->count;
  op.dim[3] = part;
  if (partitions_gradients(l)) {
    return SL_EMIT(p, op, sl_part(l, b->buffer, SL_READ_WRITE, 0, b->count),
                   keep ? sl_update(l, grad) : sl_write(l, grad));
  }
  op.place_group = SL_GROUP_SHARD;
  struct sl_operand own = sl_part(l, grad, SL_WRITE, 0, part);
  own.slice.shard_stride = own.slice.bytes;
  struct sl_operand whole = sl_part(l, grad, SL_READ_WRITE, b->lo, b->count);
  return SL_EMIT(p, op, whole, own);
}

/* Stage 3: every parameter of the bucket is split on its own; one coalesced call. */
static enum sl_status reduce_each(struct sl_lowering *l, struct sl_program *p, const struct sl_bucket *b, bool keep) {
  const struct sl_stage *s = l->stage;
  const int32_t grad = l->rank_class->role[SL_ROLE_GRAD].buffer;
  /* over dp, not shard: the same ranks, but a communicator of its own, so that it does not queue behind the gathers */
  struct sl_op op = sl_zero_collective(l, SL_OP_REDUCE_SCATTER, SL_GROUP_DP, SL_PHASE_BACKWARD, SL_PAYLOAD_GRADIENT, 0);
  int n = 0;
  for (int i = b->last; i >= b->first; i--) {
    const struct sl_unit *u = &s->layout.units[s->tensors[i].unit];
    const int64_t whole = u->part * s->layout.members;
    l->zero->wide[n++] = sl_part(l, b->buffer, SL_READ_WRITE, u->first - b->lo, whole);
    l->zero->wide[n++] = sl_part(l, grad, keep ? SL_READ_WRITE : SL_WRITE, u->shard_offset, u->part);
    op.dim[0] += whole;
  }
  return sl_lower_emit(p, op, n, l->zero->wide);
}

static enum sl_status reduce_bucket(struct sl_lowering *l, struct sl_program *p, const struct sl_bucket *b, bool keep) {
  if (l->plan->dp == 1) return SL_OK;
  SL_TRY(clear_bucket_padding(l, p, b));
  if (l->plan->zero_stage == 3) return reduce_each(l, p, b, keep);
  return l->plan->zero_stage == 0 ? all_reduce_bucket(l, p, b) : reduce_flat_bucket(l, p, b, keep);
}

/* Launch every bucket whose last gradient `draft` made. */
static enum sl_status reduce_ready(struct sl_lowering *l, struct sl_program *p, const struct sl_draft *draft,
                                   bool keep) {
  struct sl_zero *z = l->zero;
  for (int k = 0; k < draft->operand_count; k++) {
    const struct sl_operand *o = &draft->operand[k];
    if (o->buffer >= 0 || !o->gradient) continue;
    struct sl_bucket *b = &z->buckets[z->bucket_of[o->placed]];
    if (z->seen[o->placed] < z->contributions[o->placed]) continue;
    if (++b->ready == b->last - b->first + 1) SL_TRY(reduce_bucket(l, p, b, keep));
  }
  return SL_OK;
}

/* ---- actions ---- */

enum sl_status sl_zero_forward(struct sl_lowering *l, struct sl_program *p) {
  if (l->plan->zero_stage == 3) SL_TRY(sl_fetch_begin(l));
  for (size_t i = 0; i < l->forward.count; i++) {
    if (l->plan->zero_stage == 3) SL_TRY(sl_fetch_before(l, p, SL_PHASE_FORWARD, &l->forward.items[i]));
    SL_TRY(sl_zero_bind(l, p, &l->forward.items[i], false));
    if (l->plan->zero_stage == 3) sl_fetch_after(l, &l->forward.items[i]);
  }
  return SL_OK;
}

enum sl_status sl_zero_backward(struct sl_lowering *l, struct sl_program *p, bool first, bool last) {
  struct sl_zero *z = l->zero;
  const bool each = partitions_gradients(l); /* buckets are emptied every micro-batch */
  SL_TRY(prepare_backward(l));
  for (int i = 0; i < l->stage->tensor_count; i++) z->seen[i] = 0;
  for (int i = 0; i < z->bucket_count; i++) z->buckets[i].ready = 0;
  if (l->plan->zero_stage == 3) SL_TRY(sl_fetch_resume(l));
  for (size_t i = 0; i < l->backward.count; i++) {
    const struct sl_draft *d = &l->backward.items[i];
    if (l->plan->zero_stage == 3) SL_TRY(sl_fetch_before(l, p, SL_PHASE_BACKWARD, d));
    SL_TRY(sl_zero_bind(l, p, d, !first && !each));
    if (l->plan->zero_stage == 3) sl_fetch_after(l, d);
    if (last || each) SL_TRY(reduce_ready(l, p, d, !first));
  }
  return SL_OK;
}

/* The operand that is this rank's part of a state, whatever its form. */
static struct sl_operand own_part(const struct sl_lowering *l, enum sl_role role, enum sl_access access) {
  const int64_t part = l->stage->layout.shard_numel;
  const int32_t buffer = l->rank_class->role[role].buffer;
  const struct sl_buffer *b = &l->rank_class->buffers[buffer];
  struct sl_operand o = sl_part(l, buffer, access, 0, part);
  if (b->bytes != o.slice.bytes) o.slice.shard_stride = o.slice.bytes;
  return o;
}

static enum sl_status emit_norm(struct sl_lowering *l, struct sl_program *p) {
  const int64_t part = l->stage->layout.shard_numel;
  int32_t scratch;
  SL_TRY(sl_lower_buffer(l, &scratch, SL_SCOPE_PROGRAM, SL_CATEGORY_WORKSPACE, SL_U8, sl_scratch_sum(part), 1,
                         "norm.scratch"));
  struct sl_op op = sl_zero_op(SL_OP_NORM, SL_PHASE_STEP, part);
  /* the sum goes over all ranks, and this gradient stands on dp / shard of them */
  op.scale = (double)l->plan->shard / l->plan->dp;
  op.place_group = SL_GROUP_SHARD;
  return SL_EMIT(p, op, own_part(l, SL_ROLE_GRAD, SL_READ), sl_update(l, l->rank_class->control), sl_write(l, scratch));
}

/* Sum the loss, the squares and the overflow flag over the world, then let the control block decide. */
static enum sl_status emit_control(struct sl_lowering *l, struct sl_program *p) {
  const int32_t control = l->rank_class->control;
  struct sl_op op =
      sl_zero_collective(l, SL_OP_ALL_REDUCE, SL_GROUP_WORLD, SL_PHASE_STEP, SL_PAYLOAD_SCALAR, SL_CONTROL_REDUCED);
  op.dtype = SL_F64;
  if (l->plan->world > 1) SL_TRY(SL_EMIT(p, op, sl_part(l, control, SL_READ_WRITE, 0, SL_CONTROL_REDUCED)));
  return SL_EMIT(p, sl_zero_op(SL_OP_CONTROL, SL_PHASE_STEP, 0), sl_update(l, control));
}

static enum sl_status emit_update(struct sl_lowering *l, struct sl_program *p) {
  static const enum sl_op_kind kinds[] = {
      [SL_OPT_SGD] = SL_OP_SGD, [SL_OPT_ADAM] = SL_OP_ADAM, [SL_OPT_ADAMW] = SL_OP_ADAMW};
  struct sl_op op = sl_zero_op(kinds[l->plan->config->optimizer.type], SL_PHASE_STEP, l->stage->layout.shard_numel);
  struct sl_operand operands[SL_MAX_OPERANDS];
  int n = 0;
  op.place_group = SL_GROUP_SHARD;
  operands[n++] = own_part(l, SL_ROLE_PARAM, SL_READ_WRITE);
  operands[n++] = own_part(l, SL_ROLE_GRAD, SL_READ);
  for (int role = SL_ROLE_MOMENT1; role <= SL_ROLE_MOMENT2; role++) {
    if (l->rank_class->role[role].form == SL_FORM_ABSENT) continue;
    operands[n++] = own_part(l, (enum sl_role)role, SL_READ_WRITE);
  }
  operands[n++] = sl_read(l, l->rank_class->control);
  return sl_lower_emit(p, op, n, operands);
}

/* Stages 1 and 2: everyone gets the updated partitions, allgather_bucket_size elements at a time, the same run of every
 * partition in each call, as DeepSpeed's all_gather_dp_groups cuts them. */
static enum sl_status emit_gather_flat(struct sl_lowering *l, struct sl_program *p) {
  const struct sl_layout *layout = &l->stage->layout;
  const int32_t param = l->rank_class->role[SL_ROLE_PARAM].buffer;
  const int64_t part = layout->shard_numel;
  int64_t chunks = layout->padded / l->plan->config->zero.allgather_bucket_size;
  if (chunks < 1) chunks = 1;
  if (chunks > part) chunks = part;
  const int64_t chunk = part / chunks;
  for (int64_t i = 0; i < chunks; i++) {
    const int64_t lo = i * chunk, hi = i + 1 == chunks ? part : lo + chunk;
    struct sl_op op = sl_zero_collective(l, SL_OP_ALL_GATHER, SL_GROUP_SHARD, SL_PHASE_STEP, SL_PAYLOAD_PARAMETER,
                                         (hi - lo) * layout->members);
    op.place_group = SL_GROUP_SHARD;
    op.flags |= SL_OP_SHARE_CHUNK;
    op.dim[1] = lo, op.dim[2] = hi, op.dim[3] = part;
    SL_TRY(SL_EMIT(p, op, own_part(l, SL_ROLE_PARAM, SL_READ), sl_write(l, param)));
  }
  return SL_OK;
}

enum sl_status sl_zero_step(struct sl_lowering *l, struct sl_program *p) {
  SL_TRY(emit_norm(l, p));
  SL_TRY(emit_control(l, p));
  SL_TRY(emit_update(l, p));
  if (l->plan->zero_stage == 3) return sl_fetch_persistent(l, p, SL_PHASE_STEP);
  return l->plan->zero_stage > 0 ? emit_gather_flat(l, p) : SL_OK;
}

enum sl_status sl_zero_init(struct sl_lowering *l, struct sl_program *p) {
  const struct sl_class *c = l->rank_class;
  const int32_t param = c->role[SL_ROLE_PARAM].buffer;
  for (int role = 0; role < SL_ROLE_COUNT; role++) {
    if (c->role[role].form == SL_FORM_ABSENT || !c->buffers[c->role[role].buffer].persistent) continue;
    const struct sl_buffer *b = &c->buffers[c->role[role].buffer];
    SL_TRY(SL_EMIT(p, sl_zero_op(SL_OP_FILL, SL_PHASE_INIT, b->bytes / sl_dtype_bytes(b->dtype)),
                   sl_write(l, c->role[role].buffer)));
  }
  for (int i = 0; i < l->stage->tensor_count; i++) {
    struct sl_op op = sl_zero_op(SL_OP_INIT_TENSOR, SL_PHASE_INIT, l->stage->tensors[i].numel);
    op.tensor = i;
    op.role = SL_ROLE_PARAM;
    SL_TRY(SL_EMIT(p, op, sl_update(l, param))); /* a piece of it: the rest stays */
  }
  return l->plan->zero_stage == 3 ? sl_fetch_persistent(l, p, SL_PHASE_INIT) : SL_OK;
}
