/* A set of runs as the clock of a fit: every run is predicted with the numbers of the fit instead of those of its
 * profiles.
 *
 * Derivatives are one-sided differences of 1 % of each number that a run depends on. A number whose change had no
 * effect on a run (because another kernel is faster, or the device hides the host) is tried again only every fourth
 * time. */
#pragma once

#include "refit/numbers.h"
#include "refit/runs.h"

struct sl_refit_timer; /* the clock of one run */

struct sl_refit_clocks {
  struct sl_refit_runs *runs;      /* borrowed */
  struct sl_refit_numbers numbers; /* owned */
  struct sl_refit_timer *timers;   /* (runs), owned */
  int jobs;                        /* number of processes */
  bool *idle;                      /* (runs, numbers), owned: changing the number had no effect on the run */
  int asked;                       /* how often derivatives were computed */
  const bool *only; /* (runs), borrowed: predict only these, and leave the seconds of the others; NULL: all */
};

/* Errors: SL_ERR_INPUT for a run that cannot be predicted. */
enum sl_status sl_refit_clocks_open(struct sl_refit_clocks *clocks, struct sl_refit_runs *runs, int jobs);
void sl_refit_clocks_close(struct sl_refit_clocks *clocks);
/* A sl_refit_clock, whose context is the clocks. */
enum sl_status sl_refit_clocks_ask(void *context, const double *values, double *seconds, double *slope);
/* The numbers that a run's prediction depends on. */
const struct sl_refit_reach *sl_refit_reach_of(const struct sl_refit_clocks *clocks, size_t run);
/* Does a run of those with a weight above 0 depend on number `number`? */
bool sl_refit_depends(const struct sl_refit_clocks *clocks, const double *weight, size_t number);
/* Reads the values from the profiles; a number that they lack gets its prior. */
void sl_refit_given(const struct sl_refit_clocks *clocks, double *values);
/* Numbers that no run with a weight depends on get a prior at `values`, those of the profiles, so that a fit leaves them
 * alone. */
void sl_refit_keep_unfitted(struct sl_refit_clocks *clocks, const double *weight, const double *values);
