/* What a pipeline rank holds, and which member of a sharding group owns which elements of it; see layout.h.
 * lower/zero.c turns it into buffers. */
#include "core/plan/layout.h"

#include "core/base/checked.h"
#include "core/plan/cut.h"
#include "core/plan/plan.h"

#include <stdlib.h>

/* DeepSpeed starts partitions at multiples of this many elements (nccl_start_alignment_factor, stage_1_and_2.py). */
enum { START_ALIGNMENT = 2 };

struct sl_run_of sl_plan_logical_run(const struct sl_plan *plan, const struct sl_tensor *t, int place, int64_t local,
                                     int64_t end) {
  const struct sl_cut cut = sl_cut_of(plan, t);
  return sl_cut_run(&cut, cut.members > 1 ? place : 0, local, end);
}

/* Does a member compute only a partial sum of the gradient? So it is for norms of each head of q and k, whose members
 * see their own heads only (norms over all heads gather them); for the only key head of a multi-query model and its norm,
 * of which each member has the queries of its own heads; and, under sequence parallelism, for every replicated tensor in the
 * region of the residual stream, whose members see their own tokens only. The table of positions is the exception: its
 * gradient is computed from gathered rows. */
static bool is_partial(const struct sl_plan *plan, const struct sl_tensor *t) {
  const bool by_head = plan->model->form.qk_norm == SL_QK_NORM_HEAD;
  if (t->tp_dim >= 0 || !sl_model_reads_tokens(plan->model)) return false;
  switch (t->part) {
  case SL_PART_Q_NORM:
    return plan->tp > 1 && by_head;
  case SL_PART_K_NORM:
    return plan->tp > 1 && (by_head || sl_model_shares_key_head(plan->model));
  case SL_PART_K:
  case SL_PART_V:
    return plan->tp > 1;
  case SL_PART_POSITIONS:
    return false;
  default:
    return plan->sequence_parallel;
  }
}

/* Does stage `c` use tensor `i` of the model? The LM head uses a tied embedding. */
static bool uses(const struct sl_plan *plan, const struct sl_stage *c, int i) {
  const struct sl_tensor *t = &plan->model->tensors[i];
  const bool embedding = t->layer < 0, head = t->layer >= plan->model->n_layer;
  if (embedding) return c->embedding || (c->head && i == 0 && plan->model->tied_head);
  if (head) return c->head;
  return t->layer >= c->first_layer && t->layer < c->first_layer + c->layer_count;
}

static enum sl_status place_tensor(struct sl_pp_rank *pp_rank, const struct sl_plan *plan, int tensor, int stage) {
  const struct sl_tensor *t = &plan->model->tensors[tensor];
  const bool linear = t->n_dim == 2 && t->layer >= 0 && t->layer < plan->model->n_layer;
  int64_t numel = 1;
  for (int d = 0; d < t->n_dim; d++) numel *= sl_cut_local_size(plan, t, d);
  SL_TRY(sl_grow(&pp_rank->tensors, &pp_rank->tensor_capacity, (size_t)pp_rank->tensor_count + 1,
                 sizeof *pp_rank->tensors));
  pp_rank->placed_of[tensor] = pp_rank->tensor_count;
  pp_rank->tensors[pp_rank->tensor_count++] = (struct sl_placed){.tensor = tensor,
                                                                 .stage = stage,
                                                                 .numel = numel,
                                                                 .group = t->group,
                                                                 .replicated = plan->tp > 1 && sl_cut_is_whole(plan, t),
                                                                 .partial = is_partial(plan, t),
                                                                 .tied = tensor == 0 && sl_plan_ties(plan),
                                                                 .shared = tensor == 0 && plan->model->tied_head &&
                                                                           plan->stage_count > 1 && !sl_plan_ties(plan),
                                                                 .linear = linear ? pp_rank->linear_count++ : -1};
  pp_rank->numel += numel;
  return SL_OK;
}

/* Is tensor `i` of the model outside the blocks? */
static bool in_root(const struct sl_model *model, int i) {
  return model->tensors[i].layer < 0 || model->tensors[i].layer >= model->n_layer;
}

