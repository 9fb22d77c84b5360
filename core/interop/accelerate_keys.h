/* Accelerate's keys that have no effect here, all others below the top, those whose effect is not modelled, and all
 * top-level keys. Internal to core/interop. */
#pragma once

#include "core/interop/settings.h"

/* NULL-terminated, or by a NULL path. Source: Accelerate 1.15, commands/config/config_args.py (ClusterConfig, which
 * refuses other keys) and utils/launch.py; those below
 * the top: commands/launch.py, its arguments. */
extern const char *const sl_accelerate_known[], *const sl_accelerate_beside[], *const sl_accelerate_settings[];
extern const struct sl_setting_refused sl_accelerate_refused[];
extern const struct sl_setting_tie sl_accelerate_ties[];
