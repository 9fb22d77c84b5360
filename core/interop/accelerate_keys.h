/* Accelerate's keys that have no effect here, those whose effect is not modelled, and all top-level keys. Internal to
 * core/interop. */
#pragma once

#include "core/interop/settings.h"

/* NULL-terminated, or by a NULL path. Source: Accelerate 1.15, commands/config/config_args.py (ClusterConfig, which
 * refuses other keys) and utils/launch.py. */
extern const char *const sl_accelerate_known[], *const sl_accelerate_beside[];
extern const struct sl_setting_refused sl_accelerate_refused[];
