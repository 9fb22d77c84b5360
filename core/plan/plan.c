/* Builds the plan of a run from its model, configuration and cluster; see plan.h. Coordinates are in plan/coords.c,
 * stages in plan/stages.c, ownership in plan/layout.c. */
#include "core/plan/plan.h"
#include "core/config/check.h"
#include "core/plan/kernels.h"
#include "core/plan/packing.h"

#include "core/base/checked.h"
#include "core/base/limits.h"
#include "core/plan/bounds.h"
#include "core/plan/stages.h"
#include "core/plan/vocabulary.h"

#include <stdlib.h>

struct sl_state_bytes sl_plan_state_bytes(const struct sl_plan *plan) {
  const struct sl_config *c = plan->config;
  const bool mixed = c->param_dtype != SL_F32;
  struct sl_state_bytes bytes = {.param = (int)sl_dtype_bytes(c->param_dtype),
                                 .grad = (int)sl_dtype_bytes(c->param_dtype)};
  const int moments = c->optimizer.type == SL_OPT_SGD ? (c->optimizer.momentum != 0 ? 1 : 0) : 2;
  bytes.optimizer = (mixed ? 4 : 0) + 4 * moments;
  return bytes;
}

/* Whatever tensor parallelism divides must be divisible; only a vocabulary is padded. A single key head is not divided,
 * if its weights stand by themselves. */
static enum sl_status check_tp(const struct sl_plan *plan) {
  const struct sl_model *m = plan->model;
  const struct sl_config *config = plan->config;
  const struct {
    const char *what;
    int64_t size;
  } sizes[] = {{"attention heads", m->n_head},
               {"key/value heads", sl_model_shares_key_head(m) ? 0 : m->n_kv_head},
               {"inner width", m->n_inner}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    if (sizes[i].size % plan->tp == 0) continue;
    return sl_json_fail(&config->doc, "shardlab.tp", "is %d; expected a divisor of the %lld %s of model %s", plan->tp,
                        (long long)sizes[i].size, sizes[i].what, m->name);
  }
  for (int i = 1; i < m->n_dims; i++) {
    if (m->dims[i] % plan->tp == 0) continue;
    return sl_json_fail(&config->doc, "shardlab.tp", "is %d; expected a divisor of the %lld outputs of linear %d",
                        plan->tp, (long long)m->dims[i], i - 1);
  }
  return SL_OK;
}

/* Megatron-LM's words: megatron/training/arguments.py, validate_args. */
static enum sl_status check_tp_overlap(const struct sl_plan *plan) {
  static const char key[] = "shardlab.tp_comm_overlap";
  const struct sl_config *c = plan->config;
  if (!c->sl.tp_comm_overlap) return SL_OK;
  if (!plan->sequence_parallel)
    return sl_json_fail(&c->doc, key,
                        "Tensor parallel communication/GEMM overlap can happen only when sequence parallelism is "
                        "enabled; tp %d, sequence_parallel %s",
                        plan->tp, c->sl.sequence_parallel ? "true, which model_type mlp does not read" : "false");
  if (sl_kernel_set(c->sl.kernels)->torch_blocks)
    return sl_json_fail(&c->doc, key, "is true; expected async_tp in its place: kernels %s are torch's",
                        sl_kernel_set(c->sl.kernels)->name);
  return SL_OK;
}

/* The key of the one degree of model parallelism that is not 1. */
static const char *degree_key(const struct sl_plan *plan) {
  if (plan->pp == 1 && plan->cp == 1) return "shardlab.tp";
  if (plan->tp == 1 && plan->cp == 1) return "shardlab.pp";
  return plan->tp == 1 && plan->pp == 1 ? "shardlab.cp" : "shardlab";
}

static enum sl_status choose_degrees(struct sl_plan *plan, int world) {
  struct sl_config *config = plan->effective;
  const int64_t replica = sl_product(sl_product(config->sl.tp, config->sl.pp), config->sl.cp);
  plan->world = world;
  plan->tp = config->sl.tp, plan->pp = config->sl.pp, plan->cp = config->sl.cp;
  plan->rank_order = config->sl.rank_order;
  plan->dp = world / replica > 0 ? (int)(world / replica) : 1;
  plan->dp_cp = plan->dp * plan->cp;
  if (world % replica != 0) {
    char cp[32] = "";
    if (plan->cp > 1) snprintf(cp, sizeof cp, " x cp %d", plan->cp);
    return sl_json_fail(&config->doc, degree_key(plan),
                        "tp %d x pp %d%s does not divide the world of %d ranks; expected a multiple of %lld", plan->tp,
                        plan->pp, cp, world, (long long)replica);
  }
  SL_TRY(sl_config_resolve_batch(config, plan->dp)); /* frameworks have limits on micro-batches */
  SL_TRY(sl_strategy_choose(&plan->strategy, config, plan->dp_cp));
  SL_TRY(check_tp(plan));
  plan->sequence_parallel = config->sl.sequence_parallel && plan->tp > 1 && sl_model_reads_tokens(plan->model);
  return check_tp_overlap(plan);
}

