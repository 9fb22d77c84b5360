/* The table of presets: one row a framework's way of sharding; see plan/presets.h. */
#include "core/plan/presets.h"

#include "core/base/nearest.h"

#include <stdio.h>
#include <string.h>

enum { MIB = 1 << 20 };

/* Sources: torch/nn/parallel/distributed.py (bucket_cap_mb 25, first bucket 1 MiB); torch/distributed/fsdp (transformer
 * auto-wrap, BACKWARD_PRE, limit_all_gathers); Megatron-LM core/distributed/distributed_data_parallel.py, with
 * --overlap-grad-reduce (without it, its default, a stage is one bucket, reduced when backward is over); DeepSpeed
 * 0.19.6 runtime/zero; Accelerate 1.15 parallelism_config.py and utils/dataclasses.py.
 * Bucket limits of 0: by the rank count for Megatron-LM, else reduce_bucket_size, or a layer each. */
static const struct sl_preset presets[] = {
    {.row = {.name = "deepspeed-0", .framework = "DeepSpeed", .zero_stage = 0, .units = SL_UNITS_WHOLE},
     .family = SL_FAMILY_DEEPSPEED,
     .description = "DeepSpeed without ZeRO: everything replicated"},
    {.row = {.name = "deepspeed-1",
             .framework = "DeepSpeed",
             .zero_stage = 1,
             .units = SL_UNITS_FLAT,
             .shard_optimizer = true},
     .family = SL_FAMILY_DEEPSPEED,
     .description = "ZeRO-1: optimizer state in flat partitions"},
    {.row = {.name = "deepspeed-2",
             .framework = "DeepSpeed",
             .zero_stage = 2,
             .units = SL_UNITS_FLAT,
             .shard_optimizer = true,
             .shard_grads = true},
     .family = SL_FAMILY_DEEPSPEED,
     .description = "ZeRO-2: gradients too"},
    {.row = {.name = "deepspeed-3",
             .framework = "DeepSpeed",
             .zero_stage = 3,
             .units = SL_UNITS_PARAMETER,
             .shard_optimizer = true,
             .shard_grads = true,
             .shard_params = true,
             .release = SL_RELEASE_DISTANCE},
     .family = SL_FAMILY_DEEPSPEED,
     .description = "ZeRO-3: parameters too"},
    {.row = {.name = "ddp",
             .framework = "PyTorch DDP",
             .zero_stage = 0,
             .units = SL_UNITS_WHOLE,
             .closes_after = true,
             .overlap = true},
     .family = SL_FAMILY_DDP,
     .description = "DistributedDataParallel: 25 MiB buckets, the first 1 MiB, all-reduced as backward fills them",
     .first_bucket_bytes = MIB,
     .bucket_bytes = 25 * MIB},
    {.row = {.name = "zero-redundancy-optimizer",
             .framework = "PyTorch ZeroRedundancyOptimizer",
             .zero_stage = 1,
             .units = SL_UNITS_OWNER,
             .shard_optimizer = true,
             .closes_after = true,
             .overlap = true},
     .family = SL_FAMILY_ZRO,
     .description = "DDP gradients; each rank updates its own whole parameters and broadcasts them",
     .first_bucket_bytes = MIB,
     .bucket_bytes = 25 * MIB},
    {.row = {.name = "fsdp",
             .framework = "PyTorch FSDP",
             .zero_stage = 3,
             .units = SL_UNITS_LAYER,
             .shard_optimizer = true,
             .shard_grads = true,
             .shard_params = true,
             .overlap = true,
             .release = SL_RELEASE_PASS,
             .prefetch_units = true},
     .family = SL_FAMILY_FSDP,
     .description = "FullyShardedDataParallel FULL_SHARD: one flat parameter a block, gathered for forward and again "
                    "for backward"},
    {.row = {.name = "fsdp-shard-grad-op",
             .framework = "PyTorch FSDP",
             .zero_stage = 2,
             .units = SL_UNITS_LAYER,
             .shard_optimizer = true,
             .shard_grads = true,
             .shard_params = true,
             .overlap = true,
             .release = SL_RELEASE_MICRO,
             .prefetch_units = true},
     .family = SL_FAMILY_FSDP,
     .description = "FullyShardedDataParallel SHARD_GRAD_OP: gathered for forward, kept until backward is over"},
    {.row = {.name = "megatron-distributed-optimizer",
             .framework = "Megatron-LM",
             .zero_stage = 1,
             .units = SL_UNITS_BUCKET,
             .shard_optimizer = true,
             .closes_after = true,
             .overlap = true,
             .fp32_gradients = true},
     .family = SL_FAMILY_MEGATRON,
     .description =
         "Megatron-LM --use-distributed-optimizer --overlap-grad-reduce: fp32 gradients reduce-scattered by bucket, "
         "parameters gathered by bucket",
     .shards = SL_SHARDS_MAY},
    {.row = {.name = "fsdp-hybrid-shard",
             .framework = "PyTorch FSDP",
             .zero_stage = 3,
             .units = SL_UNITS_LAYER,
             .shard_optimizer = true,
             .shard_grads = true,
             .shard_params = true,
             .overlap = true,
             .release = SL_RELEASE_PASS,
             .prefetch_units = true},
     .family = SL_FAMILY_FSDP,
     .description = "HYBRID_SHARD: FULL_SHARD inside groups of shard_size ranks, replicas across them",
     .shards = SL_SHARDS_MUST},
    {.row = {.name = "fsdp-hybrid-shard-zero2",
             .framework = "PyTorch FSDP",
             .zero_stage = 2,
             .units = SL_UNITS_LAYER,
             .shard_optimizer = true,
             .shard_grads = true,
             .shard_params = true,
             .overlap = true,
             .release = SL_RELEASE_MICRO,
             .prefetch_units = true},
     .family = SL_FAMILY_FSDP,
     .description = "_HYBRID_SHARD_ZERO2: SHARD_GRAD_OP inside groups of shard_size ranks, replicas across them",
     .shards = SL_SHARDS_MUST},
    {.row = {.name = "fsdp2",
             .framework = "PyTorch FSDP2",
             .zero_stage = 3,
             .units = SL_UNITS_LAYER,
             .shard_optimizer = true,
             .shard_grads = true,
             .shard_params = true,
             .overlap = true,
             .release = SL_RELEASE_PASS,
             .prefetch_units = true},
     .family = SL_FAMILY_FSDP2,
     .description = "fully_shard, which DTensor tensor parallelism and torch.distributed.pipelining compose with; laid "
                    "out like fsdp",
     .shards = SL_SHARDS_MAY},
    {.row = {.name = "fsdp2-no-reshard",
             .framework = "PyTorch FSDP2",
             .zero_stage = 2,
             .units = SL_UNITS_LAYER,
             .shard_optimizer = true,
             .shard_grads = true,
             .shard_params = true,
             .overlap = true,
             .release = SL_RELEASE_MICRO,
             .prefetch_units = true},
     .family = SL_FAMILY_FSDP2,
     .description = "fully_shard with reshard_after_forward false: gathered for forward, kept until backward is over",
     .shards = SL_SHARDS_MAY},
    {.row = {.name = "mics",
             .framework = "DeepSpeed",
             .zero_stage = 3,
             .units = SL_UNITS_PARAMETER,
             .shard_optimizer = true,
             .shard_grads = true,
             .shard_params = true,
             .release = SL_RELEASE_DISTANCE},
     .family = SL_FAMILY_DEEPSPEED,
     .description =
         "MiCS: ZeRO-3 inside groups of mics_shard_size ranks, replicas across them (until DeepSpeed 0.19.6)",
     .shards = SL_SHARDS_MUST},
    {.row = {.name = "zero++",
             .framework = "DeepSpeed",
             .zero_stage = 3,
             .units = SL_UNITS_PARAMETER,
             .shard_optimizer = true,
             .shard_grads = true,
             .shard_params = true,
             .release = SL_RELEASE_DISTANCE},
     .family = SL_FAMILY_DEEPSPEED,
     .description =
         "ZeRO++'s hpZ: ZeRO-3 with a second copy of the parameters in groups of zero_hpz_partition_size ranks",
     .shards = SL_SHARDS_HPZ},
    {.row = {.name = "deepspeed-pipeline", .framework = "DeepSpeed"},
     .family = SL_FAMILY_DEEPSPEED | SL_FAMILY_PIPELINE_ENGINE,
     .description = "DeepSpeed's PipelineEngine: 1F1B; ZeRO stage 0 or 1, as zero_optimization.stage says",
     .by_stage = true},
    {.row = {.name = "megatron-lm",
             .framework = "Megatron-LM",
             .zero_stage = 0,
             .units = SL_UNITS_WHOLE,
             .closes_after = true,
             .overlap = true,
             .fp32_gradients = true},
     .family = SL_FAMILY_MEGATRON,
     .description = "Megatron-LM --overlap-grad-reduce without a distributed optimizer: tensor, sequence and "
                    "(interleaved) pipeline "
                    "parallel"},
    {.row = {.name = "megatron-fsdp",
             .framework = "Megatron-LM",
             .zero_stage = 3,
             .units = SL_UNITS_LAYER,
             .shard_optimizer = true,
             .shard_grads = true,
             .shard_params = true,
             .overlap = true,
             .fp32_gradients = true,
             .release = SL_RELEASE_PASS,
             .prefetch_units = true},
     .family = SL_FAMILY_MEGATRON | SL_FAMILY_MEGATRON_FSDP,
     .description = "Megatron-FSDP, optim_grads_params: data and tensor parallel; laid out like fsdp",
     .shards = SL_SHARDS_MAY},
    {.row = {.name = "accelerate-ddp",
             .framework = "Accelerate",
             .zero_stage = 0,
             .units = SL_UNITS_WHOLE,
             .closes_after = true,
             .overlap = true},
     .family = SL_FAMILY_ACCELERATE | SL_FAMILY_DDP,
     .description = "ddp, as Accelerate wraps it",
     .first_bucket_bytes = MIB,
     .bucket_bytes = 25 * MIB},
    {.row = {.name = "accelerate-fsdp",
             .framework = "Accelerate",
             .zero_stage = 3,
             .units = SL_UNITS_LAYER,
             .shard_optimizer = true,
             .shard_grads = true,
             .shard_params = true,
             .overlap = true,
             .release = SL_RELEASE_PASS,
             .prefetch_units = true},
     .family = SL_FAMILY_ACCELERATE | SL_FAMILY_FSDP2,
     .description = "fsdp2 through Accelerate's ParallelismConfig: data and tensor parallel",
     .shards = SL_SHARDS_MAY},
    {.row = {.name = "accelerate-deepspeed", .framework = "Accelerate"},
     .family = SL_FAMILY_ACCELERATE | SL_FAMILY_DEEPSPEED,
     .description = "DeepSpeed through Accelerate: the stage is zero_optimization.stage",
     .by_stage = true},
    {.row = {.name = "accelerate-megatron",
             .framework = "Accelerate",
             .zero_stage = 1,
             .units = SL_UNITS_BUCKET,
             .shard_optimizer = true,
             .closes_after = true,
             .overlap = true,
             .fp32_gradients = true},
     .family = SL_FAMILY_ACCELERATE | SL_FAMILY_MEGATRON,
     .description = "megatron-distributed-optimizer, through Accelerate's MegatronLMPlugin"}};
