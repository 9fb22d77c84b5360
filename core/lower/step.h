/* The step program. */
#pragma once

#include "core/lower/build.h"

/* Every distinct action lowered once, and an instance for each action. */
enum sl_status sl_lower_step(struct sl_lowering *lowering);
