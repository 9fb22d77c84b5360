/* The norm of all gradients: squares are summed into the step state, so that each element counts once over all
 * ranks. */
#pragma once

#include "core/lower/build.h"

/* Sums the squares of the gradients after the last backward. Those on NVMe were summed before. */
enum sl_status sl_grad_norm(struct sl_lowering *lowering, struct sl_program *program);
/* Sums the squares of elements [first, first + count) of this rank's shard, whole parts of units of one group, which
 * are at `passing` on their way to NVMe. */
enum sl_status sl_grad_norm_arrived(struct sl_lowering *lowering, struct sl_program *program, struct sl_operand passing,
                                    int64_t first, int64_t count);
