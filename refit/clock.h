/* Runs as a fit's clock: every run is predicted with the numbers of the fit in place of those of its profiles.
 *
 * Derivatives are one-sided differences of 1 % of each number that reaches a run. A number that changed nothing of a run (another
 * kernel's, a host's that the device hides) is tried again every fourth time alone. */
#pragma once

#include "refit/numbers.h"
#include "refit/runs.h"

struct sl_refit_timer; /* of one run */

struct sl_refit_clocks {
  struct sl_refit_runs *runs;      /* borrowed */
  struct sl_refit_numbers numbers; /* owned */
  struct sl_refit_timer *timers;   /* (runs), owned */
  int jobs;                        /* processes at once */
  bool *idle;                      /* (runs, numbers), owned: changing the number changed nothing of the run */
  int asked;                       /* how often for derivatives */
  const bool *only;                /* (runs), borrowed: ask only for these, the others' seconds stay; NULL: all */
};

/* Errors: SL_ERR_INPUT for a run that cannot be predicted. */
enum sl_status sl_refit_clocks_open(struct sl_refit_clocks *clocks, struct sl_refit_runs *runs, int jobs);
void sl_refit_clocks_close(struct sl_refit_clocks *clocks);
/* As sl_refit_clock; context: the clocks. */
enum sl_status sl_refit_clocks_ask(void *context, const double *values, double *seconds, double *slope);
/* The numbers that a run's prediction depends on. */
const struct sl_refit_reach *sl_refit_reach_of(const struct sl_refit_clocks *clocks, size_t run);
/* The values that the profiles have; a number that they lack has its prior. */
void sl_refit_given(const struct sl_refit_clocks *clocks, double *values);