enum { PRESETS = sizeof presets / sizeof *presets };

bool sl_strategy_preset(int i, const char **name, const char **description) {
  if (i < 0 || i >= PRESETS) return false;
  *name = presets[i].row.name;
  *description = presets[i].description;
  return true;
}

static const struct sl_preset *find(const char *name) {
  for (int i = 0; i < PRESETS; i++)
    if (strcmp(presets[i].row.name, name) == 0) return &presets[i];
  return NULL;
}

int sl_strategy_deepspeed_stage(const char *name) {
  const struct sl_preset *p = find(name);
  return p != NULL && (p->family & SL_FAMILY_DEEPSPEED) && !p->by_stage ? p->row.zero_stage : -1;
}

static enum sl_status unknown(const struct sl_config *config) {
  const char *names[PRESETS];
  for (int i = 0; i < PRESETS; i++) names[i] = presets[i].row.name;
  const char *near = sl_nearest(config->sl.preset, names, PRESETS);
  return sl_json_fail(&config->doc, "shardlab.preset",
                      "\"%s\" is no preset; did you mean %s? (shardlab show presets lists them)", config->sl.preset,
                      near != NULL ? near : "deepspeed-2");
}

enum sl_status sl_strategy_find_preset(struct sl_preset *out, const struct sl_config *config) {
  char name[16];
  const char *wanted = config->sl.preset;
  const struct sl_preset *p = find(wanted);
  if (p == NULL && wanted[0] != '\0') return unknown(config);
  if (p != NULL && !p->by_stage) {
    *out = *p;
    return SL_OK;
  }
  snprintf(name, sizeof name, "deepspeed-%d", config->zero.stage);
  *out = *find(name);
  if (p == NULL) return SL_OK;
  out->row.name = p->row.name;
  out->row.framework = p->row.framework;
  out->family = p->family;
  return SL_OK;
}
