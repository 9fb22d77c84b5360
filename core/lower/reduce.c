/* The path of gradients from the kernels to the optimizer: where they are kept, and when and how a bucket of them is
 * reduced. bucket.c decides what is a bucket, reduced.c moves reduced parts.
 *
 * Three element types may differ: what kernels write (the parameters' type), what micro-batches accumulate in
 * (grad_accum_dtype), and what is communicated (communication_data_type). If they are equal, kernels write in place and
 * nothing is copied, except by DDP (reducer.c); otherwise a conversion is an op of the program, and so is the addition
 * of what a kernel can only overwrite.
 *
 *   whole gradients    kernels -> flat buffer (accumulate type) -> [bucket in the wire's type -> back] -> reduced
 *   sharded gradients  kernels -> bucket (wire's type) -> own part (wire's type) -> [own part, accumulate type]
 *
 * So the optimizer reads the accumulate type whatever was communicated, as in DeepSpeed: its allreduce_bucket copies
 * the sum back into the tensor that it was cast from. */
#include "core/lower/reduce.h"

#include <stdlib.h>

#include "core/lower/bind.h"
#include "core/lower/gradients.h"
#include "core/lower/host_sum.h"
#include "core/lower/lower.h"
#include "core/lower/quantize.h"
#include "core/lower/reduced.h"
#include "core/lower/reducer.h"
#include "core/lower/take.h"
#include "core/op/operands.h"
#include "core/plan/kernels.h"

/* Do reduced own parts of some group arrive elsewhere than they are kept, because of another type or host memory, or
 * because each backward's are summed over replicas before they are added to those of earlier ones? */
static bool any_passes_through(const struct sl_lowering *l) {
  const struct sl_strategy *s = &l->plan->strategy;
  const bool adds = s->replica_sums == SL_REPLICAS_ARRIVED && sl_gradients_sharded(l) && l->plan->n_micro > 1;
  bool any = sl_gradients_sharded(l) && s->offload_optimizer;
  for (int g = 0; g < l->pp_rank->group_count; g++) {
    const struct sl_param_group *group = &l->pp_rank->layouts[g].group;
    any |= sl_gradients_recast(l, &l->pp_rank->layouts[g]) || (adds && group->members < group->ranks);
  }
  return any;
}

/* Are gradients of states on NVMe written there by the call that reduces them (DeepSpeed's
 * optimizer_swapper.swap_out_gradients)? If a step adds to them after that, they stay in host memory. */
static bool complete_when_reduced(const struct sl_lowering *l) {
  bool once = l->plan->n_micro == 1 && l->plan->stage_count == 1;
  for (int g = 0; g < l->pp_rank->group_count; g++)
    once &= l->pp_rank->layouts[g].group.members == l->pp_rank->layouts[g].group.ranks;
  return once && l->plan->strategy.optimizer_on_nvme;
}

/* Does hybrid sharding sum own parts over replicas as they are kept, not as they arrived? */
static bool sums_kept(const struct sl_lowering *l) {
  return l->plan->strategy.replica_sums == SL_REPLICAS_KEPT;
}

/* Do own parts arrive in a buffer of their call, and go on from there at once? They do if they go on to host memory
 * (DeepSpeed's stage3.py, partition_grads, and stage_1_and_2.py, async_inplace_copy_grad_to_fp32_buffer_from_gpu), and
 * if they are kept in another type than the one they arrive in (stage3.py, __avg_scatter_grads; FSDP's
 * _runtime_utils.py, _cast_grad_to_param_dtype). In two cases all parts are moved together instead, once the backward is
 * over: in a flat partition over several members, of which each has a different part of a call, as a common program
 * cannot express; and where parts are summed over replicas in the type they arrived in. */
static bool arrives_by_call(const struct sl_lowering *l) {
  const struct sl_plan *plan = l->plan;
  const bool moves = plan->strategy.replica_sums != SL_REPLICAS_ARRIVED;
  bool alone = true, passes = plan->strategy.offload_optimizer;
  for (int g = 0; g < l->pp_rank->group_count; g++) {
    alone &= l->pp_rank->layouts[g].group.members == 1;
    passes |= moves && sl_gradients_recast(l, &l->pp_rank->layouts[g]);
  }
  return sl_gradients_sharded(l) && passes && (alone || l->plan->strategy.units != SL_UNITS_FLAT);
}

