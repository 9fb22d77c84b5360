/* What a training that saves, fails and starts again gets done: its goodput is the share of the time that steps take which are not lost.
 *
 *   work for `interval_s`, stand still `save_s` for a checkpoint, and so on; `write_s` later, while work goes on, the checkpoint is complete
 *   (a save waits for the write before). Failures come at a mean distance of `mtbf_s`, from one to the next by Weibull's
 *   distribution of that shape, 1: exponentially. After one a restart takes `restart_s`, which a failure begins anew, and work goes on
 *   from the last complete checkpoint.
 *
 * In closed form, for failures that come exponentially and checkpoints that are complete at once (write_s 0, shape 1):
 *   Daly's complete model   time / work = M exp(R/M) (exp((tau + delta)/M) - 1) / tau
 *   first order             1 - delta/tau - (tau/2 + R)/M, for delta << tau << M
 * with tau the interval, delta the save, R the restart, M the mean time between failures.
 *   J. W. Young, A first order approximation to the optimum checkpoint interval, Communications of the ACM 17(9), 1974, 530-531
 *   J. T. Daly, A higher order estimate of the optimum checkpoint interval for restart dumps, Future Generation Computer Systems 22(3),
 *   2006, 303-312 */
#pragma once

#include "core/base/status.h"

#include <stdint.h>

struct sl_goodput_model {
  double mtbf_s;    /* of the job, above 0 */
  double save_s;    /* steps stand still for a checkpoint */
  double write_s;   /* until it is complete, from then on */
  double restart_s; /* from a failure to the next step */
  double shape;     /* of Weibull's distribution, above 0 */
};

/* Both of them share 0 .. 1 of the time; 0 where nothing gets done. */
double sl_goodput_daly(const struct sl_goodput_model *model, double interval_s);
double sl_goodput_first_order(const struct sl_goodput_model *model, double interval_s);

/* Seconds of work between two checkpoints that are best: Young's sqrt(2 delta M), Daly's estimate of higher order, and that which Daly's
 * complete model has exactly, M (1 + W(-exp(-1 - delta/M))) with Lambert's W, or NaN without GSL. */
double sl_goodput_young_s(const struct sl_goodput_model *model);
double sl_goodput_daly_s(const struct sl_goodput_model *model);
double sl_goodput_best_s(const struct sl_goodput_model *model);
/* The best whole number of steps of `step_s` by Daly's complete model, at least 1. */
int64_t sl_goodput_best_steps(const struct sl_goodput_model *model, double step_s);

/* A mean and its standard error. */
struct sl_goodput_drawn {
  double mean, error;
};

/* Monte Carlo: `runs` trainings of `saves` intervals each, by GSL's mt19937 from `seed`. NaN where a training fails more than 3000
 * times an interval. Errors: SL_ERR_ABSENT without GSL; SL_ERR_MEMORY. */
enum sl_status sl_goodput_draw(const struct sl_goodput_model *model, double interval_s, int saves, int runs,
                               uint64_t seed, struct sl_goodput_drawn *out);
