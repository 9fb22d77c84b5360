/* How far a predicted step time may be off. */
#ifndef SL_SIM_ERROR_H
#define SL_SIM_ERROR_H

#include "sim/cost.h"

/* Relative standard deviation of the time of step program `program` as a calibrated profile knows it; 0 without one.
 * With T the sum over the program's issues of the seconds of ops, and T_e those of the ops of entry e:
 *   variance T^2 = error_scale^2 sum over e of variance_e   see sl_op_cost_variance: errors common to an entry's ops
 *                + sl_device_median_noise(T, runs)^2 T^2    runs differ: those that will be measured
 *                + sl_device_median_noise(T, rounds)^2 T^2  and those of the calibration, where its rounds are known
 * An entry that stands in for another type's ops, or for products with an epilogue, is 30 % uncertain beyond its own
 * error, and ops of a kind that was not measured are 50 % uncertain. `members` is the size of the groups of collectives; what is predicted is the median of `runs`
 * runs at different times, below 1: one. */
double sl_cost_step_error(const struct sl_cost_rank *rank, const struct sl_program *program, int members, int64_t runs);

#endif
