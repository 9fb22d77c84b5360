/* Keys of a file that a preset overrules. */
#pragma once

#include "core/plan/presets.h"

/* Warns of each key in the file whose value the preset (a complete row) replaces by another. */
void sl_strategy_warn_overruled(const struct sl_preset *preset, const struct sl_config *config);
