/* The step program. */
#ifndef SL_CORE_LOWER_STEP_H
#define SL_CORE_LOWER_STEP_H

#include "core/lower/build.h"

/* Every distinct action lowered once, and an instance for each action. */
enum sl_status sl_lower_step(struct sl_lowering *lowering);

#endif
