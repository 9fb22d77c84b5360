/* The configuration that a run had, as records and `shardlab show config` print it. */
#pragma once

#include "core/config/config.h"

/* sl_config_to_json of a plan's effective configuration, without the keys that its preset does not read: those of DeepSpeed's
 * ZeRO under a framework that is not DeepSpeed, limit_all_gathers outside FSDP. Read again it gives the same run. New reference,
 * NULL when out of memory. */
json_t *sl_effective_json(const struct sl_config *config);
