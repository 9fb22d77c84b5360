/* A preset as its table has it: the strategy, and which framework's limits hold. Internal to core/plan. */
#pragma once

#include "core/plan/strategy.h"

/* Whose limits hold; Accelerate adds its own to those of what it wraps. */
enum sl_family {
  SL_FAMILY_DEEPSPEED = 1,
  SL_FAMILY_DDP = 2,
  SL_FAMILY_ZRO = 4,
  SL_FAMILY_FSDP = 8,
  SL_FAMILY_FSDP2 = 16,
  SL_FAMILY_MEGATRON = 32,
  SL_FAMILY_ACCELERATE = 64,
  SL_FAMILY_PIPELINE_ENGINE = 128, /* DeepSpeed's, whatever the number of stages */
  SL_FAMILY_MEGATRON_FSDP = 256,
  SL_FAMILY_NANOTRON = 512,
  SL_FAMILY_ONE_BUCKET = 1024, /* gradients are reduced at once, when a rank's last backward is over */
  SL_FAMILY_SCALING = 2048     /* Aleph Alpha Scaling: bucket by bucket then */
};

/* Groups that shard among themselves. */
enum sl_shards {
  SL_SHARDS_NONE, /* the framework has none here */
  SL_SHARDS_MAY,
  SL_SHARDS_MUST, /* the preset is about them */
  SL_SHARDS_HPZ   /* about zero_hpz_partition_size */
};

struct sl_preset {
  struct sl_strategy row;
  const char *description;
  int64_t first_bucket_bytes, bucket_bytes;
  unsigned family;
  enum sl_shards shards;
  bool by_stage; /* the rest of the row is that of deepspeed-STAGE, by zero_optimization.stage */
};

/* The preset of `config`: by its name, or the row of DeepSpeed's ZeRO stage. */
enum sl_status sl_strategy_find_preset(struct sl_preset *preset, const struct sl_config *config);
/* DeepSpeed's CPU optimizers read fp32 gradients only. */
static inline bool sl_strategy_fp32_on_host(const struct sl_strategy *s) {
  return s->offload_optimizer && s->shard_grads;
}
