/* Checks what frameworks refuse. */
#pragma once

#include "core/plan/presets.h"

/* Fails for a configuration that the preset's framework refuses or has no feature for, in the framework's own words
 * where it has any. Limits on parallel degrees are checked only if shardlab.preset names a preset; all other checks
 * always apply. Errors: SL_ERR_INPUT with the key and its place. */
enum sl_status sl_strategy_check_limits(const struct sl_preset *preset, const struct sl_config *config);
/* Fails for torch.autocast on several data-parallel ranks without a preset: they are DeepSpeed's. */
enum sl_status sl_strategy_check_autocast(const struct sl_config *config, int dp);
/* Fails for DeepSpeed's MiCS whose optimizer is offloaded, if shard groups of the `dp` data-parallel ranks have
 * replicas. */
enum sl_status sl_strategy_check_replicas(const struct sl_preset *preset, const struct sl_config *config, int dp);
