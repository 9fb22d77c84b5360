/* From a preset's row and a configuration to the strategy of a run; see strategy.h. The rows stand in plan/presets.c,
 * what their frameworks refuse in plan/refusals.c. */
#include "core/plan/strategy.h"

#include "core/base/limits.h"
#include "core/plan/presets.h"
#include "core/plan/refusals.h"

/* DeepSpeed's ZeRO-Offload and ZeRO-Infinity on host memory. */
static enum sl_status choose_offload(struct sl_strategy *s, const struct sl_config *c) {
  if (c->zero.offload_optimizer == SL_OFFLOAD_NVME) {
    return sl_json_fail(&c->doc, "zero_optimization.offload_optimizer.device",
                        "\"nvme\" is not modelled; expected cpu or none");
  }
  if (c->zero.offload_param == SL_OFFLOAD_NVME) {
    return sl_json_fail(&c->doc, "zero_optimization.offload_param.device",
                        "\"nvme\" is not modelled; expected cpu or none");
  }
  s->offload_optimizer = c->zero.offload_optimizer == SL_OFFLOAD_CPU;
  s->offload_params = c->zero.offload_param == SL_OFFLOAD_CPU && s->shard_params;
  return SL_OK;
}

/* Megatron-LM with --overlap-grad-reduce (distributed_data_parallel.py): larger buckets over more ranks, so that a ring's
 * stages stay bound by bandwidth. */
static int64_t megatron_bucket(int dp) {
  const int64_t least = 40000000, by_ranks = 1000000 * (int64_t)dp;
  return by_ranks > least ? by_ranks : least;
}

static void choose_buckets(struct sl_strategy *s, const struct sl_preset *p, const struct sl_config *c, int dp) {
  const int64_t element = sl_dtype_bytes(c->param_dtype);
  if (p->family & SL_FAMILY_ONE_BUCKET) {
    s->first_bucket = s->bucket = SL_MAX_ELEMENTS;
  } else if (p->bucket_bytes > 0) {
    s->first_bucket = p->first_bucket_bytes / element;
    s->bucket = p->bucket_bytes / element;
  } else if (p->family & SL_FAMILY_MEGATRON && s->units != SL_UNITS_LAYER) {
    s->first_bucket = s->bucket = megatron_bucket(dp);
    s->whole_later_stages = true;
  } else {
    s->first_bucket = s->bucket = c->zero.reduce_bucket_size;
  }
}

/* Groups that shard among themselves: they must come out even. */
static enum sl_status choose_shard_size(struct sl_strategy *s, const struct sl_config *c, int dp) {
  const int64_t size = sl_config_shard_size(c), hpz = c->zero.hpz_partition_size;
  if (size > 0 && s->zero_stage == 0)
    return sl_json_fail(&c->doc, "shardlab.shard_size", "is %lld; preset %s shards nothing: expected 0",
                        (long long)size, s->name);
  if (size > 0 && dp % size != 0)
    return sl_json_fail(&c->doc, c->sl.shard_size > 0 ? "shardlab.shard_size" : "zero_optimization.mics_shard_size",
                        "is %lld; expected a divisor of the %d data-parallel ranks", (long long)size, dp);
  if (hpz > 1 && dp % hpz != 0)
    return sl_json_fail(&c->doc, "zero_optimization.zero_hpz_partition_size",
                        "is %lld; expected a divisor of the %d data-parallel ranks", (long long)hpz, dp);
  if (hpz > 1 && size > 0)
    return sl_json_fail(&c->doc, "zero_optimization.zero_hpz_partition_size",
                        "is %lld beside groups of %lld that shard: their parameters never leave the group; expected 1",
                        (long long)hpz, (long long)size);
  s->shard_size = size < dp ? size : 0;
  s->secondary_size = s->shard_params && hpz > 1 ? hpz : 0;
  return SL_OK;
}

/* What the preset has an answer of its own to is the configuration from here on: the lowering and the run record read it
 * there. */
static void overrule(struct sl_config *c, const struct sl_strategy *s) {
  if (s->fp32_gradients || s->fp32_reductions) c->communication_data_type = SL_F32;
  if (s->fp32_gradients || sl_strategy_fp32_on_host(s)) c->grad_accum_dtype = SL_F32;
  if (s->fp32_reductions) c->grad_accum_dtype = c->param_dtype;
  c->zero.overlap_comm = s->overlap;
  c->zero.reduce_bucket_size = s->bucket;
}

enum sl_status sl_strategy_choose(struct sl_strategy *s, struct sl_config *config, int dp) {
  struct sl_preset preset;
  SL_TRY(sl_strategy_find_preset(&preset, config));
  *s = preset.row;
  SL_TRY(sl_strategy_check_limits(&preset, config));
  if (preset.family & SL_FAMILY_DEEPSPEED) s->overlap = config->zero.overlap_comm;
  s->copies_gathered = preset.family & SL_FAMILY_FSDP2;
  if (preset.family & SL_FAMILY_FSDP2 && config->sl.pp > 1) s->shard_grads = false; /* summed whole: strategy.h */
  s->gathers_at_once = (preset.family & (SL_FAMILY_FSDP | SL_FAMILY_FSDP2)) && !config->sl.limit_all_gathers;
  SL_TRY(choose_shard_size(s, config, dp));
  s->quantized_weights = s->shard_params && config->zero.quantized_weights;
  s->quantized_gradients = s->shard_params && config->zero.quantized_gradients;
  choose_buckets(s, &preset, config, dp);
  SL_TRY(choose_offload(s, config));
  const bool scaling = preset.family & SL_FAMILY_SCALING;
  s->sums_whole = s->shard_optimizer && !s->shard_grads && (scaling || (preset.family & SL_FAMILY_NANOTRON));
  s->fp32_reductions = s->reduces_last = s->pair_messages = scaling;
  s->pipeline_engine = (preset.family & SL_FAMILY_PIPELINE_ENGINE) != 0;
  s->pair_messages |= s->pipeline_engine;
  s->blocking_messages = scaling;
  preset.row = *s;
  sl_strategy_warn_overruled(&preset, config);
  overrule(config, s);
  if (dp > 1 || s->offload_optimizer || s->offload_params) return SL_OK;
  s->units = SL_UNITS_WHOLE;
  s->quantized_weights = s->quantized_gradients = false;
  s->shard_params = s->shard_grads = s->shard_optimizer = s->sums_whole = false;
  s->zero_stage = 0;
  return SL_OK;
}
