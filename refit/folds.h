/* How well a fit predicts runs that it has not seen: runs are held out, the numbers are fitted to the others, and the
 * held-out ones are predicted by the clock.
 *
 * - By row: the runs of every table are assigned to ten folds in turn. Runs that differ little from a held-out one stay.
 * - By model: the widths of a table's models are assigned to four folds in turn; a fold holds out a quarter of the
 *   models of every table.
 * - By installation: the runs of one cluster at a time. Numbers that only this cluster determines then have their
 *   priors' values.
 * A fold's numbers are those of the local model around the full fit (solve.h): the held-out runs change them little. */
#pragma once

#include "refit/clock.h"

enum { SL_REFIT_FOLDS = 4, SL_REFIT_ROW_FOLDS = 10 };

/* The predictions of each run. Runs that are never fitted have the full fit's prediction in all four. */
struct sl_refit_outcome {
  double fitted_s;       /* by the full fit */
  double by_row_s;       /* by the fold that holds out this run and nine in ten of its table stay in */
  double by_model_s;     /* by the fold that holds out its model */
  double by_cluster_s;   /* by the fold that holds out its cluster */
  double number_sd;      /* standard deviation of ln fitted_s from the numbers' covariance */
  double scatter;        /* of its kind of GPU: see below */
  double away_scatter;   /* of held-out installations, the same for all runs: see below */
  double low_s, high_s;  /* 90 % interval around fitted_s, from both */
  double low_by_model_s; /* ... and around by_model_s */
  double high_by_model_s;
};

/* Outcomes of all runs (count), owned by the caller. The scatter of a kind of GPU is chosen such that 1.645 times it
 * covers nine of ten fitted runs held out by model: the 90th percentile of |ln(measured / by_model_s)|, less the
 * numbers' own part, divided by 1.645. The scatter of held-out installations is the root mean square of theirs, each
 * the 90th percentile of |ln(measured / by_cluster_s)| divided by 1.645: an installation without fitted runs counts as
 * one more of them, however many runs each has. */
enum sl_status sl_refit_outcomes(struct sl_refit_clocks *clocks, const struct sl_refit_problem *problem,
                                 const struct sl_refit_solution *solution, struct sl_refit_outcome **out);

/* Computes that scatter of held-out installations; the outcomes must have by_cluster_s. */
enum sl_status sl_refit_away_scatter(const struct sl_refit_runs *runs, const struct sl_refit_outcome *outcomes,
                                     double *scatter);

/* The fold of each run by row, -1 for a run that is not fitted; (count), owned by the caller. */
enum sl_status sl_refit_folds_by_row(const struct sl_refit_runs *runs, int **out);
/* The fold of each run by model, -1 for a run that is not fitted; (count), owned by the caller. */
enum sl_status sl_refit_folds_by_model(const struct sl_refit_runs *runs, int **out);
/* The same by installation; *count: the number of folds. */
enum sl_status sl_refit_folds_by_cluster(const struct sl_refit_runs *runs, int **out, int *count);
