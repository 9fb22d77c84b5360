/* The step state: the scalars of a step that depend on data, kept in a buffer so that the program stays static.
 *
 * CLASSIFIER and MSE add to loss_sum, NORM to square_sum; one all_reduce over the world sums `reduced`; the CONTROL op
 * then turns the sums into this step's loss, norm, clip factor and learning rate, and advances the counters. */
#pragma once

#include "core/config/config.h"
#include "core/config/loss_scale.h" /* struct sl_step_state */

/* What sl_loss_scale_step has to know of a configuration whose batch has been resolved. */
struct sl_step_rules sl_step_state_rules(const struct sl_config *config);
/* The state before the first step. */
void sl_step_state_init(struct sl_step_state *state, const struct sl_config *config);
/* What the CONTROL op does, the same code for every backend that runs it on the host: consume the reduced sums, decide
 * skip, clip factor (DeepSpeed: max_norm / (norm + 1e-6) when norm > max_norm) and learning rate, zero the sums. */
void sl_step_state_advance(struct sl_step_state *state, const struct sl_config *config);
