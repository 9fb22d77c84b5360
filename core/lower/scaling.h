/* The state of delayed scaling (Transformer Engine's recipe DelayedScaling): a scale for each factor of a product in
 * fp8, from the largest magnitudes that it had in the last steps. Casts use the scales of the steps before and note the
 * largest magnitude of this one; at the end of a step the ranks that share a weight, over tensor and data parallelism
 * and all parts of a sequence, agree on that, and one op makes the next scales (kernels/fp8.h). So a program with other
 * ranks or micro-batches casts the same numbers alike.
 *
 * All of it is fp32; factor f of the w-th linear weight of a pipeline rank (struct sl_placed) is number 3 w + f:
 *   SL_ROLE_FP8_SCALE     of each factor its scale and the inverse of that
 *   SL_ROLE_FP8_HISTORY   of each factor the largest magnitudes of the last steps, the newest first
 *   sl_lowering.fp8_amax  of each factor the largest magnitude of this step so far: 0 between steps
 * The first two are states of the weight, and saved with it (core/checkpoint/pieces.h). */
#pragma once

#include "core/lower/build.h"

/* Makes the buffers, if the program has casts, and those of the weights that Transformer Engine keeps. */
enum sl_status sl_scaling_open(struct sl_lowering *lowering);
/* Before the first step, and behind an evaluation, whose magnitudes do not count: no magnitudes. */
enum sl_status sl_scaling_forget(const struct sl_lowering *lowering, struct sl_program *program, enum sl_phase phase);
/* The end of a step: agrees on the largest magnitudes, and makes the next scales. */
enum sl_status sl_scaling_step(const struct sl_lowering *lowering, struct sl_program *program);
