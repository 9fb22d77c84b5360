/* Sharded parameters: decides which units to gather before an op and which to release after it, from the trace of one
 * micro-batch's uses.
 *
 * DeepSpeed's PartitionedParameterCoordinator (runtime/zero/partitioned_param_coordinator.py), where units are
 * parameters:
 *   - an op's parameters that are not gathered are, in one coalesced call;
 *   - then the trace is read ahead, prefetching until stage3_prefetch_bucket_size elements are requested or
 *     stage3_max_live_parameters would be live;
 *   - after its use a parameter is released, unless the trace uses it again within stage3_max_reuse_distance elements.
 * FSDP, where units are wrapped layers: the next unit is gathered while the current one computes (limit_all_gathers),
 * and a unit is released after its last use in the pass (FULL_SHARD) or in the micro-batch (SHARD_GRAD_OP). ZeRO++'s
 * hpZ: what a forward gathers over all data-parallel ranks leaves on each rank a part of a second copy, which the ranks
 * of its secondary group shard; gathers for the backward stay within that group.
 *
 * Every gather writes a buffer of its own, so the arena planner sees exactly how long each copy lives. */
#include <stdlib.h>
#include <string.h>

#include "core/lower/flat_gather.h"
#include "core/lower/lower.h"
#include "core/lower/part.h"
#include "core/lower/quantize.h"

/* One op that uses parameters, by unit. */
struct use {
  const struct sl_draft *draft;
  int unit[SL_MAX_OPERANDS];
  int count;
};

/* A requested unit, and whether it comes from the second copy. */
struct request {
  int unit;
  bool secondary;
};

struct sl_gather {
  struct use *uses;
  size_t use_count, use_capacity, forward_uses, all_uses; /* use_count: of this program, all or forward's */
  size_t cursor;                                          /* the next use */
  /* uses before this one have been considered for prefetching */
  size_t ahead;
  bool *fresh;          /* per unit: gathered since its last use */
  int32_t *live, *kept; /* per unit: its buffer (-1: not gathered) now, and at the end of the forward */
  int64_t live_numel, kept_numel;
  struct request *request;
  int request_count;
};

static const struct sl_unit *unit_of(const struct sl_lowering *l, int unit) {
  return &l->pp_rank->units[unit];
}

static const struct sl_param_group *group_of(const struct sl_lowering *l, int unit) {
  return &sl_layout_of(l->pp_rank, unit_of(l, unit))->group;
}

static int64_t whole_of(const struct sl_lowering *l, int unit) {
  return unit_of(l, unit)->part * group_of(l, unit)->members;
}

/* A member's part of a unit's second copy. */
static int64_t secondary_of(const struct sl_lowering *l, int unit) {
  return whole_of(l, unit) / group_of(l, unit)->secondary;
}

static const char *name_of(const struct sl_lowering *l, int unit) {
  return l->plan->model->tensors[l->pp_rank->tensors[unit_of(l, unit)->first_tensor].tensor].name;
}

static void add_use(struct use *u, int unit) {
  for (int i = 0; i < u->count; i++) {
    if (u->unit[i] == unit) return;
  }
  u->unit[u->count++] = unit;
}

static enum sl_status trace(struct sl_lowering *l, const struct sl_drafts *drafts) {
  struct sl_gather *g = l->zero->gather;
  for (size_t i = 0; i < drafts->count; i++) {
    struct use u = {.draft = &drafts->items[i]};
    for (int k = 0; k < u.draft->operand_count; k++) {
      const struct sl_operand *o = &u.draft->operand[k];
      if (o->buffer < 0 && !o->gradient) add_use(&u, l->pp_rank->tensors[o->placed].unit);
    }
    if (u.count == 0) continue;
    SL_TRY(sl_grow(&g->uses, &g->use_capacity, g->use_count + 1, sizeof *g->uses));
    g->uses[g->use_count++] = u;
  }
  return SL_OK;
}

