/* The uncertainty of a predicted step time, from the errors recorded with the fit of its profile.
 *
 * It is a relative standard deviation; 0 if nothing is known. Without measured ops it is the device's formula_scatter:
 * how far the formulas were off for published steps of models that the fit had not seen (refit/folds.h). If nothing was
 * fitted to the cluster or to the kernel set, it is installation_scatter: the same for whole installations that the fit
 * had not seen. The uncertainty of the fitted numbers is added (cost/fitted.h). In a calibrated profile, with T the
 * seconds of all the step's works, and T_e those of the works of entry e:
 *   variance T^2 = error_scale^2 sum over e of variance_e   see sl_op_cost_variance: errors common to an entry's ops
 *                + sl_device_median_noise(T, runs)^2 T^2    noise of the runs to be measured
 *                + sl_device_median_noise(T, rounds)^2 T^2  and of the calibration's rounds, if their number is known
 * An entry that stands in for another type's ops, or for products with an epilogue, is 30 % uncertain beyond its own
 * error, and ops of a kind that was not measured are 50 % uncertain. */
#pragma once

#include "core/op/work.h"
#include "cost/share.h"

/* Running sums over the works of a step. */
struct sl_cost_error {
  const struct sl_cost_rank *rank; /* borrowed */
  /* owned: one for each entry, and one for works without an entry; NULL without a profile */
  struct sl_cost_error_sum *entries;
};

enum sl_status sl_cost_error_open(struct sl_cost_error *error, const struct sl_cost_rank *rank);
void sl_cost_error_add(struct sl_cost_error *error, const struct sl_work *work);
/* The relative standard deviation when predicting the median of `runs` runs at different times (below 1: one run). */
double sl_cost_error_relative(const struct sl_cost_error *error, int64_t runs);
void sl_cost_error_close(struct sl_cost_error *error);
