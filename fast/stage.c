/* Builds stages from blocks; see stage.h. */
#include "fast/stage.h"

#include "core/base/checked.h"
#include "core/op/op.h"
#include "core/op/work.h"
#include "core/op/workspace.h"
#include "core/program/program.h"
#include "core/program/step_state.h"
#include "cost/compute.h"
#include "fast/call.h"
#include "fast/reduce.h"

static double moved_seconds(const struct sl_cost_rank *rank, const struct sl_fast_moved *m, double blocks, double share,
                            double factor) {
  return sl_fast_at(m->launches, blocks) * rank->launch +
         factor * sl_fast_at(m->bytes, blocks) * share / rank->memory_bandwidth;
}

/* Where a host launches an op only after the device could have started it, the step ends when the device has run that
 * op and those behind it: the latest such end. */
static double behind_seconds(const struct sl_cost_rank *rank, const struct sl_fast_stage *stage, double blocks,
                             double share) {
  double rest = 0, latest = 0;
  for (int i = stage->behind_count - 1; i >= 0; i--) {
    const struct sl_fast_stepped *x = &stage->behind[i];
    const double factor = x->beside ? rank->kernel_costs.elementwise_factor : 1;
    rest += x->seconds + moved_seconds(rank, &x->moved, blocks, share, factor);
    const double end = sl_fast_at(x->host, blocks) + rest;
    if (end > latest) latest = end;
  }
  return latest;
}

static double larger(double a, double b) {
  return a > b ? a : b;
}

static double smaller(double a, double b) {
  return a < b ? a : b;
}

static double aligned(int64_t bytes) {
  return (double)sl_round_up(bytes, SL_ALIGN);
}

static int64_t numel_of(const struct sl_fast_stage *stage, int64_t blocks) {
  int64_t sum = 0;
  for (int i = 0; i < stage->tensor_count; i++)
    sum += stage->tensor[i].numel * (stage->tensor[i].where == 0 ? blocks : 1);
  return sum;
}

static struct sl_fast_timed timed(const struct sl_fast_action *a, double n) {
  struct sl_fast_timed t = {.end = sl_fast_at(a->end, n),
                            .end_arrived = sl_fast_at(a->end_arrived, n),
                            .end_hosted = sl_fast_at(a->end_hosted, n),
                            .out = sl_fast_at(a->out, n),
                            .out_arrived = sl_fast_at(a->out_arrived, n),
                            .out_hosted = sl_fast_at(a->out_hosted, n),
                            .host = sl_fast_at(a->host, n),
                            .host_arrived = sl_fast_at(a->host_arrived, n)};
  const double behind = sl_fast_at(a->launched, n) - t.end_hosted;
  if (t.host > 0 && behind > 0) {
    t.end_hosted += behind;
    t.out_hosted += behind;
  }
  return t;
}

/* By how much the host reaches the last of `n_micro` backwards later than the device. In a pipeline it waits for its
 * neighbours. */
static double host_late(const struct sl_fast_stage_cost *c, bool pipeline, int64_t n_micro) {
  double free_at = 0, host = 0;
  if (pipeline || c->forward.host == 0) return 0;
  for (int64_t i = 0; i < 2 * n_micro - 1; i++) {
    const struct sl_fast_timed *before = i % 2 == 0 ? &c->forward : i == 1 ? &c->first : &c->next;
    const double device = free_at + before->end, hosted = host + before->end_hosted;
    free_at = device > hosted ? device : hosted;
    host += before->host;
  }
  return host - free_at;
}

/* The last backward of a step, including what its reductions add. */
static struct sl_fast_timed reduced(const struct sl_fast_timed *own, const struct sl_fast_reduction *r) {
  struct sl_fast_timed t = *own;
  t.end += r->held, t.end_arrived += r->held, t.end_hosted += r->held + r->host;
  t.out += r->held_before, t.out_arrived += r->held_before, t.out_hosted += r->held_before + r->host;
  t.host += r->host;
  t.host_arrived += r->host;
  return t;
}

/* A member's elements of a stage: of a tied embedding, which is a partition of its own, and of the rest. */
struct parts {
  int64_t tied, rest;
};

static struct parts parts_of(const struct sl_fast_stage *stage, int64_t numel, bool sharded, int members) {
  enum { START_ALIGNMENT = 2 };
  int64_t tied = 0;
  for (int i = 0; i < stage->tensor_count; i++) tied += stage->tensor[i].tied ? stage->tensor[i].numel : 0;
  if (!sharded) return (struct parts){tied, numel - tied};
  const int64_t multiple = (int64_t)START_ALIGNMENT * members;
  return (struct parts){sl_round_up(tied, multiple) / members, sl_round_up(numel - tied, multiple) / members};
}

