/* The state of delayed scaling (Transformer Engine's recipe DelayedScaling): a scale for each factor of a product in
 * fp8, from the largest magnitudes that it had in the last steps. Casts use the scales of the steps before and note the
 * largest magnitude of this one; at the end of a step the ranks that share a weight, over tensor and data parallelism
 * and all parts of a sequence, agree on that, and one op makes the next scales (kernels/fp8.h). So a program with other
 * ranks or micro-batches casts the same numbers alike. */
#pragma once

#include "core/lower/build.h"

/* Makes the buffers, if the program has casts. */
enum sl_status sl_scaling_open(struct sl_lowering *lowering);
/* The state before the first step: scales are 1, histories are empty. */
enum sl_status sl_scaling_init(const struct sl_lowering *lowering, struct sl_program *program);
/* The end of a step: agrees on the largest magnitudes, and makes the next scales. */
enum sl_status sl_scaling_step(const struct sl_lowering *lowering, struct sl_program *program);
