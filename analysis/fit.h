/* The fit of a profile to measured points by nonlinear least squares (GSL).
 *
 * One entry of the profile's op_costs for each (op, variant, type, ranks) that has points. The model is the sum of
 * the terms of its work (sl_work), each times exp(theta); the residual of a point is ln(model / seconds), so all sizes weigh alike, and
 * a term cannot become negative. seconds is the median over the rounds of a calibration, of a round the median, at most
 * 1.15 times the 10th percentile: beyond that others were busy (fit_rounds.c). Weights: 1 / (s0^2 + s^2), s being the
 * point's spread ln(high / low) / 2.56 between the 10th and the 90th percentile of the rounds, and s0 = 0.03; a point of a benchmark program, whose operands no cache holds, has 0.1 more where models have points of the
 * same entry: their ops find what the op before has left. Outliers count less by Cauchy weights, iterated (Holland, Welsch 1977). Terms that add nothing (less than
 * 0.2 % of every point, or of which the data know nothing) are left out. Covariance: sigma^2 (J^T W J)^-1; scatter: the
 * weighted standard deviation of the residuals, corrected for the terms fitted. What a prediction may miss comes from
 * models held out of the fit (fit_holdout.c). */
#pragma once

#include "core/cluster/cluster.h"
#include "core/cluster/points.h"

#include <stdio.h>
#include <string.h>

struct sl_fit_row {
  const struct sl_point *point;
  int entry; /* index in profile.op_costs */
  double fitted_s;
};

struct sl_fit {
  struct sl_cluster profile;
  struct sl_points merged; /* the points, rounds put together; owned */
  struct sl_fit_row *rows; /* owned; one per point that a fit used */
  size_t count;
  double gap_stderr, share_stderr;   /* of launch_latency, comm_cpu_share */
  double scale_stderr;               /* of error_scale; 0: nothing tells */
  double noise_stderr, slope_stderr; /* of run_noise and its slope; below 0: nothing tells */
  char source[256];                  /* of what is found: the machine and how busy it was */
};

/* Fit all of `points`. Errors: SL_ERR_INPUT when the points are too few or name a broken
 * machine, SL_ERR_ABSENT without GSL. */
enum sl_status sl_fit_points(struct sl_fit *fit, const struct sl_points *points);
void sl_fit_free(struct sl_fit *fit);
/* A profile (sl_cluster_to_json), read as predict will read it from file `name`. Errors: SL_ERR_INPUT with key, value and
 * the range expected, when the points led to a number that no profile may have. */
enum sl_status sl_fit_check(const json_t *profile, const char *name);

/* One entry: `n` points of one (op, variant, type, ranks) and their works, bytes told apart by the cache. `cost` has its names set. */
enum sl_status sl_fit_entry(struct sl_op_cost *cost, const struct sl_work *works, const double *seconds,
                            const double *spread, size_t n);

/* --- fit_rounds.c --- */

/* Was the point taken by a benchmark program, not in a model's step? */
static inline bool sl_fit_is_program(const struct sl_point *p) {
  return strcmp(p->source, "program") == 0;
}
/* Are two steps rounds of one model on as many ranks? */
static inline bool sl_fit_same_model(const struct sl_point_step *a, const struct sl_point_step *b) {
  return a->ranks == b->ranks && strcmp(a->name, b->name) == 0;
}
/* A round's time without the moments in which others were busy. */
double sl_fit_undisturbed(double low_s, double median_s);
/* Points that differ only in their times become one; steps and cluster are left out. */
enum sl_status sl_fit_merge(struct sl_points *out, const struct sl_points *in);

/* --- fit_found.c --- */

/* The number at `path` of the profile ("device.run_noise") is now what the points say, with standard error `error` in the
 * file's unit (NAN or below 0: not known); or it was set without them, for `reason`. What was said of it before goes. */
void sl_fit_found(struct sl_fit *fit, const char *path, double error);
void sl_fit_set(struct sl_fit *fit, const char *path, const char *reason);

/* Median of values[0..n), which are left in another order, and its standard error from the median absolute deviation; 0 of none. */
double sl_fit_median(double *values, size_t n, double *error);

/* --- fit_group.c --- */

/* Is `cost` the entry of this point? */
bool sl_fit_belongs(const struct sl_point *point, const struct sl_op_cost *cost);

/* The points of one entry, as sl_fit_entry wants them. */
struct sl_fit_group {
  struct sl_work *works;
  double *seconds, *spread, *count;
  size_t n;
};

/* Those of merged points that belong to `cost`; with `source`: only those of it (`only`) or all but those. */
enum sl_status sl_fit_gather(struct sl_fit_group *group, const struct sl_fit *fit, const struct sl_op_cost *cost,
                             const char *source, bool only);
void sl_fit_group_free(struct sl_fit_group *group);
/* What a step's communication takes by itself, seconds. */
double sl_fit_communication(const struct sl_fit *fit, const struct sl_point_step *step);

/* --- fit_noise.c --- */

/* How much steps differ from run to run, and how that depends on their length: run_noise, run_noise_slope and rounds of the
 * profile (sl_device_run_noise), from what the rounds of each model of `points` say. */
enum sl_status sl_fit_noise(struct sl_fit *fit, const struct sl_points *points);

/* --- fit_formulas.c --- */

/* The formulas' own numbers in the profile, from the fitted entries and the merged points. */
void sl_fit_formulas(struct sl_fit *fit);

/* --- fit_nvme.c --- */

/* nvme_read_GBps, nvme_read_us and those of writes, from copies to and from NVMe of several sizes, blocks and queue depths
 * (sl_cost_nvme): the two numbers with the least sum of |ln(formula / measured)|, which outliers do not move. Without points they
 * stay as they are. */
enum sl_status sl_fit_nvme(struct sl_fit *fit);

/* --- fit_host.c --- */

/* Of a GPU, host_link_GBps and host_bandwidth_GBps from copies to and from host memory and from what the CPU updates there
 * (cost/compute.h): the median of what each says that takes long beside a launch. Without points they stay as they are. */
enum sl_status sl_fit_host(struct sl_fit *fit);

/* --- fit_holdout.c --- */

/* Set holdout of every entry and error_scale of the profile. */
enum sl_status sl_fit_hold_out(struct sl_fit *fit, const struct sl_points *points);

/* fit_report.c: FOLDER/residuals.{csv,md} and fit.{gp,svg,png}. Errors: SL_ERR_IO, SL_ERR_ABSENT without gnuplot. */
enum sl_status sl_fit_report(const struct sl_fit *fit, const char *folder);