/* The second copy, of everything that is ever gathered. */
static enum sl_status open_secondary(struct sl_lowering *l) {
  struct sl_homes *h = l->homes;
  int64_t count = 0;
  bool any = false;
  for (int i = 0; i < l->pp_rank->group_count; i++) any |= l->pp_rank->layouts[i].group.secondary > 1;
  if (!any) return SL_OK;
  SL_TRY(sl_calloc(&h->secondary_part, (size_t)l->pp_rank->unit_count, sizeof *h->secondary_part));
  for (int i = 0; i < l->pp_rank->unit_count; i++) {
    h->secondary_part[i] = count;
    if (h->persistent[i] < 0 && group_of(l, i)->secondary > 1) count += secondary_of(l, i);
  }
  return sl_build_buffer(l, &h->secondary, SL_SCOPE_PERSISTENT, SL_CATEGORY_PARAMETER, l->dtype, count,
                         "param.secondary");
}

enum sl_status sl_gather_open(struct sl_lowering *l) {
  const size_t n = (size_t)l->pp_rank->unit_count;
  struct sl_homes *h = l->homes;
  SL_TRY(sl_calloc(&h->persistent, n, sizeof *h->persistent));
  SL_TRY(sl_calloc(&h->unsharded, n * (size_t)l->pp_rank->stage_count, sizeof *h->unsharded));
  for (size_t i = 0; i < n * (size_t)l->pp_rank->stage_count; i++) h->unsharded[i] = -1;
  for (int i = 0; i < (int)n; i++) {
    h->persistent[i] = -1;
    if (!l->pp_rank->tensors[unit_of(l, i)->first_tensor].persistent) continue;
    SL_TRY(sl_build_buffer(l, &h->persistent[i], SL_SCOPE_PERSISTENT, SL_CATEGORY_PARAMETER, l->dtype, whole_of(l, i),
                           "%s", name_of(l, i)));
  }
  SL_TRY(sl_flat_gather_open(l));
  return open_secondary(l);
}

enum sl_status sl_gather_start(struct sl_lowering *l) {
  const size_t n = (size_t)l->pp_rank->unit_count;
  struct sl_gather *g;
  SL_TRY(sl_calloc(&g, 1, sizeof *g));
  l->zero->gather = g;
  SL_TRY(sl_calloc(&g->live, n, sizeof *g->live));
  SL_TRY(sl_calloc(&g->kept, n, sizeof *g->kept));
  SL_TRY(sl_calloc(&g->fresh, n, sizeof *g->fresh));
  return sl_calloc(&g->request, n, sizeof *g->request);
}

void sl_gather_stop(struct sl_lowering *l) {
  struct sl_gather *g = l->zero->gather;
  if (g == NULL) return;
  free(g->uses);
  free(g->live);
  free(g->kept);
  free(g->fresh);
  free(g->request);
  free(g);
}

enum sl_status sl_gather_begin(struct sl_lowering *l) {
  struct sl_gather *g = l->zero->gather;
  if (g->all_uses == 0) {
    SL_TRY(trace(l, &l->stage->forward));
    g->forward_uses = g->use_count;
    SL_TRY(trace(l, &l->stage->backward));
    g->all_uses = g->use_count;
  }
  g->use_count = l->zero->evaluates ? g->forward_uses : g->all_uses;
  g->cursor = g->ahead = 0;
  g->live_numel = 0;
  for (int i = 0; i < l->pp_rank->unit_count; i++) g->live[i] = -1;
  return SL_OK;
}

/* The first backward to be lowered follows the forward; later ones follow other instances of it, in the same state. */
enum sl_status sl_gather_resume(struct sl_lowering *l) {
  struct sl_gather *g = l->zero->gather;
  const size_t bytes = (size_t)l->pp_rank->unit_count * sizeof *g->live;
  if (g->cursor == g->forward_uses) {
    memcpy(g->kept, g->live, bytes);
    g->kept_numel = g->live_numel;
  }
  memcpy(g->live, g->kept, bytes);
  g->live_numel = g->kept_numel;
  g->cursor = g->ahead = g->forward_uses;
  return SL_OK;
}

bool sl_gather_traces(const struct sl_lowering *l) {
  return l->plan->strategy.shard_params && !l->plan->unshards;
}

/* The buffer of the current stage's unsharded copy of a unit. */
static int32_t *unsharded(const struct sl_lowering *l, int unit) {
  return &l->homes->unsharded[(l->stage - l->stages) * l->pp_rank->unit_count + unit];
}

void sl_gather_bind(const struct sl_lowering *l, struct sl_operand *o) {
  const struct sl_placed *t = &l->pp_rank->tensors[o->placed];
  const int32_t now = sl_gather_traces(l) ? l->zero->gather->live[t->unit] : *unsharded(l, t->unit);
  o->buffer = o->slice.buffer = l->homes->persistent[t->unit] >= 0 ? l->homes->persistent[t->unit] : now;
  o->slice.offset += (t->flat - unit_of(l, t->unit)->first) * sl_dtype_bytes(l->dtype);
}

