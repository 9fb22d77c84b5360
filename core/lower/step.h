/* The step program. */
#pragma once

#include "core/lower/build.h"

/* Every distinct action lowered once, and an instance for each action. `kind`: of which of the two steps. */
enum sl_status sl_lower_step(struct sl_lowering *lowering, enum sl_program_kind kind);