static bool keeps_gradients(const struct sl_lowering *l) {
  const bool apart = l->accumulate != l->dtype || l->plan->strategy.gradients_apart;
  return sl_kernel_set(l->plan->config->sl.kernels)->keeps_gradients && apart && !sl_gradients_sharded(l);
}

/* Are they DDP's, reduced during the backward? */
static bool in_buckets(const struct sl_lowering *l) {
  return keeps_gradients(l) && l->plan->strategy.overlap && l->plan->dp_cp > 1;
}

static enum sl_status open_buckets(struct sl_lowering *l) {
  l->homes->half = -1;
  SL_TRY(sl_bucket_open(l));
  if (!in_buckets(l)) return SL_OK;
  return sl_build_buffer(l, &l->homes->half, SL_SCOPE_PERSISTENT, SL_CATEGORY_GRADIENT, l->dtype, l->pp_rank->padded,
                         "grad.buckets");
}

enum sl_status sl_reduce_open(struct sl_lowering *l) {
  const struct sl_strategy *s = &l->plan->strategy;
  struct sl_homes *h = l->homes;
  const enum sl_scope scope = sl_gradients_scope(l);
  SL_TRY(open_buckets(l));
  h->nvme.gradients = complete_when_reduced(l);
  if (sl_gradients_sharded(l)) {
    SL_TRY(sl_zero_state(l, SL_ROLE_GRAD, SL_FORM_SHARD, scope, SL_CATEGORY_GRADIENT, l->accumulate, "grad.shard"));
    if (s->offload_optimizer)
      SL_TRY(sl_home_split(l, SL_ROLE_GRAD, sl_home_on_device(l), SL_SPACE_DEVICE,
                           h->nvme.gradients ? SL_SPACE_NVME : SL_SPACE_HOST));
  } else if (s->reduces_apart) {
    SL_TRY(sl_zero_state(l, SL_ROLE_GRAD, SL_FORM_SHARD, SL_SCOPE_PERSISTENT, SL_CATEGORY_GRADIENT, l->accumulate,
                         "grad.shard"));
    SL_TRY(sl_build_buffer(l, &h->flat, scope, SL_CATEGORY_GRADIENT, l->accumulate, l->pp_rank->padded, "grad"));
    SL_TRY(sl_gradients_cut(l));
  } else {
    SL_TRY(sl_zero_state(l, SL_ROLE_GRAD, sl_gradients_owned_in_flat(l) ? SL_FORM_SHARD_IN_FLAT : SL_FORM_WHOLE, scope,
                         SL_CATEGORY_GRADIENT, l->accumulate, "grad"));
    h->flat = l->rank_class->role[SL_ROLE_GRAD].buffer;
    SL_TRY(sl_gradients_cut(l));
  }
  SL_TRY(sl_host_sum_open(l));
  h->by_call = arrives_by_call(l);
  const bool apart = sl_gradients_added_later(l);
  if (h->by_call || !(apart || any_passes_through(l)) || sl_gradients_copied_back(l)) return SL_OK;
  return sl_build_buffer(l, &h->arrived, SL_SCOPE_MICRO, apart ? SL_CATEGORY_GRADIENT : SL_CATEGORY_COMMUNICATION,
                         sl_gradients_bucket_dtype(l), l->pp_rank->shard_numel, "grad.arrived");
}

enum sl_status sl_reduce_start(struct sl_lowering *l) {
  const size_t n = (size_t)l->pp_rank->tensor_count;
  struct sl_reduce *r;
  SL_TRY(sl_calloc(&r, 1, sizeof *r));
  l->zero->reduce = r;
  SL_TRY(sl_calloc(&r->alone, n, sizeof(bool)));
  SL_TRY(sl_calloc(&r->contributions, n * (size_t)l->pp_rank->stage_count, sizeof(int)));
  return sl_calloc(&r->seen, n, sizeof(int));
}

void sl_reduce_stop(struct sl_lowering *l) {
  struct sl_reduce *r = l->zero->reduce;
  if (r == NULL) return;
  free(r->buckets);
  free(r->bucket_of);
  free(r->alone);
  free(r->contributions);
  free(r->seen);
  free(r->waiting);
  free(r);
}

/* What the backward of the current stage contributes to a placed tensor. */
static int expected(const struct sl_lowering *l, int placed) {
  return sl_bucket_contributions(l, (int)(l->stage - l->stages))[placed];
}

