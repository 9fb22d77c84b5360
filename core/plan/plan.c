/* Coordinates, process groups, and the layout of a stage's parameters over the ranks that shard them; see plan.h.
 * What the layout means for buffers stands in lower/zero.c. */
#include "core/plan/plan.h"

#include "core/plan/stages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sl_coord sl_plan_coord(const struct sl_plan *plan, int rank) {
  struct sl_coord c;
  c.tp = rank % plan->tp;
  c.cp = rank / plan->tp % plan->cp;
  c.dp = rank / (plan->tp * plan->cp) % plan->dp;
  c.pp = rank / (plan->tp * plan->cp * plan->dp);
  return c;
}

int sl_plan_rank(const struct sl_plan *plan, struct sl_coord c) {
  return ((c.pp * plan->dp + c.dp) * plan->cp + c.cp) * plan->tp + c.tp;
}

struct sl_members sl_plan_group(const struct sl_plan *plan, enum sl_group group, int rank) {
  const struct sl_coord me = sl_plan_coord(plan, rank);
  const int dp_stride = plan->tp * plan->cp, pp_stride = dp_stride * plan->dp;
  struct sl_coord zero = me; /* the coordinates of member 0 */
  struct sl_members m = {.stride = 1, .size = 1};
  m.outer = pp_stride;
  switch (group) {
  case SL_GROUP_TP:
    m.size = plan->tp, m.index = me.tp, zero.tp = 0;
    break;
  case SL_GROUP_CP:
    m.size = plan->cp, m.stride = plan->tp, m.index = me.cp, zero.cp = 0;
    break;
  case SL_GROUP_DP:
    m.size = plan->dp, m.stride = dp_stride, m.index = me.dp, zero.dp = 0;
    break;
  case SL_GROUP_SHARD:
    m.size = plan->shard, m.stride = dp_stride, m.index = me.dp % plan->shard, zero.dp = me.dp - m.index;
    break;
  case SL_GROUP_REPLICATE:
    m.size = plan->dp / plan->shard, m.stride = dp_stride * plan->shard, m.index = me.dp / plan->shard;
    zero.dp = me.dp % plan->shard;
    break;
  case SL_GROUP_MODEL:
    m.size = plan->tp * plan->pp, m.index = me.pp * plan->tp + me.tp, zero.pp = zero.tp = 0;
    m.inner = plan->tp;
    break;
  case SL_GROUP_WORLD:
    m.size = plan->world, m.index = rank, zero = (struct sl_coord){0};
    break;
  case SL_GROUP_EMBED: {
    const int *ends = plan->embed_ranks;
    const int low = ends[0] < ends[1] ? ends[0] : ends[1], high = ends[0] + ends[1] - low;
    if (low < high && (me.pp == low || me.pp == high))
      m.size = 2, m.stride = pp_stride * (high - low), m.index = me.pp == high, zero.pp = low;
    break;
  }
  case SL_GROUP_SECONDARY:
    m.size = plan->secondary, m.stride = dp_stride, m.index = me.dp % plan->secondary, zero.dp = me.dp - m.index;
    break;
  case SL_GROUP_COUNT:
    break;
  }
  if (m.inner == 0) m.inner = m.size;
  m.first = sl_plan_rank(plan, zero);
  m.id = m.first; /* two groups of a class never share their first member */
  return m;
}

struct sl_state_bytes sl_plan_state_bytes(const struct sl_plan *plan) {
  const struct sl_config *c = plan->config;
  const bool mixed = c->param_dtype != SL_F32;
  struct sl_state_bytes bytes = {.param = (int)sl_dtype_bytes(c->param_dtype),
                                 .grad = (int)sl_dtype_bytes(c->param_dtype)};
  const int moments = c->optimizer.type == SL_OPT_SGD ? (c->optimizer.momentum != 0 ? 1 : 0) : 2;
  bytes.optimizer = (mixed ? 4 : 0) + 4 * moments;
  return bytes;
}

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

