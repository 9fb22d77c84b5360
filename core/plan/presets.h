/* A row of the table of presets: the strategy, and the framework whose limits apply. Internal to core/plan. */
#pragma once

#include "core/plan/strategy.h"

/* The framework whose limits apply; Accelerate adds its own to those of what it wraps. */
enum sl_preset_family {
  SL_FAMILY_DEEPSPEED = 1,
  SL_FAMILY_DDP = 2,
  SL_FAMILY_ZRO = 4,
  SL_FAMILY_FSDP = 8,
  SL_FAMILY_FSDP2 = 16,
  SL_FAMILY_MEGATRON = 32,
  SL_FAMILY_ACCELERATE = 64,
  SL_FAMILY_PIPELINE_ENGINE = 128, /* DeepSpeed's pipeline engine, whatever the number of stages */
  SL_FAMILY_MEGATRON_FSDP = 256,
  SL_FAMILY_NANOTRON = 512,
  SL_FAMILY_ONE_BUCKET = 1024, /* gradients are reduced all at once, after a rank's last backward */
  SL_FAMILY_SCALING = 2048     /* Aleph Alpha Scaling: likewise, but bucket by bucket */
};

/* Does the preset shard within groups of ranks? */
enum sl_shards {
  SL_SHARDS_NONE, /* the framework has no such groups here */
  SL_SHARDS_MAY,
  SL_SHARDS_MUST, /* it always does */
  SL_SHARDS_HPZ   /* as zero_hpz_partition_size says */
};

struct sl_preset {
  struct sl_strategy row;
  const char *description;
  const char *more; /* see sl_strategy_more_sharded */
  int64_t first_bucket_bytes, bucket_bytes;
  unsigned family;
  enum sl_shards shards;
  bool by_stage; /* the rest of the row is that of deepspeed-STAGE, STAGE being zero_optimization.stage */
};

/* Whether it is Megatron-LM without --overlap-grad-reduce, as "overlap_comm": false says: one bucket, reduced when
 * backward is over (param_and_grad_buffer.py and distributed_data_parallel.py, bucket_size None). */
bool sl_strategy_reduces_after_backward(const struct sl_preset *preset, const struct sl_config *config);

/* Finds the preset of `config`: by its name, or the row of its DeepSpeed ZeRO stage. */
enum sl_status sl_strategy_find_preset(struct sl_preset *preset, const struct sl_config *config);
/* The type in which FSDP keeps gradients: that of the fp32 shards, or, while they are whole, that in which they are
 * reduced (strategy.h, no_sync; torch/distributed/fsdp/_runtime_utils.py, _cast_grad_to_param_dtype;
 * fsdp/_fully_shard/_fsdp_collectives.py, foreach_reduce). */
static inline enum sl_dtype sl_strategy_fsdp_keeps(const struct sl_strategy *s, const struct sl_config *c) {
  return s->shard_grads ? SL_F32 : c->communication_data_type;
}

/* DeepSpeed's CPU optimizers read fp32 gradients only. */
static inline bool sl_strategy_fp32_on_host(const struct sl_strategy *s) {
  return s->offload_optimizer && s->shard_grads;
}
