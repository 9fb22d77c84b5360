/* The step program. */
#pragma once

#include "core/lower/build.h"

/* Every distinct action lowered once, and an instance for each action. `kind`: of which of the two steps; EVAL: of an evaluation, which is the
 * step's forward actions in the step's order, without dropout, and the sum of the loss: what a step keeps for its backward is let go at once. */
enum sl_status sl_lower_step(struct sl_lowering *lowering, enum sl_program_kind kind);