/* Places the tensors of group `group` of the rank's stage `local` that no earlier stage has placed; if units are
 * layers, only those of the root, or only the others. */
static enum sl_status order_stage(struct sl_pp_rank *pp_rank, const struct sl_plan *plan, int group, int local,
                                  bool root) {
  const struct sl_model *model = plan->model;
  const bool split = plan->strategy.units == SL_UNITS_LAYER;
  for (int i = 0; i < model->tensor_count; i++) {
    if (model->tensors[i].group != group || (split && in_root(model, i) != root)) continue;
    if (pp_rank->placed_of[i] >= 0 || !uses(plan, &plan->stages[pp_rank->stages[local]], i)) continue;
    SL_TRY(place_tensor(pp_rank, plan, i, local));
  }
  return SL_OK;
}

/* The flat space: group by group, stage by stage in model order. If units are layers, what is outside the blocks comes
 * first, as FSDP's root unit. */
static enum sl_status order_tensors(struct sl_pp_rank *pp_rank, const struct sl_plan *plan) {
  const struct sl_model *model = plan->model;
  SL_TRY(sl_calloc(&pp_rank->placed_of, (size_t)model->tensor_count, sizeof *pp_rank->placed_of));
  for (int i = 0; i < model->tensor_count; i++) pp_rank->placed_of[i] = -1;
  for (int g = 0; g < plan->group_count; g++) {
    struct sl_layout *layout = &pp_rank->layouts[g];
    *layout = (struct sl_layout){.group = plan->groups[g], .first_tensor = pp_rank->tensor_count};
    for (int c = 0; c < pp_rank->stage_count; c++) {
      SL_TRY(order_stage(pp_rank, plan, g, c, true));
      SL_TRY(order_stage(pp_rank, plan, g, c, false));
    }
    layout->tensor_count = pp_rank->tensor_count - layout->first_tensor;
  }
  return SL_OK;
}

/* Must placed tensor `i` > 0 be separate from the one before it? Yes where the next stage begins, because stages are
 * reduced at different times. Yes for a tied embedding: it is either split identically on both of its pipeline ranks,
 * so that parts can be summed over the two, or complete only when both stages that use it are. */
static bool stands_alone(const struct sl_pp_rank *pp_rank, int i) {
  const struct sl_placed *now = &pp_rank->tensors[i], *before = &pp_rank->tensors[i - 1];
  return now->tied || before->tied || now->shared || before->shared || now->stage != before->stage;
}

/* Does a new unit start at placed tensor `i` > 0? */
static bool starts_unit(const struct sl_plan *plan, const struct sl_pp_rank *pp_rank, int i) {
  const struct sl_model *model = plan->model;
  const struct sl_tensor *now = &model->tensors[pp_rank->tensors[i].tensor];
  if (stands_alone(pp_rank, i)) return true;
  switch (plan->strategy.units) {
  case SL_UNITS_PARAMETER:
  case SL_UNITS_OWNER:
    return true;
  case SL_UNITS_LAYER: {
    const struct sl_tensor *before = &model->tensors[pp_rank->tensors[i - 1].tensor];
    const bool in_block = now->layer >= 0 && now->layer < model->n_layer;
    return in_block && before->layer != now->layer;
  }
  default:
    return false;
  }
}

/* Opens a new unit after the existing ones. */
static struct sl_unit *open_unit(struct sl_pp_rank *pp_rank, struct sl_layout *layout, int first_tensor) {
  struct sl_unit *u = &pp_rank->units[pp_rank->unit_count++];
  *u = (struct sl_unit){.first_tensor = first_tensor, .owner = -1, .group = (int)(layout - pp_rank->layouts)};
  layout->unit_count++;
  return u;
}

/* Divides a layout into units, wherever starts_unit says, in one pass. */
static void cut_units(struct sl_pp_rank *pp_rank, const struct sl_plan *plan, struct sl_layout *layout) {
  struct sl_unit *open = NULL;
  for (int i = layout->first_tensor; i < layout->first_tensor + layout->tensor_count; i++) {
    if (open == NULL || starts_unit(plan, pp_rank, i)) open = open_unit(pp_rank, layout, i);
    open->tensor_count++;
  }
}