/* Hybrid sharding: inside groups of shard_size consecutive data-parallel ranks. */
static enum sl_status choose_shard(struct sl_plan *plan) {
  const int64_t size = plan->strategy.shard_size;
  plan->shard = plan->strategy.shard_optimizer ? plan->dp_cp : 1;
  plan->secondary = plan->strategy.secondary_size > 1 ? (int)plan->strategy.secondary_size : 1;
  if (!plan->strategy.shard_optimizer || size == 0) return SL_OK;
  if (size > plan->dp_cp || plan->dp_cp % size != 0)
    return sl_json_fail(&plan->config->doc, "shardlab.shard_size",
                        "is %lld; expected a divisor of the %d data-parallel ranks", (long long)size, plan->dp_cp);
  plan->shard = (int)size;
  return SL_OK;
}

/* Quantised gradients are reduced within nodes first. On one node DeepSpeed does not quantise them
 * (runtime/zero/stage3.py, __avg_scatter_grads). */
static enum sl_status choose_nodes(struct sl_plan *plan) {
  static const char key[] = "zero_optimization.zero_quantized_gradients";
  const struct sl_cluster *cluster = plan->cluster;
  const int64_t devices = cluster->devices_per_node;
  plan->node = plan->nodes = 1;
  if (!plan->strategy.quantized_gradients) return SL_OK;
  if (cluster->nodes == 1 || plan->world <= devices) {
    sl_config_warn(plan->config, key, "quantises nothing on one node");
    return SL_OK;
  }
  if (plan->world % devices != 0)
    return sl_json_fail(&plan->config->doc, key,
                        "is true; expected a multiple of the %lld devices of a node, not %d ranks", (long long)devices,
                        plan->world);
  plan->node = (int)devices, plan->nodes = plan->world / plan->node;
  return SL_OK;
}

/* DeepSpeed's engine.py, sparse_allreduce: for gradients of torch.nn.Embedding, where the engine itself reduces
 * them. */
static enum sl_status choose_sparse(struct sl_plan *plan) {
  static const char key[] = "sparse_gradients";
  const struct sl_config *config = plan->config;
  if (!config->sparse_gradients) return SL_OK;
  if (config->zero.stage > 0 || !sl_model_reads_tokens(plan->model)) {
    sl_config_warn(config, key,
                   config->zero.stage > 0 ? "without effect: ZeRO's optimizers reduce all gradients densely"
                                          : "without effect: the model has no embedding");
    return SL_OK;
  }
  if (plan->model->tied_head)
    return sl_json_fail(&config->doc, key,
                        "is true; the embedding of model %s is its head too, whose gradient has every row: expected a "
                        "model with \"tie_word_embeddings\": false",
                        plan->model->name);
  if (plan->tp > 1 && plan->tp_vocab == SL_TP_VOCAB_PARALLEL)
    return sl_json_fail(&config->doc, key,
                        "is true beside tp %d; expected 1: an embedding that is cut is no torch.nn.Embedding",
                        plan->tp);
  if (config->optimizer.type == SL_OPT_ONEBIT_ADAM)
    return sl_json_fail(&config->doc, key, "1-bit Adam does not support sparse gradients");
  plan->strategy.sparse_embedding = plan->dp_cp > 1;
  return SL_OK;
}

/* Dense parameters: over all data-parallel ranks. */
static void choose_groups(struct sl_plan *plan) {
  plan->groups[0] = (struct sl_param_group){.sum = SL_GROUP_DP,
                                            .shard = SL_GROUP_SHARD,
                                            .scatter = plan->shard == plan->dp_cp ? SL_GROUP_DP : SL_GROUP_SHARD,
                                            .replicate = SL_GROUP_REPLICATE,
                                            .ranks = plan->dp_cp,
                                            .members = plan->shard,
                                            .secondary = plan->secondary};
  plan->group_count = 1;
}

/* Ranks fill a node before the next one; localhost (one node) takes all of them, even more than it has cores. */
static int choose_threads(const struct sl_cluster *cluster, int world) {
  if (cluster->device.kind != SL_DEVICE_CPU) return 1;
  int64_t ranks = world;
  if (cluster->nodes != 1 && cluster->devices_per_node < ranks) ranks = cluster->devices_per_node;
  const int64_t threads = cluster->device.cores / ranks;
  return threads > 1 ? (int)threads : 1;
}

/* Sequence parallelism has already sharded the stream; a stream that cannot be divided evenly is sent whole, as
 * Megatron-LM does. */
