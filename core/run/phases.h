/* What a step of one rank spent on forward, backward and the optimizer, as the clocks around DeepSpeed's forward(), backward() and step()
 * would have it (wall_clock_breakdown). An observer of the executor loop.
 *
 * An action's time is from the start of its first op to the end of its last one, whatever lane that runs on; the actions of a kind are
 * added up. Where actions of a pipeline overlap the sum is more than the step. Of a backward, `inner` is its compute lane alone
 * and `reduce` what its messages take beyond that. */
#pragma once

#include "core/run/executor.h"

struct sl_phases {
  struct sl_phase_span {
    double start_s, end_s, compute_start_s, compute_end_s; /* end before start: none yet */
  } * spans;                                               /* of each instance of the program; owned */
  size_t count, capacity;
  const struct sl_program *program; /* of the spans */
  int64_t step;
  enum sl_status status; /* SL_ERR_MEMORY once an op was lost */
};

/* Seconds. */
struct sl_phase_times {
  double forward_s, backward_s, backward_inner_s, backward_reduce_s, step_s;
};

/* Add one completion of the step program of one rank (others are ignored). */
void sl_phases_add(struct sl_phases *phases, int64_t step, const struct sl_program *program,
                   const struct sl_completion *done);
/* Of the step that was last added to. */
struct sl_phase_times sl_phases_times(const struct sl_phases *phases);
/* Accepts a zeroed one. */
void sl_phases_free(struct sl_phases *phases);
