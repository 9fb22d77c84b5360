/* What a framework's own kernels do beside the ops of a stage. */
#pragma once

#include "core/lower/build.h"

/* Behind each op of the stage at hand that the plan's kernel set has a row for (plan/kernels.h), an op of kind `pass` with the
 * row's bytes, launches and buffers. */
enum sl_status sl_models_add_passes(struct sl_lowering *lowering);
