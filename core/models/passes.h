/* Adds what a framework's own kernels do in addition to the ops of a stage. */
#pragma once

#include "core/lower/build.h"

/* Adds an op of kind `pass` after each op of the current stage for which the plan's kernel set has a row
 * (plan/kernels.h), with the row's bytes, launches and buffers. */
enum sl_status sl_models_add_passes(struct sl_lowering *lowering);