/* Adds *last, the seconds for the squares of `count` elements, of which a member has at most `part`
 * (core/lower/update.c: square_stretch). */
static enum sl_status add_stretch(const struct sl_fast_setting *s, int64_t count, int64_t part, double *sum,
                                  double *last) {
  const enum sl_dtype type = s->config->grad_accum_dtype;
  struct sl_op op = sl_op_plain(SL_OP_NORM, type, SL_PHASE_STEP);
  op.flags = SL_OP_SHARE_RANGE;
  op.dim[0] = op.dim[3] = part;
  op.dim[2] = count;
  op.slice_count = 3;
  const struct sl_slice slices[] = {{.access = SL_READ, .bytes = part * sl_dtype_bytes(type)},
                                    {.access = SL_READ_WRITE, .bytes = (int64_t)sizeof(struct sl_step_state)},
                                    {.access = SL_WRITE, .bytes = sl_op_workspace(&op, 1)}};
  const struct sl_work work = sl_work_of(&op, slices, 0);
  SL_TRY(sl_cost_compute(s->rank, &work, last));
  *sum += *last;
  return SL_OK;
}

/* The norm of a partition whose elements are not all counted equally often: one op per stretch of equally counted
 * elements. */
static enum sl_status stretches_seconds(const struct sl_fast_setting *s, const struct sl_fast_stage *stage,
                                        int64_t blocks, struct parts parts, double *sum, double *last) {
  int64_t open = 0;
  bool replicated = false, tied = false;
  *sum = 0;
  for (int64_t b = -1; b <= blocks; b++) {
    const int where = b < 0 ? -1 : b == blocks ? 1 : 0;
    for (int i = 0; i < stage->tensor_count; i++) {
      const struct sl_fast_tensor *t = &stage->tensor[i];
      if (t->where != where) continue;
      if (open > 0 && (t->replicated != replicated || t->tied != tied)) {
        SL_TRY(add_stretch(s, open, tied ? parts.tied : parts.rest, sum, last));
        open = 0;
      }
      replicated = t->replicated, tied = t->tied;
      open += t->numel;
    }
  }
  return add_stretch(s, open, parts.rest, sum, last);
}

/* The all-gather of `part` updated parameters of each rank, allgather_bucket_size elements at a time
 * (core/lower/update.c). */
static double gather_seconds(const struct sl_fast_setting *s, int64_t part, int64_t first_device) {
  const int64_t limit = s->config->zero.allgather_bucket_size;
  int64_t chunks = limit > 0 ? part * s->dp / limit : part;
  if (part == 0) return 0;
  if (chunks < 1) chunks = 1;
  if (chunks > part) chunks = part;
  const struct sl_fast_call c =
      sl_fast_call_open(s, SL_OP_ALL_GATHER, s->config->param_dtype, first_device, s->tp, s->dp);
  const int64_t each = part / chunks * s->dp, last = (part - part / chunks * (chunks - 1)) * s->dp;
  return (double)(chunks - 1) * sl_fast_call_seconds(&c, s->rank, each, 0, false) +
         sl_fast_call_seconds(&c, s->rank, last, 0, false);
}

/* The highest peak in `part` and in the parts after it. */
static double most_of(const struct sl_fast_stage *stage, enum sl_fast_time time, enum sl_fast_part part, double n) {
  double most = 0;
  for (int k = (int)part; k < SL_FAST_PARTS; k++) {
    const double x = sl_fast_at(stage->peak[time][k], n);
    if (x > most) most = x;
  }
  return most;
}

/* The most from the lowest block of the last backward on: of several, or of the only one, which does not add to earlier
 * gradients. Beside the lowest block `before` is in use for communication, and `after` when the blocks are done; where
 * gradients come one after the other, that matters. */
static double bottom(const struct sl_fast_stage *stage, double n, bool only, bool by_tensor,
                     const struct sl_fast_reduction *r) {
  const double others = (stage->in_flight - 1) * sl_fast_at(stage->kept, n) + stage->input;
  const double block = sl_fast_at(stage->peak[SL_FAST_EARLY][SL_FAST_BOTTOM], n) - others,
               end = sl_fast_at(stage->peak[SL_FAST_EARLY][SL_FAST_END], n) - others,
               last = sl_fast_at(stage->peak_last, n);
  if (!only) return last + r->wire_before;
  if (by_tensor) return larger(block + r->wire_before, end + r->wire_after);
  return smaller(last, larger(block, end)) + r->wire_before;
}

