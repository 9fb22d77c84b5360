/* What the standard errors of a profile's fitted numbers leave open in the time of a step (`shardlab-analyze refit`
 * writes both).
 *
 * With S_j the seconds of a step that are in proportion to number j or to its inverse, e_j its relative standard error
 * and T the step,
 *   variance of ln T = sum over j of (S_j e_j / T)^2
 * S_j of
 *   gemm_efficiency, batched_gemm_efficiency, flash?_*_efficiency     products and attention by that kernel, less
 *     launches
 *   elementwise_efficiency, elementwise_factor                        all else that moves bytes, less launches; the
 *     latter not the optimizer
 *   launch_us                                                         launches
 *   bandwidth_share of the innermost link                             exposed transfers inside nodes
 *   bandwidth_share, bandwidth_decay of the outermost link            exposed transfers between nodes, e =
 *                                                                     hypot(e_share, s_decay ln(N / 2)) of N nodes,
 *                                                                     s_decay the standard error itself
 * Exposed is what a step has beyond its compute, at most its transfers, in proportion to theirs; the rest of it,
 * bubbles, grows as compute does. That is the diagonal of the fit's covariance: numbers that the fit traded for each
 * other make this a little too wide. The times of hosts are left out.
 * A number without a standard error has none here: where nothing was fitted to a cluster or a kernel set,
 * installation_scatter of the device says how far the formulas miss then (cost/error.h). */
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
