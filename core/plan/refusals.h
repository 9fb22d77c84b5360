/* Checks what frameworks refuse (refusals.c), and warns of keys that a preset overrules (overruled.c). */
#pragma once

#include "core/plan/presets.h"

/* Fails for a configuration that the preset's framework refuses or has no feature for, in the framework's own words
 * where it has any. Limits on parallel degrees are checked only if shardlab.preset names a preset; all other checks
 * always apply. Errors: SL_ERR_INPUT with the key and its place. */
enum sl_status sl_strategy_check_limits(const struct sl_preset *preset, const struct sl_config *config);
/* Warns of each key in the file whose value the preset (a complete row) replaces by another. */
void sl_strategy_warn_overruled(const struct sl_preset *preset, const struct sl_config *config);
