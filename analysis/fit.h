/* Fits a profile to measured points by nonlinear least squares (GSL).
 *
 * The profile gets one entry in op_costs for each (op, variant, type, ranks) that has points. The model is the sum of
 * the terms of an op's work (sl_work), each times exp(theta). The residual of a point is ln(model / seconds), so that
 * all sizes have equal weight and no term can become negative. seconds is the median over the rounds of a calibration;
 * within a round it is the median, but at most 1.15 times the 10th percentile, because beyond that other processes were
 * busy (fit_rounds.c). Weights: 1 / (s0^2 + s^2), with s0 = 0.03 and s = ln(high / low) / 2.56, where low and high are
 * the 10th and the 90th percentile of the rounds. A point of a benchmark program, whose operands are in no cache, has
 * 0.1 added to its spread if models have points of the same entry: their ops find what the previous op left in the
 * cache. Outliers are downweighted by iterated Cauchy weights (Holland, Welsch 1977). Terms that add nothing (less than
 * 0.2 % of every point, or undetermined by the data) are left out. Covariance: sigma^2 (J^T W J)^-1; scatter: the
 * weighted standard deviation of the residuals, corrected for the number of fitted terms. The error of predictions is
 * estimated from models that are held out of the fit (fit_holdout.c). */
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
  struct sl_points merged; /* the points, with rounds merged; owned */
  struct sl_fit_row *rows; /* owned; one per point that was used */
  size_t count;
  double overhead_s;                 /* what timing an op by itself adds to its time; already subtracted */
  double gap_stderr, share_stderr;   /* of launch_latency, comm_cpu_share */
  double scale_stderr;               /* of error_scale; 0: undetermined */
  double noise_stderr, slope_stderr; /* of run_noise and its slope; below 0: undetermined */
  char source[256];                  /* source of fitted numbers: the machine and how busy it was */
};

/* Fits everything to `points`. Errors: SL_ERR_INPUT if the points are too few or describe an invalid machine,
 * SL_ERR_ABSENT without GSL. */
enum sl_status sl_fit_points(struct sl_fit *fit, const struct sl_points *points);
void sl_fit_free(struct sl_fit *fit);
/* Checks a profile (sl_cluster_to_json) in the way in which predict will read it from file `name`. Errors: SL_ERR_INPUT
 * with key, value and the expected range, if the points led to a number that no profile may have. */
enum sl_status sl_fit_check(const json_t *profile, const char *name);

/* Fits one entry to `n` points of one (op, variant, type, ranks), given as works whose bytes are split by the cache.
 * `cost` must have its names set. */
enum sl_status sl_fit_entry(struct sl_op_cost *cost, const struct sl_work *works, const double *seconds,
                            const double *spread, size_t n);

/* --- fit_rounds.c --- */

/* Whether a benchmark program, rather than a model's step, measured the point. */
static inline bool sl_fit_is_program(const struct sl_point *p) {
  return strcmp(p->source, "program") == 0;
}
/* Whether two steps are rounds of the same model on the same number of ranks. */
static inline bool sl_fit_same_model(const struct sl_point_step *a, const struct sl_point_step *b) {
  return a->ranks == b->ranks && strcmp(a->name, b->name) == 0;
}
/* The time of a round without the moments in which other processes were busy. */
double sl_fit_undisturbed(double low_s, double median_s);
/* Merges points that differ only in their times; steps and cluster are not copied. */
enum sl_status sl_fit_merge(struct sl_points *out, const struct sl_points *in);

/* --- fit_timing.c --- */

/* On a GPU, the events around an op that is timed by itself add to its time: their seconds are the median over the
 * models of (ops - step) / number of ops, at least 0, since steps are timed without them. They are subtracted from the
 * merged points, of which no time falls below a quarter of what was measured. On a CPU, which reads its clock in a few
 * tens of nanoseconds, this does nothing. */
enum sl_status sl_fit_timing(struct sl_fit *fit, const struct sl_points *points);
/* The seconds of a step's ops without that. */
double sl_fit_compute(const struct sl_fit *fit, const struct sl_point_step *step);

/* --- fit_found.c --- */

/* Notes that the number at `path` of the profile ("device.run_noise") was fitted, with standard error `error` in the
 * file's unit (NAN or below 0: not known), or that it was set for another `reason`. Replaces earlier notes about it. */
void sl_fit_found(struct sl_fit *fit, const char *path, double error);
void sl_fit_set(struct sl_fit *fit, const char *path, const char *reason);

/* The median of values[0..n), which are reordered, and its standard error from the median absolute deviation; 0 if n is
 * 0. */
double sl_fit_median(double *values, size_t n, double *error);

/* --- fit_group.c --- */

/* Whether `cost` is the entry of this point. */
bool sl_fit_belongs(const struct sl_point *point, const struct sl_op_cost *cost);

/* The points of one entry, as sl_fit_entry needs them. */
struct sl_fit_group {
  struct sl_work *works;
  double *seconds, *spread, *count;
  size_t n;
};

/* Gathers the merged points that belong to `cost`; if `source` is not NULL, only the points from it (`only`), or all
 * except those. */
enum sl_status sl_fit_gather(struct sl_fit_group *group, const struct sl_fit *fit, const struct sl_op_cost *cost,
                             const char *source, bool only);
void sl_fit_group_free(struct sl_fit_group *group);
/* The seconds of a step's communication by itself. */
double sl_fit_communication(const struct sl_fit *fit, const struct sl_point_step *step);

/* --- fit_noise.c --- */

/* Fits how much steps differ from run to run, depending on their length: run_noise, run_noise_slope and rounds of the
 * profile (sl_device_run_noise), from the rounds of each model of `points`. */
enum sl_status sl_fit_noise(struct sl_fit *fit, const struct sl_points *points);

/* --- fit_formulas.c --- */

/* Sets the numbers of the formulas in the profile, from the fitted entries and the merged points. */
void sl_fit_formulas(struct sl_fit *fit);

/* --- fit_nvme.c --- */

/* Fits nvme_read_GBps, nvme_read_us and those of writes to copies to and from NVMe of several sizes, blocks and queue
 * depths (sl_cost_nvme): the pair with the least sum of |ln(formula / measured)|, which is robust to outliers. Without
 * points they stay unchanged. */
enum sl_status sl_fit_nvme(struct sl_fit *fit);

/* --- fit_host.c --- */

/* Fits host_link_GBps and host_bandwidth_GBps of a GPU to copies to and from host memory and to the CPU's updates there
 * (cost/compute.h): the median over the points that are long compared with a launch. Without points they stay
 * unchanged. */
enum sl_status sl_fit_host(struct sl_fit *fit);

/* --- fit_holdout.c --- */

/* Sets the holdout of every entry and the error_scale of the profile. */
enum sl_status sl_fit_hold_out(struct sl_fit *fit, const struct sl_points *points);

/* fit_report.c: writes FOLDER/residuals.{csv,md} and fit.{gp,svg,png}. Errors: SL_ERR_IO, SL_ERR_ABSENT without
 * gnuplot. */
enum sl_status sl_fit_report(const struct sl_fit *fit, const char *folder);