static enum sl_status build_pp_rank(struct sl_pp_rank *pp_rank, const struct sl_plan *plan) {
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

/* What tensor parallelism divides must divide evenly; a vocabulary is padded. */
static enum sl_status check_tp(const struct sl_plan *plan) {
  const struct sl_model *m = plan->model;
  const struct sl_config *config = plan->config;
  const struct {
    const char *what;
    int64_t size;
  } sizes[] = {{"attention heads", m->n_head}, {"key/value heads", m->n_kv_head}, {"inner width", m->n_inner}};
  for (size_t i = 0; m->type != SL_MODEL_MLP && i < sizeof sizes / sizeof *sizes; i++) {
    if (sizes[i].size % plan->tp == 0) continue;
    return sl_json_fail(&config->doc, "shardlab.tp", "is %d; expected a divisor of the %lld %s of model %s", plan->tp,
                        (long long)sizes[i].size, sizes[i].what, m->name);
  }
  for (int i = 1; m->type == SL_MODEL_MLP && i < m->n_dims; i++) {
    if (m->dims[i] % plan->tp == 0) continue;
    return sl_json_fail(&config->doc, "shardlab.tp", "is %d; expected a divisor of the %lld outputs of linear %d",
                        plan->tp, (long long)m->dims[i], i - 1);
  }
  return SL_OK;
}

static enum sl_status choose_degrees(struct sl_plan *plan, struct sl_config *config, int world) {
  const int replica = config->sl.tp * config->sl.pp;
  plan->world = world;
  plan->tp = config->sl.tp, plan->pp = config->sl.pp, plan->cp = 1;
  plan->dp = world / replica > 0 ? world / replica : 1;
  if (world % replica != 0)
    return sl_json_fail(&config->doc, "shardlab",
                        "tp %d x pp %d does not divide the world of %d ranks; expected a multiple of %d", plan->tp,
                        plan->pp, world, replica);
  SL_TRY(sl_config_resolve_batch(config, plan->dp)); /* frameworks have limits on micro-batches */
  SL_TRY(sl_strategy_choose(&plan->strategy, config, plan->dp));
  if (config->sl.cp > 1)
    return sl_json_fail(&config->doc, "shardlab.cp", "is %d; expected 1: context parallelism is not modelled",
                        config->sl.cp);
  SL_TRY(check_tp(plan));
  plan->sequence_parallel = config->sl.sequence_parallel && plan->tp > 1 && plan->model->type != SL_MODEL_MLP;
  return SL_OK;
}

/* Hybrid sharding: inside groups of shard_size consecutive data-parallel ranks. */
static enum sl_status choose_shard(struct sl_plan *plan) {
  const int64_t size = plan->strategy.shard_size;
  plan->shard = plan->strategy.shard_optimizer ? plan->dp : 1;
  plan->secondary = plan->strategy.secondary_size > 1 ? (int)plan->strategy.secondary_size : 1;
  if (!plan->strategy.shard_optimizer || size == 0) return SL_OK;
  if (size > plan->dp || plan->dp % size != 0)
    return sl_json_fail(&plan->config->doc, "shardlab.shard_size",
                        "is %lld; expected a divisor of the %d data-parallel ranks", (long long)size, plan->dp);
  plan->shard = (int)size;
  return SL_OK;
}

/* Ranks fill a node before the next; localhost (one node) takes them all, more than it has cores if need be. */
static int choose_threads(const struct sl_cluster *cluster, int world) {
  if (cluster->device.kind != SL_DEVICE_CPU) return 1;
  int64_t ranks = world;
  if (cluster->nodes != 1 && cluster->devices_per_node < ranks) ranks = cluster->devices_per_node;
  const int64_t threads = cluster->device.cores / ranks;
  return threads > 1 ? (int)threads : 1;
}

static enum sl_status choose_batch(struct sl_plan *plan) {
  const struct sl_config *config = plan->config;
  const struct sl_model *model = plan->model;
  plan->micro_batch = config->train_micro_batch_size_per_gpu;
  plan->n_micro = config->gradient_accumulation_steps;
  plan->global_batch = config->train_batch_size;
  if (model->type == SL_MODEL_MLP) {
    plan->seq = 1;
    return SL_OK;
  }
  plan->seq = config->sl.seq_len > 0 ? config->sl.seq_len : model->n_positions;
  if (plan->seq > model->n_positions) {
    return sl_json_fail(&config->doc, "shardlab.seq_len", "is %lld; expected at most the %lld positions of model %s",
                        (long long)plan->seq, (long long)model->n_positions, model->name);
  }
  if (plan->sequence_parallel && plan->micro_batch * plan->seq % plan->tp != 0) {
    return sl_json_fail(&config->doc, "shardlab.sequence_parallel",
                        "micro batch %lld x seq %lld tokens; expected a multiple of tp, %d",
                        (long long)plan->micro_batch, (long long)plan->seq, plan->tp);
  }
  /* kernels and MPI count rows in int */
  if (plan->micro_batch * plan->seq > INT32_MAX / 4) {
    return sl_fail(SL_ERR_INPUT, "micro batch %lld x seq %lld: expected at most %d tokens",
                   (long long)plan->micro_batch, (long long)plan->seq, INT32_MAX / 4);
  }
  return SL_OK;
}

/* See sl_plan_local_size. */
static int choose_vocab_multiple(const struct sl_plan *plan) {
  enum { VECTOR = 8, MEGATRON = 128 }; /* 16-bit numbers of a vector load; make-vocab-size-divisible-by's default */
  const int64_t rows = (plan->model->vocab_size + plan->tp - 1) / plan->tp;
  if (plan->config->sl.vocab_multiple > 0) return plan->config->sl.vocab_multiple;
  const bool ours = plan->config->sl.preset[0] == '\0';
  return plan->cluster->device.kind == SL_DEVICE_GPU && ours && rows % VECTOR != 0 ? MEGATRON : 1;
}

enum sl_status sl_plan_build(struct sl_plan *plan, const struct sl_model *model, struct sl_config *config,
                             const struct sl_cluster *cluster, int world) {
  enum sl_status status;
  *plan = (struct sl_plan){.model = model, .config = config, .cluster = cluster};
  if (world < 1) return sl_fail(SL_ERR_INPUT, "world = %d: expected at least 1", world);
  const int64_t devices = cluster->nodes * cluster->devices_per_node;
  if (cluster->nodes > 0 && cluster->device.kind == SL_DEVICE_GPU && world > devices) {
    return sl_fail(SL_ERR_INPUT, "world = %d: cluster %s has %lld devices; expected at most that", world, cluster->name,
                   (long long)devices);
  }
  SL_TRY(choose_degrees(plan, config, world));
  SL_TRY(choose_shard(plan));
  plan->threads = choose_threads(cluster, world);
  plan->fuse_epilogues = config->sl.fuse_epilogues == SL_FUSE_ALWAYS ||
                         (config->sl.fuse_epilogues == SL_FUSE_GPU && cluster->device.kind == SL_DEVICE_GPU);
  plan->vocab_multiple = choose_vocab_multiple(plan);
  SL_TRY(choose_batch(plan));
  SL_GO(sl_plan_cut(plan));
  SL_GO(sl_plan_schedule(plan));
  for (int i = 0; i < plan->pp; i++) SL_GO(build_pp_rank(&plan->pp_ranks[i], plan));
  return SL_OK;
fail:
  sl_plan_free(plan);
  return status;
}

void sl_plan_free(struct sl_plan *plan) {
  for (int i = 0; plan->pp_ranks != NULL && i < plan->pp; i++) {
    free(plan->pp_ranks[i].stages);
    free(plan->pp_ranks[i].tensors);
    free(plan->pp_ranks[i].placed_of);
    free(plan->pp_ranks[i].layout.units);
    free(plan->pp_ranks[i].layout.member_numel);
  }
  free(plan->pp_ranks);
  free(plan->stages);
  sl_schedule_free(&plan->schedule);
  *plan = (struct sl_plan){0};
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
