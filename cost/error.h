/* The uncertainty of a predicted step time, from the errors recorded with the fit of its profile.
 *
 * Relative standard deviation; 0 where nothing is known. Without measured ops it is the device's formula_scatter: how
 * far the formulas missed steps that others measured, of models that the fit of its numbers had not seen
 * (refit/folds.h); where nothing was fitted to the cluster or to the kernel set, it is installation_scatter: of whole
 * installations that the fit had not seen. What the fitted numbers leave open comes on top (cost/fitted.h). In a
 * calibrated profile, with T the sum over the step's works of their seconds, and T_e over those of entry e:
 *   variance T^2 = error_scale^2 sum over e of variance_e   see sl_op_cost_variance: errors common to an entry's ops
 *                + sl_device_median_noise(T, runs)^2 T^2    runs differ: those that will be measured
 *                + sl_device_median_noise(T, rounds)^2 T^2  and those of the calibration, where its rounds are known
 * An entry that stands in for another type's ops, or for products with an epilogue, is 30 % uncertain beyond its own
 * error, and ops of a kind that was not measured are 50 % uncertain. */
#pragma once

#include "core/op/work.h"
#include "cost/share.h"

/* Running sums over the works of a step. */
struct sl_cost_error {
  const struct sl_cost_rank *rank;   /* borrowed */
  struct sl_cost_error_sum *entries; /* owned: one for each entry, and one for what has none; NULL without a profile */
};

enum sl_status sl_cost_error_open(struct sl_cost_error *error, const struct sl_cost_rank *rank);
void sl_cost_error_add(struct sl_cost_error *error, const struct sl_work *work);
/* The relative standard deviation when predicting the median of `runs` runs at different times (below 1: one run). */
double sl_cost_error_relative(const struct sl_cost_error *error, int64_t runs);
void sl_cost_error_close(struct sl_cost_error *error);
