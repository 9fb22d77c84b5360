/* What frameworks refuse, and what their presets answer by themselves. */
#pragma once

#include "core/plan/presets.h"

/* What the preset's framework refuses, in its own words where it has some. Nothing is refused to a configuration
 * that names no preset, except what DeepSpeed's keys cannot mean. plan/refusals.c. */
enum sl_status sl_strategy_check_limits(const struct sl_preset *preset, const struct sl_config *config);
/* A warning for each key that the file gives and the preset, whose row is complete, has an answer of its own to; what is
 * given and the same is not worth one. plan/refusals.c. */
void sl_strategy_warn_overruled(const struct sl_preset *preset, const struct sl_config *config);