static bool has_secondary(const struct sl_lowering *l, int unit) {
  return l->homes->secondary >= 0 && group_of(l, unit)->secondary > 1;
}

/* Requests a unit for use `at` of the trace, unless it is gathered or requested already. Returns the number of newly
 * requested elements. */
static int64_t request(const struct sl_lowering *l, int unit, size_t at) {
  struct sl_gather *g = l->zero->gather;
  for (int i = 0; i < g->request_count; i++) {
    if (g->request[i].unit == unit) return 0;
  }
  if (l->homes->persistent[unit] >= 0 || g->live[unit] >= 0) return 0;
  g->request[g->request_count++] = (struct request){unit, has_secondary(l, unit) && at >= g->forward_uses};
  return unit_of(l, unit)->numel;
}

static struct sl_op gather_op(const struct sl_lowering *l, enum sl_phase phase, enum sl_group group, int64_t count) {
  struct sl_op op = sl_zero_collective(l, SL_OP_ALL_GATHER, group, l->dtype, phase, SL_PAYLOAD_PARAMETER, count);
  if (l->plan->strategy.gathers_at_once) op.flags &= ~(unsigned)SL_OP_AFTER_COMPUTE;
  return op;
}

/* This rank's part of a unit's second copy. */
static struct sl_operand secondary_part(const struct sl_lowering *l, int unit, enum sl_access access) {
  return sl_build_part(l, l->homes->secondary, access, l->homes->secondary_part[unit], secondary_of(l, unit));
}

/* Keeps it, from the gathered unit. */
static enum sl_status keep_secondary(struct sl_lowering *l, struct sl_program *p, int unit, int32_t whole, int lane) {
  const int64_t part = secondary_of(l, unit);
  struct sl_op op = sl_zero_op(SL_OP_COPY, l->dtype, SL_PHASE_FORWARD, part);
  struct sl_operand own = sl_build_part(l, whole, SL_READ, 0, part);
  op.lane = (enum sl_lane)lane, op.place_group = SL_GROUP_SECONDARY;
  own.slice.shard_stride = own.slice.bytes;
  return SL_BUILD_EMIT(p, op, own, secondary_part(l, unit, SL_WRITE));
}

/* One coalesced all-gather of what is requested of a parameter group, over all ranks that shard it or from the second
 * copy, into new buffers. */
static enum sl_status gather_from(struct sl_lowering *l, struct sl_program *p, enum sl_phase phase, int group,
                                  bool secondary) {
  struct sl_gather *g = l->zero->gather;
  const enum sl_group shard = l->pp_rank->layouts[group].group.shard;
  struct sl_op op = gather_op(l, phase, secondary ? SL_GROUP_SECONDARY : shard, 0);
  bool fp8 = true;
  int n = 0;
  for (int i = 0; i < g->request_count; i++) {
    const int unit = g->request[i].unit;
    if (g->request[i].secondary != secondary || unit_of(l, unit)->group != group) continue;
    /* forwards and backwards of other micro-batches may come between a forward and its backward */
    SL_TRY(sl_build_buffer(l, &g->live[unit], SL_SCOPE_WRITTEN, SL_CATEGORY_COMMUNICATION, l->dtype, whole_of(l, unit),
                           "%s.%s", name_of(l, unit), sl_phase_name(phase)));
    g->live_numel += unit_of(l, unit)->numel, g->fresh[unit] = true;
    if (secondary)
      l->zero->wide[n++] = secondary_part(l, unit, SL_READ);
    else
      SL_TRY(sl_part_to_gather(l, p, op, unit, &l->zero->wide[n++]));
    l->zero->wide[n++] = sl_build_write(l, g->live[unit]);
    op.dim[0] += whole_of(l, unit);
    fp8 &= sl_flat_gather_in_fp8(l, unit);
  }
  if (fp8) op.dtype = SL_F8;
  return n > 0 ? sl_quantize_gather(l, p, op, n, l->zero->wide) : SL_OK;
}

