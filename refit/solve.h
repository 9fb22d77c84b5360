/* Robust nonlinear least squares of a clock's numbers to measured step times (GSL).
 *
 * Each number theta_j > 0 has a log-normal prior (centre c_j, standard deviation s_j of the logarithm) and bounds. The
 * fit minimises
 *   1/2 sum over rows of rho(w_i ln(T_i(theta) / t_i) / 0.02)^2  +  1/2 sum over numbers of (ln(theta_j / c_j) / s_j)^2
 * with rho(e)^2 = 2 (sqrt(1 + e^2) - 1), the soft L1 loss: errors far beyond 2 % count in proportion, not by their
 * square.
 *
 * A clock is expensive and its derivatives more so, so the sum is minimised over a local model of it: at theta^k every
 * row's time is
 *   T_i (1 + sum over j of g(a_ij, theta_j / theta_j^k)),   g(a, r) = a (r - 1) for a > 0, -a (1/r - 1) for a < 0,
 * with a_ij = d ln T_i / d ln theta_j. That is exact if times are sums of terms in proportion to a number (a latency)
 * or to its inverse (a rate). Bounds hold by x = low + (high - low) / (1 + exp(-u)) of the logarithms; GSL's trust
 * region finds u. Then the clock is evaluated again: a step that does not lower the true sum is halved, and the model
 * is rebuilt around the better point. */
#pragma once

#include "core/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* The prior of a number in its own unit; `sd` is that of its logarithm. 0 < low < prior < high. */
struct sl_refit_prior {
  double prior, sd, low, high;
};

/* A clock: the seconds of all rows for values[0..numbers), and, unless `slope` is NULL, d ln T / d ln theta, (rows,
 * numbers). */
typedef enum sl_status (*sl_refit_clock)(void *context, const double *values, double *seconds, double *slope);

struct sl_refit_problem {
  size_t rows, numbers;
  const double *measured; /* (rows) seconds */
  const double *weight;   /* (rows); 0: the row is not fitted */
  const struct sl_refit_prior *priors;
  sl_refit_clock clock;
  void *context;
  /* (optional) called after each round */
  void (*progress)(void *context, int round, double cost, const double *values);
};

/* The clock's local model around one point. */
struct sl_refit_local {
  size_t rows, numbers;
  double *at;      /* (numbers) */
  double *seconds; /* (rows) */
  double *slope;   /* (rows, numbers) */
};

enum sl_status sl_refit_local_alloc(struct sl_refit_local *local, size_t rows, size_t numbers);
void sl_refit_local_free(struct sl_refit_local *local);
/* The local model's seconds of a row. */
double sl_refit_local_seconds(const struct sl_refit_local *local, size_t row, const double *values);

/* Minimises over the local model. `values` is the start and gets the result; the logarithm of a number moves by at most
 * `radius` from local->at. `weight` replaces the problem's weights. Errors: SL_ERR_ABSENT without GSL, SL_ERR_INPUT if
 * GSL does not converge. */
enum sl_status sl_refit_solve_local(const struct sl_refit_problem *problem, const double *weight,
                                    const struct sl_refit_local *local, double radius, double *values);

struct sl_refit_solution {
  double *values;              /* (numbers), owned */
  double *covariance;          /* (numbers, numbers) of the logarithms, owned */
  struct sl_refit_local local; /* around values */
  double cost;
  int rounds;
};

/* Minimises over the clock in at most `rounds` rounds. `start` (numbers) is moved inside the bounds. The caller owns
 * *out. Its covariance is (J^T J / s^2 + P)^-1, where J has the derivatives of the rows' residuals with respect to the
 * logarithms, P is the priors' diagonal 1 / s_j^2, and s^2 is the mean square of the rows' residuals, at least 1. */
enum sl_status sl_refit_solve(const struct sl_refit_problem *problem, const double *start, int rounds,
                              struct sl_refit_solution *out);
/* The covariance at local->at with these weights. */
enum sl_status sl_refit_covariance(const struct sl_refit_problem *problem, const double *weight,
                                   const struct sl_refit_local *local, double *covariance);
void sl_refit_solution_free(struct sl_refit_solution *solution);

/* The derivative d ln T / d ln theta, as the local model uses it, if a change of ln theta by `step` changes the seconds
 * from `before` to `after`. */
double sl_refit_slope(double before, double after, double step);