static bool scatters_messages(const struct sl_plan *plan) {
  const int64_t message = plan->micro_tokens * plan->model->n_embd;
  return plan->config->sl.scatter_gather && plan->tp > 1 && plan->pp > 1 && !plan->sequence_parallel &&
         message % plan->tp == 0;
}

/* A rank has two chunks of every sequence, see core/op/chunks.h. */
static enum sl_status check_cp(const struct sl_plan *plan) {
  const struct sl_model *m = plan->model;
  const int64_t cuts = sl_product(plan->tp, plan->cp);
  const bool a2a = plan->config->sl.cp_comm == SL_CP_A2A;
  if (plan->cp > 1 && a2a && (m->n_head % cuts != 0 || m->n_kv_head % cuts != 0))
    return sl_json_fail(&plan->config->doc, "shardlab.cp_comm_type",
                        "is a2a, beside tp %d and cp %d; expected %lld to divide the %lld heads and %lld key heads of "
                        "model %s",
                        plan->tp, plan->cp, (long long)cuts, (long long)m->n_head, (long long)m->n_kv_head, m->name);
  if (plan->cp > 1 && !a2a && plan->config->sl.attention == SL_ATTENTION_MATERIALISED)
    return sl_json_fail(&plan->config->doc, "shardlab.attention",
                        "is materialised beside cp %d; expected flash, which alone reads keys of other ranks",
                        plan->cp);
  if (plan->cp > 1 && plan->seq % (2 * plan->cp) != 0)
    return sl_json_fail(&plan->config->doc, "shardlab.seq_len", "is %lld; expected a multiple of twice cp, %d",
                        (long long)plan->seq, 2 * plan->cp);
  return SL_OK;
}

static enum sl_status choose_batch(struct sl_plan *plan) {
  const struct sl_config *config = plan->config;
  const struct sl_model *model = plan->model;
  plan->micro_batch = config->train_micro_batch_size_per_gpu;
  plan->n_micro = config->gradient_accumulation_steps;
  plan->global_batch = config->train_batch_size;
  if (!sl_model_reads_tokens(model)) {
    if (plan->cp > 1)
      return sl_json_fail(&config->doc, "shardlab.cp", "is %d; expected 1: an mlp has no sequences", plan->cp);
    if (config->autocast_dtype != SL_F32)
      return sl_json_fail(&config->doc, "torch_autocast.enabled", "is true; expected a transformer, not an mlp");
    plan->seq = 1, plan->micro_tokens = plan->micro_batch;
    return sl_plan_check_bounds(plan);
  }
  plan->seq = config->sl.seq_len > 0 ? config->sl.seq_len : model->n_positions;
  if (plan->seq > model->n_positions) {
    return sl_json_fail(&config->doc, "shardlab.seq_len", "is %lld; expected at most the %lld positions of model %s",
                        (long long)plan->seq, (long long)model->n_positions, model->name);
  }
  SL_TRY(sl_plan_check_bounds(plan));
  SL_TRY(check_cp(plan));
  plan->micro_tokens = plan->micro_batch * plan->seq / plan->cp;
  if (plan->sequence_parallel && plan->micro_tokens % plan->tp != 0) {
    char cp[32] = "";
    if (plan->cp > 1) snprintf(cp, sizeof cp, " / cp %d", plan->cp);
    return sl_json_fail(&config->doc, "shardlab.sequence_parallel",
                        "micro batch %lld x seq %lld%s tokens; expected a multiple of tp, %d",
                        (long long)plan->micro_batch, (long long)plan->seq, cp, plan->tp);
  }
  plan->scatter_gather = scatters_messages(plan);
  return SL_OK;
}

static enum sl_status check_world(const struct sl_cluster *cluster, int world) {
  const int64_t devices = sl_product(cluster->nodes, cluster->devices_per_node);
  if (world < 1 || world > SL_MAX_WORLD)
    return sl_fail(SL_ERR_INPUT, "world = %d: expected 1 to %lld ranks", world, (long long)SL_MAX_WORLD);
  if (cluster->nodes == 0 || cluster->device.kind != SL_DEVICE_GPU || world <= devices) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "world = %d: cluster %s has %lld devices; expected at most that", world, cluster->name,
                 (long long)devices);
}

static bool fuses_epilogues(const struct sl_plan *plan) {
  const enum sl_fuse fuse = plan->config->sl.fuse_epilogues;
  if (!sl_kernel_set(plan->config->sl.kernels)->fuse_epilogues) return false;
  return fuse == SL_FUSE_ALWAYS || (fuse == SL_FUSE_GPU && plan->cluster->device.kind == SL_DEVICE_GPU);
}

