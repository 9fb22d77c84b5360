/* Computes the strategy of a run from a preset's row and a configuration; see strategy.h. The rows are in
 * plan/presets.c, what frameworks refuse in plan/refusals.c. */
#include "core/plan/strategy.h"

#include "core/base/limits.h"
#include "core/base/machine.h"
#include "core/plan/overruled.h"
#include "core/plan/presets.h"
#include "core/plan/refusals.h"

#include <string.h>

/* The blocks through which data is copied are aligned for any device, since O_DIRECT requires it. */
static enum sl_status check_aio(const struct sl_config *c) {
  enum { PAGE = SL_MACHINE_PAGE, MOST_BLOCK = 1 << 30, MOST_DEPTH = 1024 };
  if (c->aio.block_size < PAGE || c->aio.block_size > MOST_BLOCK || c->aio.block_size % PAGE != 0)
    return sl_json_fail(&c->doc, "aio.block_size", "is %lld; expected a multiple of %d bytes, from %d to %d",
                        (long long)c->aio.block_size, PAGE, PAGE, MOST_BLOCK);
  if (c->aio.queue_depth < 1 || c->aio.queue_depth > MOST_DEPTH)
    return sl_json_fail(&c->doc, "aio.queue_depth", "is %lld; expected 1 to %d", (long long)c->aio.queue_depth,
                        MOST_DEPTH);
  if (c->aio.threads < 1 || c->aio.threads > MOST_DEPTH / c->aio.queue_depth)
    return sl_json_fail(&c->doc, "aio.intra_op_parallelism",
                        "is %lld; expected at least 1, and at most %d blocks on their way: a queue of %lld for each "
                        "thread",
                        (long long)c->aio.threads, MOST_DEPTH, (long long)c->aio.queue_depth);
  return SL_OK;
}

/* Optimizer states on NVMe. DeepSpeed's pool of buffers has room for the states of a sub-group and its gradients. */
static enum sl_status check_optimizer_nvme(const struct sl_config *c) {
  const int64_t states = c->optimizer.type != SL_OPT_SGD ? 3 : c->optimizer.momentum != 0 ? 2 : 1;
  if (c->zero.stage != 3)
    return sl_json_fail(&c->doc, "zero_optimization.offload_optimizer.device",
                        "\"nvme\" is only supported with ZeRO stage 3; the stage is %d", c->zero.stage);
  if (c->zero.optimizer_buffer_count <= states)
    return sl_json_fail(&c->doc, "zero_optimization.offload_optimizer.buffer_count",
                        "is %lld; expected at least %lld: a buffer for each of the optimizer's states and one for "
                        "gradients",
                        (long long)c->zero.optimizer_buffer_count, (long long)states + 1);
  return SL_OK;
}

static enum sl_status check_param_nvme(const struct sl_config *c) {
  if (c->zero.offload_optimizer == SL_OFFLOAD_NONE)
    return sl_json_fail(&c->doc, "zero_optimization.offload_param.device",
                        "\"nvme\" beside an optimizer on the device is not modelled; expected offload_optimizer too");
  if (c->zero.offload_optimizer == SL_OFFLOAD_NVME && strcmp(c->zero.param_nvme_path, c->zero.optimizer_nvme_path) != 0)
    return sl_json_fail(&c->doc, "zero_optimization.offload_param.nvme_path",
                        "is \"%s\", and that of offload_optimizer \"%s\"; expected the same: both live in one file",
                        c->zero.param_nvme_path, c->zero.optimizer_nvme_path);
  if (c->zero.param_buffer_count < 1 || c->zero.param_buffer_count > 4096)
    return sl_json_fail(&c->doc, "zero_optimization.offload_param.buffer_count", "is %lld; expected 1 to 4096",
                        (long long)c->zero.param_buffer_count);
  return SL_OK;
}

/* DeepSpeed's ZeRO-Offload and ZeRO-Infinity. */
static enum sl_status choose_offload(struct sl_strategy *s, const struct sl_config *c) {
  const bool optimizer = c->zero.offload_optimizer == SL_OFFLOAD_NVME, param = c->zero.offload_param == SL_OFFLOAD_NVME;
  if (optimizer) SL_TRY(check_optimizer_nvme(c));
  if (param) SL_TRY(check_param_nvme(c));
  if (optimizer || param) SL_TRY(check_aio(c));
  s->offload_optimizer = c->zero.offload_optimizer != SL_OFFLOAD_NONE;
  s->offload_params = c->zero.offload_param != SL_OFFLOAD_NONE && s->shard_params;
  s->optimizer_on_nvme = optimizer;
  s->params_on_nvme = param && s->shard_params;
  return SL_OK;
}