int64_t sl_plan_bucket_limit(const struct sl_plan *plan, const struct sl_pp_rank *pp_rank, int placed, bool first) {
  const struct sl_strategy *s = &plan->strategy;
  const struct sl_stage *stage = &plan->stages[pp_rank->stages[pp_rank->tensors[placed].stage]];
  if (s->whole_later_stages && (stage->rank > 0 || stage->local > 0)) return INT64_MAX;
  return first ? s->first_bucket : s->bucket;
}

/* Units that are buckets fill from the last tensor on and close with the one that reaches the limit. */
static void cut_buckets(struct sl_pp_rank *pp_rank, const struct sl_plan *plan, struct sl_layout *layout) {
  int64_t open = 0;
  int count = 0;
  for (int i = layout->first_tensor + layout->tensor_count - 1; i >= layout->first_tensor; i--) {
    open += pp_rank->tensors[i].numel;
    count++;
    const int64_t limit = sl_plan_bucket_limit(plan, pp_rank, i, layout->unit_count == 0);
    if (open < limit && i > layout->first_tensor && !stands_alone(pp_rank, i)) continue;
    open_unit(pp_rank, layout, i)->tensor_count = count;
    open = count = 0;
  }
  for (int a = layout->first_unit, b = pp_rank->unit_count - 1; a < b; a++, b--) {
    const struct sl_unit swap = pp_rank->units[a];
    pp_rank->units[a] = pp_rank->units[b];
    pp_rank->units[b] = swap;
  }
}

/* Sets position, padding and equal parts of unit `k`. */
static void place_unit(struct sl_pp_rank *pp_rank, int k, int members, int64_t alignment) {
  struct sl_unit *u = &pp_rank->units[k];
  u->first = pp_rank->padded;
  for (int i = 0; i < u->tensor_count; i++) {
    struct sl_placed *t = &pp_rank->tensors[u->first_tensor + i];
    t->flat = u->first + u->numel;
    t->unit = k;
    u->numel += t->numel;
  }
  const int64_t padded = members == 1 ? u->numel : sl_round_up(u->numel, alignment * members);
  u->part = padded / members;
  u->shard_offset = pp_rank->shard_numel;
  pp_rank->shard_numel += u->part;
  pp_rank->padded += padded;
}

/* Lays out the units of a group after those of earlier groups. */
static void lay_out(struct sl_pp_rank *pp_rank, const struct sl_plan *plan, struct sl_layout *layout) {
  const int64_t alignment = plan->strategy.units == SL_UNITS_FLAT ? START_ALIGNMENT : 1;
  layout->first = pp_rank->padded;
  layout->shard_first = pp_rank->shard_numel;
  layout->first_unit = pp_rank->unit_count;
  (plan->strategy.units == SL_UNITS_BUCKET ? cut_buckets : cut_units)(pp_rank, plan, layout);
  for (int k = 0; k < layout->unit_count; k++)
    place_unit(pp_rank, layout->first_unit + k, layout->group.members, alignment);
  for (int k = 0; k < layout->unit_count; k++) layout->numel += pp_rank->units[layout->first_unit + k].numel;
  layout->padded = pp_rank->padded - layout->first;
  layout->shard_numel = pp_rank->shard_numel - layout->shard_first;
}

/* PyTorch's partition (zero_redundancy_optimizer.py, _partition_parameters): parameters by size, largest first, each as
 * a whole to the first of the members with the smallest total. */
