/* torchtitan's keys that have no effect here, and those whose effect is not modelled. Internal to core/interop. */
#pragma once

#include "core/interop/settings.h"

/* NULL-terminated, or by a NULL path. Source: torchtitan/config/job_config.py at 238fa99, and
 * torchtitan/config_manager.py at the end of 2024. */
extern const char *const sl_torchtitan_beside[];
extern const struct sl_setting_refused sl_torchtitan_refused[];