/* Bytes of the copies that an update reads, which are made when no communication is left; of whole gradients. */
static double copied_bytes(const struct sl_fast_setting *s, int64_t numel) {
  const enum sl_gradient_copies copies = s->strategy.copies_gradients;
  return (double)numel * (copies == SL_COPIES_LIST ? 8 : copies == SL_COPIES_FLOAT ? 4 : 0);
}

enum sl_status sl_fast_stage_price(struct sl_fast_stage_cost *out, const struct sl_fast_setting *setting,
                                   const struct sl_fast_stage *stage, int members, int64_t blocks,
                                   int64_t first_device) {
  const struct sl_cost_rank *rank = setting->rank;
  const double n = (double)blocks;
  const bool sharded = setting->strategy.shard_optimizer;
  *out = (struct sl_fast_stage_cost){.forward = timed(&stage->forward, n),
                                     .first = timed(&stage->first, n),
                                     .next = timed(&stage->next, n),
                                     .bare_forward = sl_fast_at(stage->forward.bare, n),
                                     .bare_first = sl_fast_at(stage->first.bare, n),
                                     .bare_next = sl_fast_at(stage->next.bare, n),
                                     .control = stage->control,
                                     .host = sl_fast_at(stage->host, n),
                                     .host_norm = sl_fast_at(stage->host_norm, n)};
  out->numel = numel_of(stage, blocks);
  const struct parts parts = parts_of(stage, out->numel, sharded, setting->dp);
  const struct parts sampled = parts_of(stage, out->numel, sharded, members);
  out->part = parts.tied + parts.rest;
  const double share = (double)out->part / (double)(sampled.tied + sampled.rest);
  out->norm = moved_seconds(rank, &stage->norm, n, share, 1);
  out->norm_last = moved_seconds(rank, &stage->norm_last, n, share, 1);
  if (sharded && (setting->tp > 1 || parts.tied > 0))
    SL_TRY(stretches_seconds(setting, stage, blocks, parts, &out->norm, &out->norm_last));
  out->behind = behind_seconds(rank, stage, n, share);
  out->update = moved_seconds(rank, &stage->update, n, share, 1) +
                moved_seconds(rank, &stage->beside, n, share, rank->kernel_costs.elementwise_factor);
  out->tied_bytes = (double)(parts.tied * sl_dtype_bytes(setting->config->grad_accum_dtype));
  if (sharded)
    out->gather = gather_seconds(setting, parts.rest, first_device) + gather_seconds(setting, parts.tied, first_device);
  for (int only = 0; only < 2; only++) {
    struct sl_fast_reduction r;
    const struct sl_fast_timed own = only ? out->first : out->next;
    const double late = host_late(out, setting->pipeline, only ? 1 : setting->n_micro), hosted = late + own.end_hosted;
    const struct sl_fast_backward last = {only, late, own.end, hosted, only ? out->bare_first : out->bare_next};
    sl_fast_reduce(&r, setting, stage, blocks, &last, out->numel, first_device);
    out->hidden[only] = r.hidden;
    out->last[only] = reduced(&own, &r);
    const double end = own.end > hosted + r.host ? own.end : hosted + r.host;
    out->tail[only] = r.over > end + r.held ? r.over - end - r.held : 0;
    out->tied_tail[only] = r.tied_over - end - r.held;
    out->work_bottom[only] = larger(r.live, bottom(stage, n, only, setting->strategy.gradients_by_tensor, &r));
    const double step = sl_fast_at(stage->peak_step, n), communicating = step - copied_bytes(setting, out->numel);
    out->work_step[only] = larger(communicating + r.wire_after, step);
  }
  out->kept = sl_fast_at(stage->kept, n);
  out->input = stage->input;
  const double held = stage->in_flight * out->kept;
  out->work_first = most_of(stage, SL_FAST_EARLY, SL_FAST_FORWARD, n) - held;
  out->work_backward = most_of(stage, SL_FAST_LATE, SL_FAST_TOP, n) - held;
  out->work = most_of(stage, SL_FAST_LATE, SL_FAST_FORWARD, n) - held;
  const int64_t whole = sharded ? out->part * setting->dp : out->numel;
  out->persistent = aligned((int64_t)sizeof(struct sl_step_state)) +
                    aligned(whole * sl_dtype_bytes(setting->config->param_dtype)) + aligned(whole * stage->gradient) +
                    stage->states * aligned(out->part * 4);
  return SL_OK;
}