enum sl_status sl_reduce_begin(struct sl_lowering *l, struct sl_program *p, struct sl_pass pass) {
  struct sl_reduce *r = l->zero->reduce;
  if (r->buckets == NULL) {
    SL_TRY(sl_bucket_plan(l));
    if (l->homes->by_call) SL_TRY(sl_reduced_plan(l));
  }
  for (int i = 0; i < l->pp_rank->tensor_count; i++) r->seen[i] = 0;
  for (int i = 0; i < r->bucket_count; i++) {
    r->buckets[i].ready = 0;
    r->buckets[i].launched = false;
  }
  r->pass = pass;
  r->last_launch = 0;
  r->waiting_count = 0;
  return l->plan->strategy.reduces_last ? SL_OK : sl_bucket_hold(l, p, true);
}

/* Shall the gradient be reduced in the current backward, once it is complete? Sharded ones always: there is no place to
 * keep them whole. */
static bool reduces(const struct sl_lowering *l, int placed) {
  const struct sl_pass *pass = &l->zero->reduce->pass;
  if (sl_sparse_holds(l, placed)) return false;
  return sl_gradients_sharded(l) || (l->pp_rank->tensors[placed].shared ? pass->tied_last : pass->last);
}

/* ---- calls ---- */

/* Padding takes part in a reduce-scatter and in the norm, so it must be zero; nothing else ever writes it. */
static enum sl_status clear_padding(struct sl_lowering *l, struct sl_program *p, const struct sl_bucket *b) {
  const struct sl_pp_rank *s = l->pp_rank;
  const int32_t buffer = sl_gradients_sharded(l) ? b->buffer : l->homes->flat;
  const int64_t base = sl_gradients_sharded(l) ? b->lo : 0;
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

/* The bucket as it is communicated. */
static struct sl_operand on_wire(const struct sl_lowering *l, const struct sl_bucket *b) {
  if (b->buffer >= 0) return sl_build_part(l, b->buffer, SL_READ_WRITE, 0, b->count);
  return sl_build_part(l, l->homes->flat, SL_READ_WRITE, b->lo, b->count);
}

/* A flat partition: the call's buckets are a range of their unit and are reduced to the owners of that range. */
static enum sl_status reduce_range(struct sl_lowering *l, struct sl_program *p, const struct sl_bucket *call,
                                   int buckets, struct sl_op op) {
  const struct sl_unit *u = &l->pp_rank->units[l->pp_rank->tensors[call->first].unit];
  int n = 0;
  op.flags |= SL_OP_SHARE_RANGE;
  op.dim[1] = l->homes->by_call ? 0 : call[buckets - 1].lo - u->first;
  op.dim[2] = op.dim[1] + op.dim[0];
  op.dim[3] = u->part;
  for (const struct sl_bucket *b = call + buckets - 1; b >= call; b--) { /* in the order of the flat space */
    l->zero->wide[n++] = on_wire(l, b);
    l->zero->wide[n++] = sl_reduced_arriving(l, b, u);
  }
  return sl_build_emit(p, op, n, l->zero->wide);
}

/* A unit of bucket `b`, as it is communicated. */
static struct sl_operand unit_on_wire(const struct sl_lowering *l, const struct sl_bucket *b, const struct sl_unit *u) {
  struct sl_operand whole = on_wire(l, b);
  whole.slice.offset += (u->first - b->lo) * sl_dtype_bytes(l->wire);
  whole.slice.bytes = u->part * sl_layout_of(l->pp_rank, u)->group.members * sl_dtype_bytes(l->wire);
  return whole;
}

/* Units that are sharded separately: one coalesced call; then those that are reduced quantised, one by one. */
static enum sl_status reduce_units(struct sl_lowering *l, struct sl_program *p, const struct sl_bucket *call,
                                   int buckets, struct sl_op op) {
  const struct sl_pp_rank *s = l->pp_rank;
  int n = 0;
  op.dim[0] = 0;
  for (int quantised = 0; quantised < 2; quantised++) {
    for (const struct sl_bucket *b = call; b < call + buckets; b++) {
      for (int k = s->tensors[b->last].unit; k >= s->tensors[b->first].unit; k--) {
        const struct sl_unit *u = &s->units[k];
        if (sl_quantize_reduces(l, u) != quantised) continue;
        const struct sl_operand whole = unit_on_wire(l, b, u), shard = sl_reduced_arriving(l, b, u);
        if (quantised) {
          SL_TRY(sl_quantize_reduce(l, p, u, whole, shard));
          continue;
        }
        l->zero->wide[n++] = whole;
        l->zero->wide[n++] = shard;
        op.dim[0] += whole.slice.bytes / sl_dtype_bytes(l->wire);
      }
    }
    if (n > 0 && !quantised) SL_TRY(sl_build_emit(p, op, n, l->zero->wide));
  }
  return SL_OK;
}

/* Is the own part of bucket `b` complete, so that it can be summed over replicas? Where it is summed as it arrived, in
 * a buffer of its own, it is, for this backward (torch's all_reduce_grads); where it is added to those of earlier ones,
 * only in the last. */
static bool own_part_complete(const struct sl_lowering *l, const struct sl_bucket *b) {
  const struct sl_pass *pass = &l->zero->reduce->pass;
  const bool adds = sums_kept(l) || (l->homes->arrived < 0 && !l->homes->by_call);
  return !adds || (l->pp_rank->tensors[b->first].shared ? pass->tied_last : pass->last);
}

/* Hybrid sharding: sums the own parts of a call's units over the replicas of the shard group. */
static enum sl_status sum_replicas(struct sl_lowering *l, struct sl_program *p, const struct sl_bucket *call,
                                   int buckets) {
  const struct sl_pp_rank *s = l->pp_rank;
  const struct sl_layout *layout = &s->layouts[call->group];
  const bool kept = sums_kept(l);
  int n = 0;
  int64_t count = 0;
  if (l->plan->strategy.replica_sums == SL_REPLICAS_LAST || layout->group.members == layout->group.ranks) return SL_OK;
  if (kept && l->homes->by_call) SL_TRY(sl_reduced_call(l, p)); /* to where they are kept */
  for (const struct sl_bucket *b = call; b < call + buckets; b++) {
    if (!own_part_complete(l, b)) continue;
    for (int k = s->tensors[b->last].unit; k >= s->tensors[b->first].unit; k--) {
      const struct sl_unit *u = &s->units[k];
      l->zero->wide[n] =
          kept ? sl_home_part(l, SL_ROLE_GRAD, SL_READ_WRITE, u->shard_offset, u->part) : sl_reduced_arriving(l, b, u);
      l->zero->wide[n++].slice.access = SL_READ_WRITE;
      count += u->part;
    }
  }
  if (n == 0) return SL_OK;
  const enum sl_dtype type = l->rank_class->buffers[l->zero->wide[0].buffer].dtype;
  struct sl_op op = sl_zero_collective(l, SL_OP_ALL_REDUCE, layout->group.replicate, type, SL_PHASE_BACKWARD,
                                       SL_PAYLOAD_GRADIENT, count);
  op.place_group = sl_reduced_in_place(l) ? layout->group.shard : SL_GROUP_NONE;
  return sl_build_emit(p, op, n, l->zero->wide);
}

/* Sequence parallelism: gradients that a member computed from its own tokens are summed over the tp group, as in
 * Megatron-LM's finalize_model_grads, in one coalesced call per bucket. */
static enum sl_status sum_partial(struct sl_lowering *l, struct sl_program *p, const struct sl_bucket *b) {
  const enum sl_dtype type = sl_gradients_sharded(l) ? sl_gradients_bucket_dtype(l) : l->accumulate;
  struct sl_op op =
      sl_zero_collective(l, SL_OP_ALL_REDUCE, SL_GROUP_TP, type, SL_PHASE_BACKWARD, SL_PAYLOAD_GRADIENT, 0);
  int n = 0;
  for (int i = b->last; i >= b->first; i--) {
    if (!l->pp_rank->tensors[i].partial) continue;
    l->zero->wide[n++] = sl_bind_target(l, i, SL_READ_WRITE);
    op.dim[0] += l->pp_rank->tensors[i].numel;
  }
  return n > 0 ? sl_build_emit(p, op, n, l->zero->wide) : SL_OK;
}

/* What a bucket's call needs first: sums over the tp group, zeros in the padding, the communicated type. */
static enum sl_status prepare(struct sl_lowering *l, struct sl_program *p, const struct sl_bucket *b, bool whole) {
  SL_TRY(sum_partial(l, p, b));
  const struct sl_layout *layout = &l->pp_rank->layouts[b->group];
  if (!sl_gradients_reduced(l, layout)) return SL_OK;
  if (!whole || l->plan->strategy.sums_whole) SL_TRY(clear_padding(l, p, b));
  if (!sl_gradients_in_buckets(l, layout)) return SL_OK;
  if (l->plan->strategy.copies_to_buckets) return sl_reducer_copy_in(l, p, b);
  return sl_zero_convert(l, p, sl_build_part(l, l->homes->flat, SL_READ, b->lo, b->count),
                         sl_build_part(l, b->buffer, SL_WRITE, 0, b->count), b->count, SL_PHASE_BACKWARD, false);
}

/* DDP copies every gradient to its place in the bucket and, once a hook has reduced that, back (torch's
 * csrc/distributed/c10d/reducer.cpp, mark_variable_ready_dense and finalize_bucket_dense). A hook that reduces a list
 * of fp32 tensors calls NCCL for each, in one group (ProcessGroupNCCL.cpp, allreduce_coalesced): three launches per
 * tensor. */
static enum sl_status copy_through_bucket(struct sl_lowering *l, struct sl_program *p, const struct sl_bucket *b) {
  const int64_t each = 2 * sl_dtype_bytes(l->dtype); /* read and written */
  struct sl_op pass = sl_zero_op(SL_OP_PASS, SL_U8, SL_PHASE_BACKWARD, 2 * each * b->count);
  pass.dim[1] = 3 * (b->last - b->first + 1);
  return sl_build_emit(p, pass, 0, NULL);
}

/* Reduce call[0 .. buckets) at once. */
static enum sl_status launch(struct sl_lowering *l, struct sl_program *p, struct sl_bucket *call, int buckets) {
  const struct sl_strategy *s = &l->plan->strategy;
  const struct sl_layout *layout = &l->pp_rank->layouts[call->group];
  const bool whole = !s->shard_optimizer || s->units == SL_UNITS_OWNER || s->sums_whole;
  const bool communicates = sl_gradients_reduced(l, layout);
  int64_t count = 0;
  if (l->homes->by_call) SL_TRY(sl_reduced_open_call(l, p, call, buckets));
  for (struct sl_bucket *b = call; b < call + buckets; b++) {
    SL_TRY(prepare(l, p, b, whole));
    if (communicates && in_buckets(l)) SL_TRY(copy_through_bucket(l, p, b));
    b->launched = communicates;
    count += b->count;
  }
  if (!communicates) return SL_OK;
  struct sl_op op = sl_zero_collective(l, whole ? SL_OP_ALL_REDUCE : SL_OP_REDUCE_SCATTER,
                                       whole ? layout->group.sum : layout->group.scatter, l->wire, SL_PHASE_BACKWARD,
                                       SL_PAYLOAD_GRADIENT, count);
  if (whole && sl_gradients_sharded(l)) return sl_take_own(l, p, call, buckets, op);
  if (whole) {
    SL_TRY(SL_BUILD_EMIT(p, op, on_wire(l, call)));
    return s->copies_to_buckets ? SL_OK : sl_reduced_back(l, p, call, &op);
  }
  op.place_group = sl_reduced_in_place(l) ? layout->group.shard : SL_GROUP_NONE;
  if (sums_kept(l)) op.flags |= SL_OP_IN_TURN;
  if (s->units == SL_UNITS_FLAT) return reduce_range(l, p, call, buckets, op);
  SL_TRY(reduce_units(l, p, call, buckets, op));
  return sum_replicas(l, p, call, buckets);
}

static bool complete(const struct sl_bucket *b) {
  return b->ready == b->last - b->first + 1;
}

static enum sl_status launch_call(struct sl_lowering *l, struct sl_program *p, struct sl_bucket *call, int buckets) {
  const size_t before = p->op_count;
  SL_TRY(launch(l, p, call, buckets));
  if (p->op_count > before) l->zero->reduce->last_launch = p->op_count - 1;
  if (l->homes->by_call) SL_TRY(sl_reduced_call(l, p));
  l->zero->reduce->launched_end = p->op_count;
  return SL_OK;
}

/* A tensor of bucket `b` is complete: issues the reduction of its call if all of that is complete. */
static enum sl_status launch_if_complete(struct sl_lowering *l, struct sl_program *p, struct sl_bucket *b) {
  struct sl_reduce *r = l->zero->reduce;
  struct sl_bucket *call = b->joins ? b - 1 : b;
  const int buckets = call + 1 < r->buckets + r->bucket_count && call[1].joins ? 2 : 1;
  if (!complete(call) || !complete(call + buckets - 1)) return SL_OK;
  return launch_call(l, p, call, buckets);
}

/* Issues what waited for the end of the rank's last backward, in the order in which its buckets filled. */
static enum sl_status launch_last(struct sl_lowering *l, struct sl_program *p) {
  struct sl_reduce *r = l->zero->reduce;
  SL_TRY(sl_bucket_hold(l, p, true));
  for (int i = 0; i < r->bucket_count; i++) {
    if (complete(&r->buckets[i])) SL_TRY(launch_call(l, p, &r->buckets[i], 1));
  }
  return SL_OK;
}

/* Autograd casts what a product under torch.autocast computed to the parameter's type before it adds that to what is
 * there (accumulate_grad.h); our own kernel for the sum reads both types. */
static enum sl_status widen(struct sl_lowering *l, struct sl_program *p, struct sl_contribution *c) {
  const struct sl_placed *t = &l->pp_rank->tensors[c->placed];
  const bool casts = l->compute != l->dtype && l->plan->config->sl.kernels != SL_KERNELS_SHARDLAB;
  int32_t buffer;
  if (!casts || l->rank_class->buffers[c->made.buffer].dtype == l->dtype || !sl_bind_adds(l, c->placed)) return SL_OK;
  SL_TRY(sl_build_buffer(l, &buffer, SL_SCOPE_MICRO, SL_CATEGORY_GRADIENT, l->dtype, t->numel, "d.%s.cast",
                         l->plan->model->tensors[t->tensor].name));
  SL_TRY(sl_zero_convert(l, p, sl_build_as(c->made, SL_READ), sl_build_write(l, buffer), t->numel, SL_PHASE_BACKWARD,
                         false));
  c->made = sl_build_read(l, buffer);
  return SL_OK;
}

/* A kernel has computed its part of a gradient: moves it to where that is kept, and reduces what is complete. */
static enum sl_status contribute(struct sl_lowering *l, struct sl_program *p, struct sl_contribution *c) {
  struct sl_reduce *r = l->zero->reduce;
  if (c->made.buffer >= 0) {
    SL_TRY(widen(l, p, c));
    SL_TRY(sl_zero_convert(l, p, sl_build_as(c->made, SL_READ), sl_bind_target(l, c->placed, SL_WRITE),
                           l->pp_rank->tensors[c->placed].numel, SL_PHASE_BACKWARD, sl_bind_adds(l, c->placed)));
  }
  struct sl_bucket *b = &r->buckets[r->bucket_of[c->placed]];
  if (++r->seen[c->placed] < expected(l, c->placed) || !reduces(l, c->placed)) return SL_OK;
  b->ready++;
  return l->plan->strategy.reduces_last ? SL_OK : launch_if_complete(l, p, b);
}

static enum sl_status wait_for_end(struct sl_reduce *r, const struct sl_contribution *c) {
  SL_TRY(sl_grow(&r->waiting, &r->waiting_capacity, r->waiting_count + 1, sizeof *r->waiting));
  r->waiting[r->waiting_count++] = *c;
  return SL_OK;
}

enum sl_status sl_reduce_after(struct sl_lowering *l, struct sl_program *p, const struct sl_draft *draft) {
  struct sl_reduce *r = l->zero->reduce;
  const bool wait = keeps_gradients(l) && !in_buckets(l);
  for (int k = 0; k < draft->operand_count; k++) {
    const struct sl_operand *o = &draft->operand[k];
    if (o->buffer >= 0 || !o->gradient) continue;
    struct sl_contribution made = {o->placed, r->temporary[k]};
    SL_TRY(wait && made.made.buffer >= 0 ? wait_for_end(r, &made) : contribute(l, p, &made));
  }
  return SL_OK;
}

/* A backward ends when its reductions have: DeepSpeed synchronises after the last bucket, DDP and FSDP in their final
 * callback. In a pipeline only a rank's last backward waits, so that others can proceed, and the gradient that the
 * preceding stage waits for is sent first: what the step reads waits for the reductions in any case. */
enum sl_status sl_reduce_end(struct sl_lowering *l, struct sl_program *p) {
  const struct sl_reduce *r = l->zero->reduce;
  for (size_t i = 0; i < r->waiting_count; i++) SL_TRY(contribute(l, p, &r->waiting[i]));
  if (l->plan->strategy.reduces_last) SL_TRY(launch_last(l, p));
  if (l->plan->strategy.copies_to_buckets) return sl_reducer_copy_back(l, p);
  const bool ends = r->pass.end && r->launched_end == p->op_count;
  const bool waits = ends || l->plan->stage_count == 1;
  if (r->last_launch > 0 && waits) p->ops[r->last_launch].flags |= SL_OP_BLOCKING;
  SL_TRY(sl_bucket_hold(l, p, false));
  return sl_reduced_store(l, p);
}
