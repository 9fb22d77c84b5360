/* One run's clock; see clock.h. Internal to refit. */
#pragma once

#include "core/cluster/kernel_costs.h"
#include "refit/numbers.h"
#include "refit/runs.h"

struct sl_refit_timer {
  struct sl_kernel_costs kernel_costs; /* as the fit has them */
  const char *kernels;                 /* the set's name */
  struct sl_refit_exact *exact;        /* owned; what the exact clock keeps between two predictions, or NULL */
  struct sl_refit_reach reach;
};

enum sl_status sl_refit_timer_open(struct sl_refit_timer *timer, struct sl_refit_run *run);
void sl_refit_timer_close(struct sl_refit_timer *timer);
struct sl_refit_subject sl_refit_timer_subject(struct sl_refit_timer *timer, struct sl_refit_run *run);
/* Frees the state that is kept for predicting the same run again. */
void sl_refit_timer_rest(struct sl_refit_timer *timer);
/* Seconds of a step with the current numbers of the subject. */
enum sl_status sl_refit_timer_seconds(struct sl_refit_timer *timer, struct sl_refit_run *run, double *out);