/* Warns that host memory which is not pinned has a slower link, by how much the cluster's device says. */
static void warn_pageable(const struct sl_plan *plan) {
  const struct sl_config *c = plan->config;
  const struct sl_device *d = &plan->cluster->device;
  const bool optimizer = c->zero.offload_optimizer == SL_OFFLOAD_CPU && !c->zero.optimizer_pinned,
             params = c->zero.offload_param == SL_OFFLOAD_CPU && !c->zero.param_pinned;
  if (!(optimizer || params) || d->host_link_pageable > 0 || !(d->host_link > 0)) return;
  sl_config_warn(
      c, optimizer ? "zero_optimization.offload_optimizer.pin_memory" : "zero_optimization.offload_param.pin_memory",
      "is false, and the cluster's device has no host_link_pageable_GBps: its copies are taken to be as fast "
      "as those of pinned memory");
}

/* Keys of what only models of tokens have. */
static void warn_without_tokens(const struct sl_plan *plan) {
  static const char *const keys[] = {"shardlab.seq_len", "shardlab.attention", "shardlab.sequence_parallel",
                                     "shardlab.make_vocab_size_divisible_by", "shardlab.tp_vocab"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys && !sl_model_reads_tokens(plan->model); i++)
    if (sl_config_at(plan->config, keys[i]) != NULL)
      sl_config_warn(plan->config, keys[i], "has no effect: the model reads no sequences");
}

/* Only flash attention reads keys that other ranks have; so too in Megatron-LM, whose DotProductAttention refuses
 * context parallelism, and torchtitan. */
void sl_plan_choose_attention(struct sl_config *config, const struct sl_cluster *cluster) {
  const bool others = config->sl.cp > 1 && config->sl.cp_comm == SL_CP_ALL_GATHER;
  const bool flash = cluster->device.kind == SL_DEVICE_GPU || others;
  const double cudnn_from = sl_kernel_set(config->sl.kernels)->cudnn_from;
  if (config->sl.attention != SL_ATTENTION_ON_GPU) return;
  config->sl.attention = flash ? SL_ATTENTION_FLASH : SL_ATTENTION_MATERIALISED;
  if (cudnn_from > 0 && cluster->device.compute_capability >= cudnn_from) config->sl.attention = SL_ATTENTION_CUDNN;
}

enum sl_status sl_plan_build(struct sl_plan *plan, const struct sl_model *model, const struct sl_config *config,
                             const struct sl_cluster *cluster, int world) {
  enum sl_status status;
  *plan = (struct sl_plan){.model = model, .cluster = cluster};
  if (sl_model_missing(model) != NULL)
    return sl_fail(SL_ERR_INPUT, "model %s: %s can be read and counted, but is not computed yet", model->name,
                   sl_model_missing(model));
  SL_TRY(check_world(cluster, world));
  SL_TRY(sl_calloc(&plan->effective, 1, sizeof *plan->effective));
  *plan->effective = *config;
  plan->config = plan->effective;
  sl_plan_choose_attention(plan->effective, cluster);
  SL_GO_FAIL(choose_degrees(plan, world));
  SL_GO_FAIL(sl_packing_apply(plan));
  SL_GO_FAIL(sl_vocabulary_choose(plan));
  SL_GO_FAIL(choose_shard(plan));
  SL_GO_FAIL(choose_nodes(plan));
  SL_GO_FAIL(choose_sparse(plan));
  warn_pageable(plan);
  warn_without_tokens(plan);
  choose_groups(plan);
  plan->threads = choose_threads(cluster, world);
  plan->fuse_epilogues = fuses_epilogues(plan);
  SL_GO_FAIL(sl_kernel_costs_load(&plan->kernel_costs, sl_kernel_set(plan->config->sl.kernels)->name));
  plan->kernel_costs.launch_blocking = plan->config->sl.launch_blocking;
  plan->vocab_multiple = sl_vocabulary_multiple(plan);
  SL_GO_FAIL(choose_batch(plan));
  SL_GO_FAIL(sl_plan_cut(plan));
  SL_GO_FAIL(sl_plan_schedule(plan));
  for (int i = 0; i < plan->pp; i++) SL_GO_FAIL(sl_layout_build(&plan->pp_ranks[i], plan));
  return SL_OK;
fail:
  sl_plan_free(plan);
  return status;
}

void sl_plan_free(struct sl_plan *plan) {
  for (int i = 0; plan->pp_ranks != NULL && i < plan->pp; i++) {
    sl_layout_free(&plan->pp_ranks[i]);
    free(plan->pp_ranks[i].stages);
  }
  free(plan->pp_ranks);
  free(plan->stages);
  if (plan->packed != NULL) sl_model_free(plan->packed);
  free(plan->packed);
  free(plan->effective);
  sl_schedule_free(&plan->schedule);
  *plan = (struct sl_plan){0};
}
