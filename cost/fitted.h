/* How uncertain the time of a step is, given the standard errors of a profile's fitted numbers (`shardlab-analyze
 * refit` writes both).
 *
 * With S_j the seconds of a step that are proportional to number j or to its inverse, e_j its relative standard error
 * and T the step,
 *   variance of ln T = sum over j of (S_j e_j / T)^2
 * where S_j is, for
 *   gemm_efficiency, batched_gemm_efficiency, flash?_*_efficiency
 *       products and attention by that kernel, without launches
 *   elementwise_efficiency, elementwise_factor
 *       all else that moves bytes, without launches; for elementwise_factor also without the optimizer
 *   launch_us
 *       launches
 *   bandwidth_share of the innermost link
 *       exposed transfers within nodes
 *   bandwidth_share, bandwidth_decay of the outermost link
 *       exposed transfers between N nodes, with e = hypot(e_share, s_decay ln(N / 2)), s_decay the standard error
 *       itself
 * Exposed is what a step takes beyond its compute, but at most its transfers, and is divided among these in proportion
 * to their seconds; the rest, bubbles, grows as compute does. This uses only the diagonal of the fit's covariance, so
 * the interval is slightly too wide for numbers that the fit traded against each other. The host's seconds are left
 * out. A number without a standard error has none here: if nothing was fitted to a cluster or a kernel set,
 * installation_scatter of the device says how far off the formulas are then (cost/error.h). */
#pragma once

#include "core/cluster/cluster.h"
#include "core/op/work.h"
#include "cost/share.h"

enum sl_fitted {
  SL_FITTED_GEMM,
  SL_FITTED_BATCHED_GEMM,
  SL_FITTED_FLASH, /* of each kernel, forward and backward */
  SL_FITTED_ELEMENTWISE = SL_FITTED_FLASH + 2 * SL_FLASH_COUNT,
  SL_FITTED_FACTOR,
  SL_FITTED_LAUNCH,
  SL_FITTED_NEAR_LINK,
  SL_FITTED_FAR_LINK,
  SL_FITTED_COUNT
};

struct sl_cost_fitted {
  double error[SL_FITTED_COUNT];   /* relative standard errors */
  double seconds[SL_FITTED_COUNT]; /* of a step; of links: of all transfers */
  double compute;
};

/* Was anything fitted to the cluster's links and to the kernel set? */
bool sl_cost_is_fitted(const struct sl_cluster *cluster, const struct sl_kernel_costs *kernels);
/* The errors of a cluster and a kernel set, for `nodes` nodes; seconds 0. */
void sl_cost_fitted_open(struct sl_cost_fitted *fitted, const struct sl_cluster *cluster,
                         const struct sl_kernel_costs *kernels, double nodes);
/* A work of the compute lane that takes `seconds` and is done `times` times. */
void sl_cost_fitted_add(struct sl_cost_fitted *fitted, const struct sl_cost_rank *rank, const struct sl_work *work,
                        double seconds, double times);
/* Transfers inside nodes, or between them. */
void sl_cost_fitted_add_transfers(struct sl_cost_fitted *fitted, bool between_nodes, double seconds);
/* Variance of ln(step time) of a step of `step_s` seconds. */
double sl_cost_fitted_variance(const struct sl_cost_fitted *fitted, double step_s);
