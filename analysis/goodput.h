/* The goodput of a training that saves checkpoints, fails and restarts: the share of the time that is spent in steps
 * that are not lost.
 *
 * The training works for `interval_s`, pauses `save_s` for a checkpoint, and so on. The checkpoint is complete
 * `write_s` later, while work goes on (a save waits for the previous write). Failures have a mean distance of `mtbf_s`,
 * with Weibull's distribution of the given shape (1: exponential). After a failure a restart takes `restart_s`, which
 * begins again if there is another failure meanwhile, and work resumes from the last complete checkpoint.
 *
 * In closed form, for exponentially distributed failures and checkpoints that are complete at once (write_s 0, shape
 * 1):
 *   Daly's complete model   time / work = M exp(R/M) (exp((tau + delta)/M) - 1) / tau
 *   first order             1 - delta/tau - (tau/2 + R)/M, for delta << tau << M
 * with tau the interval, delta the save, R the restart, M the mean time between failures.
 *   J. W. Young, A first order approximation to the optimum checkpoint interval, Communications of the ACM 17(9),
 *   1974, 530-531
 *   J. T. Daly, A higher order estimate of the optimum checkpoint interval for restart dumps, Future Generation
 *   Computer Systems 22(3), 2006, 303-312 */
#pragma once

#include "core/base/status.h"

#include <stdint.h>

struct sl_goodput_model {
  double mtbf_s;    /* of the job, > 0 */
  double save_s;    /* pause of the steps for a checkpoint */
  double write_s;   /* from then until it is complete */
  double restart_s; /* from a failure to the next step */
  double shape;     /* of Weibull's distribution, > 0 */
};

/* The goodput by either formula, in 0 .. 1; 0 if there is no progress. */
double sl_goodput_daly(const struct sl_goodput_model *model, double interval_s);
double sl_goodput_first_order(const struct sl_goodput_model *model, double interval_s);

/* The best interval in seconds of work between two checkpoints: Young's sqrt(2 delta M), Daly's estimate of higher
 * order, and the exact optimum of Daly's complete model, M (1 + W(-exp(-1 - delta/M))) with Lambert's W, or NaN without
 * GSL. */
double sl_goodput_young_s(const struct sl_goodput_model *model);
double sl_goodput_daly_s(const struct sl_goodput_model *model);
double sl_goodput_best_s(const struct sl_goodput_model *model);
/* The best whole number of steps of `step_s` by Daly's complete model, at least 1, and no fewer than a checkpoint takes
 * until it is complete. */
int64_t sl_goodput_best_steps(const struct sl_goodput_model *model, double step_s);

/* A mean and its standard error. */
struct sl_goodput_drawn {
  double mean, error;
};

/* Monte Carlo simulation of `runs` trainings of `saves` intervals each, with GSL's mt19937 seeded by `seed`. NaN if a
 * training fails more than 3000 times per interval. Errors: SL_ERR_ABSENT without GSL; SL_ERR_MEMORY. */
enum sl_status sl_goodput_draw(const struct sl_goodput_model *model, double interval_s, int saves, int runs,
                               uint64_t seed, struct sl_goodput_drawn *out);
