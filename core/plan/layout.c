/* What one pipeline rank holds and which member of a sharding group owns which elements of it; see layout.h. What that means
 * for buffers stands in lower/zero.c. */
#include "core/plan/layout.h"

#include "core/plan/plan.h"

#include <stdlib.h>

/* DeepSpeed starts partitions on multiples of this many elements (nccl_start_alignment_factor, stage_1_and_2.py). */
enum { START_ALIGNMENT = 2 };

static int64_t round_up(int64_t n, int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

/* Is dimension `dim` of `t` cut over the tp group, or padded? */
static bool is_cut(const struct sl_plan *plan, const struct sl_tensor *t, int dim) {
  return t->tp_dim == dim && (plan->tp > 1 || (t->vocabulary && plan->vocab_multiple > 1));
}

/* A member's part of one of the tp_blocks blocks of dimension tp_dim. */
static int64_t width_of(const struct sl_plan *plan, const struct sl_tensor *t) {
  const int64_t block = t->shape[t->tp_dim] / (t->tp_blocks > 1 ? t->tp_blocks : 1);
  return round_up((block + plan->tp - 1) / plan->tp, t->vocabulary ? plan->vocab_multiple : 1);
}

int64_t sl_plan_local_size(const struct sl_plan *plan, const struct sl_tensor *t, int dim) {
  if (!is_cut(plan, t, dim)) return t->shape[dim];
  return (t->tp_blocks > 1 ? t->tp_blocks : 1) * width_of(plan, t);
}

/* Tensor parallelism cuts dimension tp_dim of each of tp_blocks blocks into tp widths, so a logical tensor is
 * (outer x blocks, tp, width x inner), the last width of a block perhaps not full. */
struct sl_run_of sl_plan_logical_run(const struct sl_plan *plan, const struct sl_tensor *t, int place, int64_t local,
                                     int64_t end) {
  if (t->tp_dim < 0 || !is_cut(plan, t, t->tp_dim)) return (struct sl_run_of){local, local, end - local};
  const int64_t inner = t->tp_dim == 0 && t->n_dim == 2 ? t->shape[1] : 1;
  const int64_t blocks = t->tp_blocks > 1 ? t->tp_blocks : 1, block = t->shape[t->tp_dim] / blocks * inner;
  const int64_t width = width_of(plan, t) * inner;
  const int64_t row = local / width, column = local % width, first = place * width + column;
  const int64_t own = block - place * width < width ? block - place * width : width; /* elements that are no padding */
  const bool padding = column >= own;
  const int64_t left = (padding ? width : own) - column;
  return (struct sl_run_of){local, padding ? -1 : row * block + first, left < end - local ? left : end - local};
}

/* Whose gradients are made of a member's own tokens only under sequence parallelism: what stands in the residual stream's
 * region, which is every replicated tensor but the positions, whose gradient is made from gathered rows. */
static bool is_partial(const struct sl_plan *plan, const struct sl_tensor *t) {
  return plan->sequence_parallel && t->tp_dim < 0 && t->layer >= 0;
}

/* Does stage `c` use tensor `i` of the model? The head uses a tied embedding. */
static bool uses(const struct sl_plan *plan, const struct sl_stage *c, int i) {
  const struct sl_tensor *t = &plan->model->tensors[i];
  const bool embedding = t->layer < 0, head = plan->model->type != SL_MODEL_MLP && t->layer >= plan->model->n_layer;
  if (embedding) return c->embedding || (c->head && i == 0 && plan->model->tied_head);
  if (head) return c->head;
  return t->layer >= c->first_layer && t->layer < c->first_layer + c->layer_count;
}

static void place_tensor(struct sl_pp_rank *pp_rank, const struct sl_plan *plan, int tensor, int stage) {
  const struct sl_tensor *t = &plan->model->tensors[tensor];
  int64_t numel = 1;
  for (int d = 0; d < t->n_dim; d++) numel *= sl_plan_local_size(plan, t, d);
  pp_rank->placed_of[tensor] = pp_rank->tensor_count;
  pp_rank->tensors[pp_rank->tensor_count++] = (struct sl_placed){
      .tensor = tensor,
      .stage = stage,
      .numel = numel,
      .replicated = plan->tp > 1 && t->tp_dim < 0,
      .partial = is_partial(plan, t),
      .tied = tensor == 0 && sl_plan_ties(plan),
      .shared = tensor == 0 && plan->model->tied_head && plan->stage_count > 1 && !sl_plan_ties(plan)};
  pp_rank->layout.numel += numel;
}

/* The flat space: stage by stage in model order; a strategy of layers puts what is outside the blocks first, as FSDP's root
 * unit. */
static enum sl_status order_tensors(struct sl_pp_rank *pp_rank, const struct sl_plan *plan) {
  const struct sl_model *model = plan->model;
  SL_TRY(sl_calloc(&pp_rank->tensors, (size_t)model->tensor_count, sizeof *pp_rank->tensors));
  SL_TRY(sl_calloc(&pp_rank->placed_of, (size_t)model->tensor_count, sizeof *pp_rank->placed_of));
  for (int i = 0; i < model->tensor_count; i++) pp_rank->placed_of[i] = -1;
  const bool root_first = plan->strategy.units == SL_UNITS_LAYER;
  for (int c = 0; c < pp_rank->stage_count; c++) {
    for (int pass = root_first ? 0 : 1; pass < 2; pass++) {
      for (int i = 0; i < model->tensor_count; i++) {
        const bool in_root = root_first && (model->tensors[i].layer < 0 || model->tensors[i].layer >= model->n_layer);
        if (in_root != (pass == 0) && root_first) continue;
        if (pp_rank->placed_of[i] >= 0 || !uses(plan, &plan->stages[pp_rank->stages[c]], i)) continue;
        place_tensor(pp_rank, plan, i, c);
      }
    }
  }
  return SL_OK;
}

/* Does placed tensor `i` > 0 belong with the one before it? Not where the next stage begins, because stages are reduced at
 * different times, nor a tied embedding with anything: it is split alike on both its pipeline ranks, so that parts can be
 * summed over the two, or is complete when both stages that use it are. */
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

/* Units that start where the rule says, in one pass. */
static void cut_units(struct sl_pp_rank *pp_rank, const struct sl_plan *plan) {
  struct sl_layout *layout = &pp_rank->layout;
  for (int i = 0; i < pp_rank->tensor_count; i++) {
    if (i == 0 || starts_unit(plan, pp_rank, i)) {
      layout->units[layout->unit_count++] = (struct sl_unit){.first_tensor = i, .owner = -1};
    }
    layout->units[layout->unit_count - 1].tensor_count++;
  }
}

int64_t sl_plan_bucket_limit(const struct sl_plan *plan, const struct sl_pp_rank *pp_rank, int placed, bool first) {
  const struct sl_strategy *s = &plan->strategy;
  const struct sl_stage *stage = &plan->stages[pp_rank->stages[pp_rank->tensors[placed].stage]];
  if (s->whole_later_stages && (stage->rank > 0 || stage->local > 0)) return INT64_MAX;
  return first ? s->first_bucket : s->bucket;
}

/* Buckets as units fill from the last tensor and close with the one that reaches the limit. */
static void cut_buckets(struct sl_pp_rank *pp_rank, const struct sl_plan *plan) {
  struct sl_layout *layout = &pp_rank->layout;
  int64_t open = 0;
  int count = 0;
  for (int i = pp_rank->tensor_count - 1; i >= 0; i--) {
    open += pp_rank->tensors[i].numel;
    count++;
    const int64_t limit = sl_plan_bucket_limit(plan, pp_rank, i, layout->unit_count == 0);
    if (open < limit && i > 0 && !stands_alone(pp_rank, i)) continue;
    layout->units[layout->unit_count++] = (struct sl_unit){.first_tensor = i, .tensor_count = count, .owner = -1};
    open = count = 0;
  }
  for (int a = 0, b = layout->unit_count - 1; a < b; a++, b--) {
    const struct sl_unit swap = layout->units[a];
    layout->units[a] = layout->units[b];
    layout->units[b] = swap;
  }
}

/* Positions, padding and even parts. */
static void place_units(struct sl_pp_rank *pp_rank, int64_t alignment) {
  struct sl_layout *layout = &pp_rank->layout;
  for (int k = 0; k < layout->unit_count; k++) {
    struct sl_unit *u = &layout->units[k];
    u->first = layout->padded;
    for (int i = 0; i < u->tensor_count; i++) {
      struct sl_placed *t = &pp_rank->tensors[u->first_tensor + i];
      t->flat = u->first + u->numel;
      t->unit = k;
      u->numel += t->numel;
    }
    const int64_t padded = layout->members == 1 ? u->numel : round_up(u->numel, alignment * layout->members);
    u->part = padded / layout->members;
    u->shard_offset = layout->shard_numel;
    layout->shard_numel += u->part;
    layout->padded += padded;
  }
}

/* PyTorch's partition (zero_redundancy_optimizer.py, _partition_parameters): parameters by size, largest first, each whole to
 * the first of the members with the smallest total. */
static enum sl_status deal_owners(struct sl_pp_rank *pp_rank) {
  struct sl_layout *layout = &pp_rank->layout;
  bool *dealt;
  SL_TRY(sl_calloc(&layout->member_numel, (size_t)layout->members, sizeof *layout->member_numel));
  SL_TRY(sl_calloc(&dealt, (size_t)layout->unit_count, sizeof *dealt));
  layout->padded = layout->shard_numel = 0;
  for (int n = 0; n < layout->unit_count; n++) {
    int largest = -1, owner = 0;
    for (int i = 0; i < layout->unit_count; i++) {
      if (!dealt[i] && (largest < 0 || layout->units[i].numel > layout->units[largest].numel)) largest = i;
    }
    for (int g = 1; g < layout->members; g++) {
      if (layout->member_numel[g] < layout->member_numel[owner]) owner = g;
    }
    struct sl_unit *u = &layout->units[largest];
    dealt[largest] = true;
    u->owner = owner;
    u->part = u->numel;
    u->shard_offset = layout->member_numel[owner];
    layout->member_numel[owner] += u->numel;
  }
  for (int i = 0; i < layout->unit_count; i++) {
    struct sl_unit *u = &layout->units[i];
    u->first = pp_rank->tensors[u->first_tensor].flat = layout->padded;
    layout->padded += u->numel;
  }
  for (int g = 0; g < layout->members; g++) {
    if (layout->member_numel[g] > layout->shard_numel) layout->shard_numel = layout->member_numel[g];
  }
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
  struct sl_layout *layout = &pp_rank->layout;
  SL_TRY(order_tensors(pp_rank, plan));
  layout->members = plan->shard;
  SL_TRY(sl_calloc(&layout->units, (size_t)pp_rank->tensor_count, sizeof *layout->units));
  if (units == SL_UNITS_BUCKET) {
    cut_buckets(pp_rank, plan);
  } else {
    cut_units(pp_rank, plan);
  }
  place_units(pp_rank, units == SL_UNITS_FLAT ? START_ALIGNMENT : 1);
  if (units == SL_UNITS_PARAMETER) mark_persistent(pp_rank, plan->config);
  return units == SL_UNITS_OWNER ? deal_owners(pp_rank) : SL_OK;
}

void sl_layout_free(struct sl_pp_rank *pp_rank) {
  free(pp_rank->stages);
  free(pp_rank->tensors);
  free(pp_rank->placed_of);
  free(pp_rank->layout.units);
  free(pp_rank->layout.member_numel);
}

struct sl_piece sl_layout_piece(const struct sl_pp_rank *pp_rank, int placed, int member) {
  const struct sl_placed *t = &pp_rank->tensors[placed];
  const struct sl_unit *u = &pp_rank->layout.units[t->unit];
  if (u->owner >= 0 && u->owner != member) return (struct sl_piece){0};
  const int64_t own_first = u->first + (u->owner >= 0 ? 0 : u->part * member), own_end = own_first + u->part;
  const int64_t first = t->flat > own_first ? t->flat : own_first;
  const int64_t tensor_end = t->flat + t->numel;
  const int64_t end = tensor_end < own_end ? tensor_end : own_end;
  if (end <= first) return (struct sl_piece){0};
  return (struct sl_piece){
      .first = first - t->flat, .count = end - first, .offset = u->shard_offset + first - own_first};
}
