/* torchtitan's keys that have no effect here, all others, and those whose effect is not modelled. Internal to
 * core/interop. */
#pragma once

#include "core/interop/settings.h"

/* NULL-terminated, or by a NULL path. Source: torchtitan/config/job_config.py and torchtitan/config_manager.py in all
 * of their commits up to 238fa99. */
extern const char *const sl_torchtitan_beside[], *const sl_torchtitan_known[];
extern const struct sl_setting_refused sl_torchtitan_refused[];
extern const struct sl_setting_tie sl_torchtitan_ties[];
