/* The step state: the scalars of a step that depend on data. They are kept in a buffer, so that the program stays
 * static.
 *
 * CLASSIFIER and MSE add to loss_sum, NORM to square_sum, and one all-reduce over the world sums `reduced`. The CONTROL
 * op then turns the sums into the step's loss, gradient norm, clip factor and learning rate, and advances the counters.
 * The arithmetic is in core/config/loss_scale.h. */
#pragma once

#include "core/config/config.h"
#include "core/config/loss_scale.h" /* struct sl_step_state */

/* The constants of a configuration that sl_loss_scale_step needs; the batch sizes must have been resolved. */
struct sl_step_rules sl_step_state_rules(const struct sl_config *config);
/* Sets the state before the first step. */
void sl_step_state_init(struct sl_step_state *state, const struct sl_config *config);
/* Does what the CONTROL op does, on every backend that runs it on the host: takes the reduced sums, decides whether the
 * step is skipped, computes the clip factor (DeepSpeed: max_norm / (norm + 1e-6) where norm > max_norm) and the
 * learning rate, and zeroes the sums. */
void sl_step_state_advance(struct sl_step_state *state, const struct sl_config *config);
