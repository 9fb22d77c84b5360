/* Warnings about keys that a preset overrules; see overruled.h. */
#include "core/plan/overruled.h"

#include <stdio.h>

/* One configuration beside one preset. `number` is for a rule's words. */
struct question {
  const struct sl_preset *preset;
  const struct sl_config *config;
  int64_t number;
};

struct rule {
  const char *key; /* to blame, where the file has it */
  bool (*broken)(struct question *q);
  const char *says; /* may print the number */
};

static bool fp32_gradients(struct question *q) {
  return q->preset->row.fp32_gradients;
}
static bool sends_otherwise(struct question *q) {
  return (fp32_gradients(q) || q->preset->row.fp32_reductions) && q->config->communication_data_type != SL_F32;
}
static bool sends_as_ulysses(struct question *q) {
  const struct sl_strategy *s = &q->preset->row;
  return s->ulysses && s->ulysses_type != q->config->communication_data_type;
}
static bool sends_buckets_wide(struct question *q) {
  const struct sl_strategy *s = &q->preset->row;
  return s->ulysses && s->ulysses_type != q->config->seq_parallel_communication_data_type;
}
static bool accumulates_otherwise(struct question *q) {
  return fp32_gradients(q) && q->config->grad_accum_dtype != SL_F32;
}
static bool accumulates_as_parameters(struct question *q) {
  const struct sl_strategy *s = &q->preset->row;
  return (s->fp32_reductions || s->adds_parts_later) && q->config->grad_accum_dtype != q->config->param_dtype;
}
static bool accumulates_on_host(struct question *q) {
  return sl_strategy_fp32_on_host(&q->preset->row) && q->config->grad_accum_dtype != SL_F32;
}

static bool of_shards(struct question *q) {
  const struct sl_strategy *s = &q->preset->row;
  return s->casts_shards && s->shard_grads && q->config->grad_accum_dtype != SL_F32;
}
static bool as_reduced(struct question *q) {
  const struct sl_strategy *s = &q->preset->row;
  return s->casts_shards && !s->shard_grads && q->config->grad_accum_dtype != sl_strategy_fsdp_keeps(s, q->config);
}

static bool own_buckets(struct question *q) {
  q->number = q->preset->row.bucket;
  return q->number != q->config->zero.reduce_bucket_size;
}

static bool by_layer(struct question *q) {
  return q->preset->row.units == SL_UNITS_LAYER;
}
static bool by_bucket(struct question *q) {
  return q->preset->row.units == SL_UNITS_BUCKET;
}
static bool by_owner(struct question *q) {
  return q->preset->row.units == SL_UNITS_OWNER;
}

static bool always_overlaps(struct question *q) {
  return q->preset->row.overlap && !q->config->zero.overlap_comm;
}

/* Is a bucket never summed whole? */
static bool scatters_always(struct question *q) {
  const struct sl_strategy *s = &q->preset->row;
  return s->zero_stage > 0 && (s->units != SL_UNITS_FLAT || s->shard_size > 0);
}
static bool scatters_anyway(struct question *q) {
  return !q->config->zero.reduce_scatter && scatters_always(q);
}
static bool reduces_to_owners(struct question *q) {
  return q->config->zero.multi_rank_allreduce && scatters_always(q);
}

static bool gathers_as_it_does(struct question *q) {
  return !(q->preset->family & (SL_FAMILY_FSDP | SL_FAMILY_FSDP2)) && !q->config->sl.limit_all_gathers;
}
static bool reduces_as_it_does(struct question *q) {
  return !(q->preset->family & (SL_FAMILY_FSDP | SL_FAMILY_FSDP2)) && q->config->sl.no_sync;
}
static bool buckets_as_it_does(struct question *q) {
  return !(q->preset->family & (SL_FAMILY_DDP | SL_FAMILY_ZRO)) && q->config->sl.bucket_view;
}

#define ZERO(key) "zero_optimization." key
#define OF_LAYERS(key, says)                                                                                           \
  { ZERO(key), by_layer, says }
/* A key of stage 3, in both its spellings. */
#define STAGE3(key, says) OF_LAYERS("stage3_" key, says), OF_LAYERS(key, says)

/* Keys that a preset overrules, and what it does instead. DeepSpeed's own stages follow the keys. */
static const struct rule overruled[] = {
    {"communication_data_type", sends_otherwise, "gradients are reduced in fp32"},
    {"communication_data_type", sends_as_ulysses, "beside Ulysses seq_parallel_communication_data_type says"},
    {"seq_parallel_communication_data_type", sends_buckets_wide, "ZeRO 1 and 2 reduce gradients of Ulysses in fp32"},
    {"data_types.grad_accum_dtype", accumulates_otherwise, "gradients accumulate in fp32"},
    {"data_types.grad_accum_dtype", accumulates_as_parameters, "gradients accumulate in the parameters' type"},
    {"data_types.grad_accum_dtype", of_shards, "gradients are kept in fp32, as the shards of parameters are"},
    {"data_types.grad_accum_dtype", as_reduced, "whole gradients are summed in the type in which they are reduced"},
    {"data_types.grad_accum_dtype", accumulates_on_host, "gradients in host memory are fp32"},
    {ZERO("reduce_bucket_size"), own_buckets, "buckets of %lld elements"},
    {ZERO("reduce_bucket_size"), by_layer, "each wrapped block is a bucket"},
    {ZERO("allgather_bucket_size"), by_bucket, "parameters are gathered by gradient bucket"},
    {ZERO("allgather_bucket_size"), by_owner, "each parameter is broadcast by its owner"},
    {ZERO("reduce_scatter"), scatters_anyway, "only ZeRO 1 and 2 over all ranks sum whole buckets"},
    {ZERO("use_multi_rank_bucket_allreduce"), reduces_to_owners, "only ZeRO 1 and 2 over all ranks sum whole buckets"},
    {ZERO("overlap_comm"), always_overlaps, "communication overlaps with computation"},
    {"shardlab.limit_all_gathers", gathers_as_it_does, "the switch is FSDP's"},
    {"shardlab.no_sync", reduces_as_it_does, "the switch is FSDP's"},
    {"shardlab.gradient_as_bucket_view", buckets_as_it_does, "the switch is DDP's"},
    STAGE3("prefetch_bucket_size", "one wrapped block ahead is gathered"),
    STAGE3("max_live_parameters", "one wrapped block ahead is gathered"),
    STAGE3("param_persistence_threshold", "wrapped blocks of any size are sharded"),
    STAGE3("model_persistence_threshold", "wrapped blocks of any size are sharded"),
    STAGE3("max_reuse_distance", "a pass or a micro-batch decides when parameters are let go"),
};

void sl_strategy_warn_overruled(const struct sl_preset *preset, const struct sl_config *config) {
  for (size_t i = 0; i < sizeof overruled / sizeof *overruled; i++) {
    char shown[48], instead[128], text[384];
    struct question q = {.preset = preset, .config = config};
    const struct rule *row = &overruled[i];
    const json_t *given = sl_config_at(config, row->key);
    if (given == NULL || !row->broken(&q)) continue;
    snprintf(instead, sizeof instead, row->says, (long long)q.number);
    snprintf(text, sizeof text, "is %s, which has no effect: preset %s (%s): %s",
             sl_config_show(given, shown, sizeof shown), preset->row.name, preset->row.framework, instead);
    sl_config_warn(config, row->key, text);
  }
}
