/* Times of forward, backward and optimizer of one rank's step, as DeepSpeed's timers around forward(), backward() and
 * step() would measure them (wall_clock_breakdown). An observer of the executor loop.
 *
 * The time of an action is from the start of its first op to the end of its last one, on any lane; times of actions of
 * a kind are added up. Where actions of a pipeline overlap, the sum exceeds the step. Of a backward, `inner` is only
 * the compute lane, and `reduce` what its messages take beyond that. */
#pragma once

#include "core/run/executor.h"

struct sl_phases {
  struct sl_phase_span {
    double start_s, end_s, compute_start_s, compute_end_s; /* end before start: none yet */
  } * spans;                                               /* one for each instance of the program; owned */
  size_t count, capacity;
  const struct sl_program *program; /* of the spans */
  int64_t step;
  enum sl_status status; /* SL_ERR_MEMORY if an op could not be recorded */
};

/* Seconds. */
struct sl_phase_times {
  double forward_s, backward_s, backward_inner_s, backward_reduce_s, step_s;
};

/* Adds one completion of the step program of one rank; others are ignored. */
void sl_phases_add(struct sl_phases *phases, int64_t step, const struct sl_program *program,
                   const struct sl_completion *done);
/* The times of the step to which ops were added last. */
struct sl_phase_times sl_phases_times(const struct sl_phases *phases);
/* Accepts a zeroed one. */
void sl_phases_free(struct sl_phases *phases);
