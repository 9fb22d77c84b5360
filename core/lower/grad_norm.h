/* The norm of all gradients: squares summed into the step state, each element counted once over all ranks. */
#pragma once

#include "core/lower/build.h"

/* Squares of the gradients as they stand behind the last backward. Those on NVMe were summed before. */
enum sl_status sl_grad_norm(struct sl_lowering *lowering, struct sl_program *program);
/* Squares of the own parts of `units` units from unit `first` on, which stand behind each other in `buffer`, on their way to NVMe. */
enum sl_status sl_grad_norm_arrived(struct sl_lowering *lowering, struct sl_program *program, int32_t buffer, int first,
                               int units);
