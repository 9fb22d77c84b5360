/* The control block: the scalars of a step that depend on data, kept in a buffer so that the program stays static.
 *
 * CLASSIFIER and MSE add to loss_sum, NORM to square_sum; one all_reduce over the world sums `reduced`; the CONTROL op
 * then turns the sums into this step's loss, norm, clip factor and learning rate, and advances the counters. */
#ifndef SL_CORE_CONTROL_H
#define SL_CORE_CONTROL_H

#include "core/config.h"

#include <stdint.h>

enum { SL_CONTROL_REDUCED = 4 };

struct sl_control {
  union {
    double reduced[SL_CONTROL_REDUCED];
    struct {
      double loss_sum;   /* of this rank's micro-batches, already divided by the global count */
      double square_sum; /* squares of the (scaled) gradients this rank answers for */
      double overflow;   /* > 0: a non-finite gradient was seen */
      double spare;
    };
  };
  int64_t step;       /* steps taken, skipped ones included */
  int64_t good_steps; /* optimizer updates done */
  int64_t skipped;
  int64_t last_overflow; /* step of the last overflow, -1 none */
  int64_t hysteresis;
  double loss_scale;
  double loss, grad_norm, lr, momentum;
  int64_t exhausted;  /* 1: an overflow found the scale at its minimum, where DeepSpeed gives up */
  double grad_factor; /* the update multiplies gradients by this: clip / loss_scale; < 0: skip the update */
};

/* The state before the first step. */
void sl_control_init(struct sl_control *control, const struct sl_config *config);
/* What the CONTROL op does, the same code for every backend that runs it on the host: consume the reduced sums, decide
 * skip, clip factor (DeepSpeed: max_norm / (norm + 1e-6) when norm > max_norm) and learning rate, zero the sums. */
void sl_control_step(struct sl_control *control, const struct sl_config *config);

#endif
