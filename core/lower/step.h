/* The step program. */
#pragma once

#include "core/lower/build.h"

/* Lowers every distinct action once, and appends an instance for each action. `kind` is one of the two kinds of steps,
 * or EVAL: the step's forward actions in the step's order, without dropout, and the sum of the loss; what a step keeps
 * for its backward is released at once. */
enum sl_status sl_lower_step(struct sl_lowering *lowering, enum sl_program_kind kind);