/* Gathers everything that is requested. */
static enum sl_status gather(struct sl_lowering *l, struct sl_program *p, enum sl_phase phase) {
  for (int g = 0; g < l->pp_rank->group_count; g++) {
    SL_TRY(gather_from(l, p, phase, g, false));
    SL_TRY(gather_from(l, p, phase, g, true));
  }
  l->zero->gather->request_count = 0;
  return SL_OK;
}

/* Reads the trace ahead from where the last prefetch stopped, up to a number of elements. */
static void prefetch_elements(struct sl_lowering *l) {
  struct sl_gather *g = l->zero->gather;
  const struct sl_config *config = l->plan->config;
  int64_t room = config->zero.max_live_parameters - g->live_numel;
  if (room > config->zero.prefetch_bucket_size) room = config->zero.prefetch_bucket_size;
  if (g->ahead <= g->cursor) g->ahead = g->cursor + 1;
  for (int64_t asked = 0; g->ahead < g->use_count && asked < room; g->ahead++) {
    const struct use *u = &g->uses[g->ahead];
    for (int k = 0; k < u->count; k++) asked += request(l, u->unit[k], g->ahead);
  }
}

/* Requests the next unit of the trace that is not gathered, unless a prefetch is in flight already. */
static void prefetch_unit(struct sl_lowering *l) {
  struct sl_gather *g = l->zero->gather;
  const struct use *now = &g->uses[g->cursor];
  for (size_t i = g->cursor + 1; i < g->use_count; i++) {
    const struct use *u = &g->uses[i];
    for (int k = 0; k < u->count; k++) {
      if (u->unit[k] == now->unit[0]) continue;
      if (request(l, u->unit[k], i) > 0 || u->unit[k] != 0)
        return; /* unit 0 is the root, which is always gathered within a pass */
    }
  }
}

/* Before a gathered unit's first use, when compute has waited for it. DeepSpeed keeps the second copy on that stream,
 * too (_partition_param_sec); on a lane nothing waits for, it would bar the unit's place to what is gathered later. */
static enum sl_status arrived(struct sl_lowering *l, struct sl_program *p, enum sl_phase phase, int unit) {
  const struct sl_gather *g = l->zero->gather;
  SL_TRY(sl_flat_gather_copy_out(l, p, phase, unit));
  const bool keeps = has_secondary(l, unit) && g->cursor < g->forward_uses;
  return keeps ? keep_secondary(l, p, unit, g->live[unit], SL_LANE_COMPUTE) : SL_OK;
}

enum sl_status sl_gather_before(struct sl_lowering *l, struct sl_program *p, enum sl_phase phase,
                                const struct sl_draft *draft) {
  struct sl_gather *g = l->zero->gather;
  if (g->cursor == g->use_count || g->uses[g->cursor].draft != draft) return SL_OK;
  const struct use *u = &g->uses[g->cursor];
  for (int k = 0; k < u->count; k++) request(l, u->unit[k], g->cursor);
  SL_TRY(gather(l, p, phase));
  (l->plan->strategy.prefetch_units ? prefetch_unit : prefetch_elements)(l);
  SL_TRY(gather(l, p, phase));
  for (int k = 0; k < u->count; k++) {
    if (g->fresh[u->unit[k]]) SL_TRY(arrived(l, p, phase, u->unit[k]));
    g->fresh[u->unit[k]] = false;
  }
  return SL_OK;
}

/* Is `unit` used again before the strategy releases it? */
static bool stays(const struct sl_lowering *l, int unit) {
  const struct sl_gather *g = l->zero->gather;
  const enum sl_release release = l->plan->strategy.release;
  const size_t pass_end = g->cursor < g->forward_uses ? g->forward_uses : g->use_count;
  const size_t end = release == SL_RELEASE_PASS && unit != 0 ? pass_end : g->use_count; /* FSDP keeps its root */
  int64_t distance = 0;
  for (size_t i = g->cursor + 1; i < end; i++) {
    if (release == SL_RELEASE_DISTANCE && distance >= l->plan->config->zero.max_reuse_distance) return false;
    for (int k = 0; k < g->uses[i].count; k++) {
      if (g->uses[i].unit[k] == unit) return true;
      distance += unit_of(l, g->uses[i].unit[k])->numel;
    }
  }
  return false;
}

