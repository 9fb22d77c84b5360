/* Coordinates, process groups, and the layout of a stage's parameters over the ranks that shard them; see plan.h.
 * What the layout means for buffers stands in lower_zero.c. */
#include "core/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *sl_group_name(enum sl_group group) {
  static const char *const names[] = {
#define X(name, text) text,
      SL_GROUP_MAP(X)
#undef X
          "p2p"};
  return names[group];
}

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
  case SL_GROUP_EMBED:
    if (plan->pp > 1 && (me.pp == 0 || me.pp == plan->pp - 1)) {
      m.size = 2, m.stride = pp_stride * (plan->pp - 1), m.index = me.pp != 0, zero.pp = 0;
    }
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

/* One unit over everything: stage 0 (one member), and stages 1 and 2 (padded to 2 x members, equal partitions). */
static enum sl_status layout_flat(struct sl_layout *layout, int members) {
  SL_TRY(sl_calloc(&layout->units, 1, sizeof *layout->units));
  layout->unit_count = 1;
  layout->padded = members == 1 ? layout->numel : round_up(layout->numel, (int64_t)START_ALIGNMENT * members);
  layout->shard_numel = layout->padded / members;
  layout->units[0] = (struct sl_unit){.numel = layout->numel, .part = layout->shard_numel};
  return SL_OK;
}

/* One unit per parameter, each split evenly with its own padding: stage 3. */
static enum sl_status layout_each(struct sl_stage *stage, int members) {
  struct sl_layout *layout = &stage->layout;
  SL_TRY(sl_calloc(&layout->units, (size_t)stage->tensor_count, sizeof *layout->units));
  layout->unit_count = stage->tensor_count;
  for (int i = 0; i < stage->tensor_count; i++) {
    struct sl_placed *t = &stage->tensors[i];
    const int64_t part = (t->numel + members - 1) / members;
    layout->units[i] = (struct sl_unit){layout->padded, t->numel, part, layout->shard_numel};
    t->flat = layout->padded;
    t->unit = i;
    layout->padded += part * members;
    layout->shard_numel += part;
  }
  return SL_OK;
}

/* Stage 3 keeps small parameters whole, in model order up to the model's limit, as DeepSpeed does
 * (parameter_offload.py, mark_persistent_parameters). */
static void mark_persistent(struct sl_stage *stage, const struct sl_config *config) {
  int64_t total = 0;
  for (int i = 0; i < stage->tensor_count; i++) {
    struct sl_placed *t = &stage->tensors[i];
    if (t->numel > config->zero.param_persistence_threshold) continue;
    if (t->numel > config->zero.model_persistence_threshold - total) continue;
    t->persistent = true;
    total += t->numel;
  }
}

static enum sl_status build_stage(struct sl_stage *stage, const struct sl_plan *plan) {
  const struct sl_model *model = plan->model;
  stage->layer_count = (int)model->n_layer;
  stage->embedding = stage->head = true;
  SL_TRY(sl_calloc(&stage->tensors, (size_t)model->tensor_count, sizeof *stage->tensors));
  for (int i = 0; i < model->tensor_count; i++) {
    stage->tensors[stage->tensor_count++] =
        (struct sl_placed){.tensor = i, .numel = model->tensors[i].numel, .flat = stage->layout.numel};
    stage->layout.numel += model->tensors[i].numel;
  }
  stage->layout.members = plan->shard;
  if (plan->zero_stage == 3) {
    mark_persistent(stage, plan->config);
    return layout_each(stage, plan->shard);
  }
  return layout_flat(&stage->layout, plan->shard);
}

static enum sl_status choose_degrees(struct sl_plan *plan, int world) {
  const struct sl_config *config = plan->config;
  const struct {
    const char *name;
    int value;
  } asked[] = {{"tp", config->sl.tp}, {"pp", config->sl.pp}, {"cp", config->sl.cp}};
  for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
    if (asked[i].value == 1) continue;
    char key[32];
    snprintf(key, sizeof key, "shardlab.%s", asked[i].name);
    return sl_json_fail(&config->doc, key, "is %d; expected 1: this version runs data parallelism with ZeRO 0 to 3",
                        asked[i].value);
  }
  plan->world = world;
  plan->tp = plan->pp = plan->cp = 1;
  plan->dp = world;
  /* One data-parallel rank has nobody to share with: every stage is then stage 0. */
  plan->zero_stage = plan->dp > 1 ? config->zero.stage : 0;
  plan->shard = plan->zero_stage > 0 ? plan->dp : 1;
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
  /* kernels and MPI count rows in int */
  if (plan->micro_batch * plan->seq > INT32_MAX / 4) {
    return sl_fail(SL_ERR_INPUT, "micro batch %lld x seq %lld: expected at most %d tokens",
                   (long long)plan->micro_batch, (long long)plan->seq, INT32_MAX / 4);
  }
  return SL_OK;
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
  SL_TRY(choose_degrees(plan, world));
  plan->threads = choose_threads(cluster, world);
  SL_TRY(sl_config_resolve_batch(config, plan->dp));
  SL_TRY(choose_batch(plan));
  SL_GO(sl_calloc(&plan->stages, (size_t)plan->pp, sizeof *plan->stages));
  for (int i = 0; i < plan->pp; i++) SL_GO(build_stage(&plan->stages[i], plan));
  return SL_OK;
fail:
  sl_plan_free(plan);
  return status;
}

void sl_plan_free(struct sl_plan *plan) {
  for (int i = 0; plan->stages != NULL && i < plan->pp; i++) {
    free(plan->stages[i].tensors);
    free(plan->stages[i].layout.units);
  }
  free(plan->stages);
  *plan = (struct sl_plan){0};
}

struct sl_piece sl_layout_piece(const struct sl_stage *stage, int placed, int member) {
  const struct sl_placed *t = &stage->tensors[placed];
  const struct sl_unit *u = &stage->layout.units[t->unit];
  const int64_t own_first = u->first + u->part * member, own_end = own_first + u->part;
  const int64_t first = t->flat > own_first ? t->flat : own_first;
  const int64_t tensor_end = t->flat + t->numel;
  const int64_t end = tensor_end < own_end ? tensor_end : own_end;
  if (end <= first) return (struct sl_piece){0};
  return (struct sl_piece){
      .first = first - t->flat, .count = end - first, .offset = u->shard_offset + first - own_first};
}
