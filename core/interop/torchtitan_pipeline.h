/* The pipeline and the batch of torchtitan's settings. Internal to core/interop. */
#pragma once

#include "core/interop/settings.h"

#include <stdbool.h>
#include <stdint.h>

/* What is read, and made of it. */
struct sl_titan {
  struct sl_settings s;
  int64_t world, replicate, shard, cp, tp, pp, layers; /* layers 0: not known */
  int64_t members; /* ranks over which FSDP shards: shard x cp (parallel_dims.py, dp_shard_cp) */
  int64_t stages;  /* of the whole pipeline */
  bool is_old;     /* its pipeline is that of before April 2025 */
  json_t *config;
};

extern const char sl_titan_pp_key[];

/* Puts schedule, stages and micro-batches. To be called when the degrees and the layers are known. Errors: SL_ERR_INPUT
 * at the setting's place. */
enum sl_status sl_titan_put_pipeline(struct sl_titan *t);