void sl_gather_after(struct sl_lowering *l, const struct sl_draft *draft) {
  struct sl_gather *g = l->zero->gather;
  if (g->cursor == g->use_count || g->uses[g->cursor].draft != draft) return;
  const struct use *u = &g->uses[g->cursor];
  for (int k = 0; k < u->count; k++) {
    const int unit = u->unit[k];
    if (g->live[unit] < 0 || stays(l, unit)) continue;
    g->live[unit] = -1;
    g->live_numel -= unit_of(l, unit)->numel;
  }
  g->cursor++;
}

/* Which units the stage at hand reads. */
static void mark_used(const struct sl_lowering *l, const struct sl_drafts *drafts, int32_t *used) {
  for (size_t i = 0; i < drafts->count; i++) {
    for (int k = 0; k < drafts->items[i].operand_count; k++) {
      const struct sl_operand *o = &drafts->items[i].operand[k];
      if (o->buffer < 0 && !o->gradient) used[l->pp_rank->tensors[o->placed].unit] = 1;
    }
  }
}

enum sl_status sl_gather_open_stage(struct sl_lowering *l) {
  int32_t *used;
  enum sl_status status = SL_OK;
  if (!l->plan->strategy.shard_params || sl_gather_traces(l)) return SL_OK;
  SL_TRY(sl_calloc(&used, (size_t)l->pp_rank->unit_count, sizeof *used));
  mark_used(l, &l->stage->forward, used);
  mark_used(l, &l->stage->backward, used);
  for (int i = 0; i < l->pp_rank->unit_count; i++) {
    if (!used[i] || l->homes->persistent[i] >= 0) continue;
    SL_GO(sl_build_buffer(l, unsharded(l, i), SL_SCOPE_WRITTEN, SL_CATEGORY_COMMUNICATION, l->dtype, whole_of(l, i),
                          "%s.unsharded", name_of(l, i)));
    sl_build_slots(l, *unsharded(l, i), SL_SLOT_PARAMETER);
  }
done:
  free(used);
  return status;
}

/* Parameters do not change within a step, so only the first UNSHARD of a stage has to communicate beyond the secondary
 * group. */
enum sl_status sl_gather_stage(struct sl_lowering *l, struct sl_program *p, bool again) {
  for (int i = 0; i < l->pp_rank->unit_count; i++) {
    if (*unsharded(l, i) < 0) continue;
    const bool secondary = has_secondary(l, i) && again;
    const enum sl_group group = secondary ? SL_GROUP_SECONDARY : group_of(l, i)->shard;
    struct sl_operand pair[2] = {{0}, sl_build_write(l, *unsharded(l, i))};
    struct sl_op op = gather_op(l, SL_PHASE_FORWARD, group, whole_of(l, i));
    if (secondary)
      pair[0] = secondary_part(l, i, SL_READ);
    else
      SL_TRY(sl_part_to_gather(l, p, op, i, &pair[0]));
    if (sl_flat_gather_in_fp8(l, i)) op.dtype = SL_F8;
    SL_TRY(sl_quantize_gather(l, p, op, 2, pair));
    SL_TRY(sl_flat_gather_copy_out(l, p, SL_PHASE_FORWARD, i));
    if (has_secondary(l, i) && !again) SL_TRY(keep_secondary(l, p, i, *unsharded(l, i), SL_LANE_SECONDARY));
  }
  return SL_OK;
}

/* Gathers a parameter group in one coalesced call. */
static enum sl_status gather_group(struct sl_lowering *l, struct sl_program *p, enum sl_phase phase,
                                   const struct sl_layout *layout) {
  const int32_t *persistent = l->homes->persistent;
  struct sl_op op =
      sl_zero_collective(l, SL_OP_ALL_GATHER, layout->group.shard, l->dtype, phase, SL_PAYLOAD_PARAMETER, 0);
  int n = 0;
  for (int i = layout->first_unit; i < layout->first_unit + layout->unit_count; i++) {
    if (persistent[i] < 0) continue;
    SL_TRY(sl_part_to_gather(l, p, op, i, &l->zero->wide[n++]));
    l->zero->wide[n++] = sl_build_write(l, persistent[i]);
    op.dim[0] += whole_of(l, i);
  }
  return n > 0 ? sl_build_emit(p, op, n, l->zero->wide) : SL_OK;
}

enum sl_status sl_gather_persistent(struct sl_lowering *l, struct sl_program *p, enum sl_phase phase) {
  for (int g = 0; g < l->pp_rank->group_count; g++) SL_TRY(gather_group(l, p, phase, &l->pp_rank->layouts[g]));
  return SL_OK;
}