static enum sl_status deal_owners(struct sl_pp_rank *pp_rank) {
  struct sl_layout *layout = &pp_rank->layouts[0];
  const int members = layout->group.members;
  bool *dealt;
  SL_TRY(sl_calloc(&pp_rank->member_numel, (size_t)members, sizeof *pp_rank->member_numel));
  SL_TRY(sl_calloc(&dealt, (size_t)pp_rank->unit_count, sizeof *dealt));
  pp_rank->padded = pp_rank->shard_numel = 0;
  for (int n = 0; n < pp_rank->unit_count; n++) {
    int largest = -1, owner = 0;
    for (int i = 0; i < pp_rank->unit_count; i++) {
      if (!dealt[i] && (largest < 0 || pp_rank->units[i].numel > pp_rank->units[largest].numel)) largest = i;
    }
    for (int g = 1; g < members; g++) {
      if (pp_rank->member_numel[g] < pp_rank->member_numel[owner]) owner = g;
    }
    struct sl_unit *u = &pp_rank->units[largest];
    dealt[largest] = true;
    u->owner = owner;
    u->part = u->numel;
    u->shard_offset = pp_rank->member_numel[owner];
    pp_rank->member_numel[owner] += u->numel;
  }
  for (int i = 0; i < pp_rank->unit_count; i++) {
    struct sl_unit *u = &pp_rank->units[i];
    u->first = pp_rank->tensors[u->first_tensor].flat = pp_rank->padded;
    pp_rank->padded += u->numel;
  }
  for (int g = 0; g < members; g++) {
    if (pp_rank->member_numel[g] > pp_rank->shard_numel) pp_rank->shard_numel = pp_rank->member_numel[g];
  }
  layout->padded = pp_rank->padded;
  layout->shard_numel = pp_rank->shard_numel;
  free(dealt);
  return SL_OK;
}

/* Stage 3 keeps small parameters whole, in model order up to the model's limit, as DeepSpeed does
 * (parameter_offload.py, mark_persistent_parameters). */
static void mark_persistent(struct sl_pp_rank *pp_rank, const struct sl_config *config) {
  int64_t total = 0;
  for (int i = 0; i < pp_rank->tensor_count; i++) {
    struct sl_placed *t = &pp_rank->tensors[i];
    if (t->numel > config->zero.param_persistence_threshold) continue;
    if (t->numel > config->zero.model_persistence_threshold - total) continue;
    t->persistent = true;
    total += t->numel;
  }
}

enum sl_status sl_layout_build(struct sl_pp_rank *pp_rank, const struct sl_plan *plan) {
  const enum sl_units units = plan->strategy.units;
  pp_rank->group_count = plan->group_count;
  SL_TRY(sl_calloc(&pp_rank->layouts, (size_t)plan->group_count, sizeof *pp_rank->layouts));
  SL_TRY(order_tensors(pp_rank, plan));
  SL_TRY(sl_calloc(&pp_rank->units, (size_t)pp_rank->tensor_count, sizeof *pp_rank->units));
  for (int g = 0; g < plan->group_count; g++) lay_out(pp_rank, plan, &pp_rank->layouts[g]);
  if (units == SL_UNITS_PARAMETER) mark_persistent(pp_rank, plan->config);
  return units == SL_UNITS_OWNER ? deal_owners(pp_rank) : SL_OK;
}

void sl_layout_free(struct sl_pp_rank *pp_rank) {
  free(pp_rank->tensors);
  free(pp_rank->placed_of);
  free(pp_rank->layouts);
  free(pp_rank->units);
  free(pp_rank->member_numel);
  *pp_rank = (struct sl_pp_rank){.stages = pp_rank->stages, .stage_count = pp_rank->stage_count};
}

struct sl_piece sl_layout_piece(const struct sl_pp_rank *pp_rank, int placed, int member) {
  const struct sl_placed *t = &pp_rank->tensors[placed];
  const struct sl_unit *u = &pp_rank->units[t->unit];
  if (u->owner >= 0 && u->owner != member) return (struct sl_piece){0};
  const int64_t own_first = u->first + (u->owner >= 0 ? 0 : u->part * member), own_end = own_first + u->part;
  const int64_t first = t->flat > own_first ? t->flat : own_first;
  const int64_t tensor_end = t->flat + t->numel;
  const int64_t end = tensor_end < own_end ? tensor_end : own_end;
  if (end <= first) return (struct sl_piece){0};
  return (struct sl_piece){
      .first = first - t->flat, .count = end - first, .offset = u->shard_offset + first - own_first};
}