/* Megatron-LM with --overlap-grad-reduce (distributed_data_parallel.py): larger buckets for more ranks, so that the
 * steps of a ring stay bound by bandwidth. */
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

/* The groups of ranks that shard states; they must have equal sizes. */
static enum sl_status choose_shard_size(struct sl_strategy *s, const struct sl_config *c, int dp) {
  const int64_t size = sl_config_shard_size(c), hpz = c->zero.hpz_partition_size;
  if (size > 0 && s->zero_stage == 0)
    return sl_json_fail(&c->doc, "shardlab.shard_size",
                        "is %lld; ZeRO stage 0 shards nothing: expected 0, or zero_optimization.stage 1, 2 or 3",
                        (long long)size);
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

/* Writes what the preset overrules to the configuration, where the lowering and the run record read it. */
static void overrule(struct sl_config *c, const struct sl_strategy *s) {
  if (s->fp32_gradients || s->fp32_reductions) c->communication_data_type = SL_F32;
  if (s->fp32_gradients || sl_strategy_fp32_on_host(s)) c->grad_accum_dtype = SL_F32;
  if (s->fp32_reductions) c->grad_accum_dtype = c->param_dtype;
  if (s->ulysses) c->communication_data_type = s->ulysses_type;
  if (s->adds_parts_later) c->grad_accum_dtype = c->param_dtype;
  if (s->casts_shards) c->grad_accum_dtype = sl_strategy_fsdp_keeps(s, c);
  c->zero.overlap_comm = s->overlap;
  c->zero.reduce_bucket_size = s->bucket;
}

/* DeepSpeed's stages follow overlap_comm whether it is given or not, Megatron-LM where it is. */
static void choose_overlap(struct sl_preset *preset, const struct sl_config *config) {
  if (preset->family & SL_FAMILY_DEEPSPEED) preset->row.overlap = config->zero.overlap_comm;
  if (!sl_strategy_reduces_after_backward(preset, config)) return;
  preset->row.overlap = false;
  preset->family |= SL_FAMILY_ONE_BUCKET;
}

static bool is_parameters_type(const struct sl_config *config, const char *path) {
  const char *said = json_string_value(sl_config_at(config, path));
  return said != NULL && strcmp(said, sl_dtype_name(config->param_dtype)) == 0;
}

/* Where the file leaves it open, bf16 without ZeRO means fp32 gradients to presets of other frameworks than DeepSpeed,
 * which go by their own fp32 buffers or shards where they have them. */
static void default_gradient_type(const struct sl_preset *preset, struct sl_config *config) {
  const bool open = sl_config_at(config, "data_types.grad_accum_dtype") == NULL;
  if (open && !(preset->family & SL_FAMILY_DEEPSPEED) && config->bf16.enabled && config->zero.stage == 0)
    config->grad_accum_dtype = SL_F32;
}

/* Megatron-LM's gradients are fp32, but in the parameters' type with --grad-reduce-in-bf16, and in fp16 without
 * --accumulate-allreduce-grads-in-fp32 (training/arguments.py and distributed_data_parallel.py, grad_reduce_in_fp32):
 * here where both types of the file say so. */
static void choose_gradient_type(struct sl_preset *preset, const struct sl_config *config) {
  preset->row.gradient_buffer = preset->row.fp32_gradients;
  if (preset->family & SL_FAMILY_MEGATRON && is_parameters_type(config, "communication_data_type") &&
      is_parameters_type(config, "data_types.grad_accum_dtype"))
    preset->row.fp32_gradients = false;
}

/* BF16_Optimizer, which DeepSpeed takes for fp32 gradients at stage 1 and, until 0.18.5, at stage 0, and in its
 * pipelines at stage 0 whatever the type: optimizer state in partitions, whole gradients, flat, that are all-reduced
 * (runtime/engine.py, _do_optimizer_sanity_check; runtime/bf16_optimizer.py; runtime/pipe/engine.py,
 * _bf16_reduce_grads). What it refuses: plan/refusals.c. */
static bool is_bf16_optimizer(const struct sl_strategy *s, const struct sl_preset *preset,
                              const struct sl_config *config, int dp) {
  if (!(preset->family & SL_FAMILY_DEEPSPEED) || config->param_dtype != SL_BF16 || s->offload_optimizer) return false;
  if (s->zero_stage == 1) return config->grad_accum_dtype == SL_F32;
  const bool engine = preset->family & SL_FAMILY_PIPELINE_ENGINE;
  return s->zero_stage == 0 && (engine || config->grad_accum_dtype == SL_F32) && dp > 1 &&
         config->optimizer.type != SL_OPT_ONEBIT_ADAM;
}

static enum sl_gradient_copies copies_of(const struct sl_strategy *s, const struct sl_preset *preset,
                                         const struct sl_config *config, bool bf16_optimizer) {
  const bool half = sl_dtype_bytes(config->param_dtype) == 2;
  if (config->sl.kernels == SL_KERNELS_SHARDLAB || s->offload_optimizer) return SL_COPIES_NONE;
  if (preset->family & SL_FAMILY_MEGATRON && s->units != SL_UNITS_LAYER)
    return half && !s->fp32_gradients && config->grad_accum_dtype != SL_F32 ? SL_COPIES_FLOAT : SL_COPIES_NONE;
  if (bf16_optimizer) return config->grad_accum_dtype != SL_F32 ? SL_COPIES_FLOAT : SL_COPIES_NONE;
  if (!(preset->family & SL_FAMILY_DEEPSPEED)) return SL_COPIES_NONE;
  if (s->units == SL_UNITS_WHOLE) return half ? SL_COPIES_LIST : SL_COPIES_NONE;
  return s->shard_optimizer ? SL_COPIES_FLAT : SL_COPIES_NONE;
}

/* The type in which DeepSpeed reduces gradients of sequences that ranks share (Ulysses): a key of its own (runtime/engine.py,
 * _configure_distributed_model, since 0.11.2), and fp32 whatever that says where ZeRO 1 and 2 reduce flat copies of buckets
 * (zero/stage_1_and_2.py, allreduce_bucket). */
static void choose_ulysses_type(struct sl_strategy *s, const struct sl_preset *preset, const struct sl_config *config,
                                bool bf16_optimizer) {
  const bool ulysses = config->sl.cp > 1 && config->sl.cp_comm == SL_CP_A2A;
  const bool flat = s->units == SL_UNITS_FLAT && !bf16_optimizer && config->zero.reduce_scatter;
  s->ulysses = preset->family & SL_FAMILY_DEEPSPEED && ulysses && sl_config_since(config, 0, 11, 2);
  s->ulysses_type = flat ? SL_F32 : config->seq_parallel_communication_data_type;
}

/* How gradients are summed and what buffers that takes. DeepSpeed's ZeRO-2 has its own on a single rank, too. */
static void choose_sums(struct sl_strategy *s, const struct sl_preset *preset, const struct sl_config *config, int dp,
                        bool bf16_optimizer) {
  const bool deepspeed = preset->family & SL_FAMILY_DEEPSPEED, flat = deepspeed && s->units == SL_UNITS_FLAT,
             frameworks = config->sl.kernels != SL_KERNELS_SHARDLAB;
  const bool zero2 = frameworks && flat && s->shard_grads, alone = zero2 && !s->offload_optimizer;
  const bool whole = flat && (!config->zero.reduce_scatter || config->zero.multi_rank_allreduce);
  const bool bf16_sums = bf16_optimizer && (preset->family & SL_FAMILY_PIPELINE_ENGINE || frameworks);
  s->sums_whole = (dp > 1 || alone) && s->shard_optimizer && s->shard_size == 0 &&
                  (preset->family & (SL_FAMILY_SCALING | SL_FAMILY_NANOTRON) || whole || bf16_sums);
  s->whole_buckets = frameworks && deepspeed && s->shard_optimizer && !bf16_optimizer && (dp > 1 || zero2);
  s->casts_buckets = zero2 && s->sums_whole;
  s->adds_parts_later = alone;
  s->sums_through_host = zero2 && s->offload_optimizer;
  s->gradients_apart = bf16_optimizer && frameworks && config->grad_accum_dtype == config->param_dtype;
}

/* Summed whole over micro-batches, see strategy.h: under no_sync, and FSDP2's gradients beside a pipeline. */
static void choose_fsdp(struct sl_strategy *s, const struct sl_preset *preset, const struct sl_config *config, int dp) {
  const bool fsdp = preset->family & (SL_FAMILY_FSDP | SL_FAMILY_FSDP2);
  const bool frameworks = config->sl.kernels != SL_KERNELS_SHARDLAB;
  s->copies_gathered = preset->family & SL_FAMILY_FSDP2;
  s->keeps_messages = s->copies_gathered && config->sl.pp > 1;
  s->casts_shards = fsdp;
  s->no_sync = fsdp && config->sl.no_sync && config->gradient_accumulation_steps > 1 && dp > 1;
  s->gathers_once = s->no_sync && s->release == SL_RELEASE_MICRO && preset->family & SL_FAMILY_FSDP;
  s->gathers_at_once = fsdp && !config->sl.limit_all_gathers;
  if (s->no_sync || s->keeps_messages) s->shard_grads = false;
  s->reduces_apart = fsdp && frameworks && !s->shard_grads && dp > 1 && !s->offload_optimizer &&
                     sl_strategy_fsdp_keeps(s, config) == config->communication_data_type;
}

/* DeepSpeed's groups are those of MiCS, at stage 3 and not offloaded; others are ours and sum at the end of a step. */
static enum sl_replica_sums replica_sums_of(const struct sl_strategy *s, const struct sl_preset *preset) {
  if (s->shard_size == 0) return SL_REPLICAS_LAST;
  if (!(preset->family & SL_FAMILY_DEEPSPEED)) return SL_REPLICAS_ARRIVED;
  return s->units == SL_UNITS_PARAMETER && !s->offload_optimizer ? SL_REPLICAS_KEPT : SL_REPLICAS_LAST;
}

enum sl_status sl_strategy_choose(struct sl_strategy *s, struct sl_config *config, int dp) {
  struct sl_preset preset;
  SL_TRY(sl_strategy_find_preset(&preset, config));
  default_gradient_type(&preset, config);
  SL_TRY(sl_strategy_check_limits(&preset, config));
  SL_TRY(sl_strategy_check_autocast(config, dp));
  SL_TRY(sl_strategy_check_replicas(&preset, config, dp));
  choose_overlap(&preset, config);
  choose_gradient_type(&preset, config);
  *s = preset.row;
  SL_TRY(choose_offload(s, config));
  const bool bf16_optimizer = is_bf16_optimizer(s, &preset, config, dp);
  if (bf16_optimizer && s->zero_stage == 0) s->units = SL_UNITS_FLAT, s->shard_optimizer = true, s->zero_stage = 1;
  choose_fsdp(s, &preset, config, dp);
  s->copies_to_buckets = preset.family & (SL_FAMILY_DDP | SL_FAMILY_ZRO) && dp > 1 && !config->sl.bucket_view;
  SL_TRY(choose_shard_size(s, config, dp));
  s->replica_sums = replica_sums_of(s, &preset);
  s->quantized_weights = s->shard_params && config->zero.quantized_weights;
  s->quantized_gradients = s->shard_params && config->zero.quantized_gradients;
  choose_buckets(s, &preset, config, dp);
  s->master_beside_fp32 = (preset.family & SL_FAMILY_DEEPSPEED) && s->shard_optimizer &&
                          (s->offload_optimizer || config->sl.kernels != SL_KERNELS_SHARDLAB);
  s->gradients_by_tensor = !s->gradient_buffer && !(preset.family & SL_FAMILY_MEGATRON) && !bf16_optimizer;
  s->copies_gradients = copies_of(s, &preset, config, bf16_optimizer);
  choose_sums(s, &preset, config, dp, bf16_optimizer);
  choose_ulysses_type(s, &preset, config, bf16_optimizer);
  const bool scaling = preset.family & SL_FAMILY_SCALING, engine = preset.family & SL_FAMILY_PIPELINE_ENGINE;
  const bool staged = (preset.family & SL_FAMILY_DEEPSPEED) && config->sl.pp > 1;
  s->fp32_reductions = s->pair_messages = scaling;
  s->reduces_last = scaling || (staged && (engine || !s->overlap) && !s->shard_grads);
  s->reduces_last |= s->keeps_messages; /* torch's pipelines */
  s->pipeline_engine = engine;
  s->pair_messages |= s->pipeline_engine;
  s->blocking_messages = scaling;
  s->overlap_param_gather = config->sl.overlap_param_gather;
  s->hooked = s->shard_params ? s->units : SL_UNITS_WHOLE;
  preset.row = *s;
  sl_strategy_warn_overruled(&preset, config);
  overrule(config, s);
  if (dp > 1 || s->offload_optimizer || s->offload_params) return SL_OK;
  s->nothing_to_shard = s->zero_stage > 0;
  s->zero_stage = 0;
  if (s->adds_parts_later) return SL_OK;
  s->units = SL_UNITS_WHOLE;
  s->quantized_weights = s->quantized_gradients = s->overlap_param_gather = false;
  s->shard_params = s->shard_grads = s->shard_optimizer = s->sums_whole = s->casts_shards = false;
  return SL_OK;
}
