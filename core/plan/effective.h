/* The configuration that took effect in a run, as records contain it and `shardlab show config` prints it. */
#pragma once

#include "core/config/config.h"

/* sl_config_to_json of a plan's effective configuration, without the keys that its preset does not read: DeepSpeed's
 * ZeRO keys under other frameworks, limit_all_gathers and no_sync outside FSDP. Reading the result again gives the same
 * run. Returns a new reference, NULL when out of memory. */
json_t *sl_effective_json(const struct sl_config *config);
