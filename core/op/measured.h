/* Measured costs of single ops: the part of a cluster profile that `shardlab calibrate` fits. An entry says what one
 * kind of op costs when a node runs `ranks` ranks at once:
 *   seconds = sum over terms t of entry.seconds[t] x sl_work.terms[t]
 * The fit and the prediction use the same terms (op/work.h). Where there is no entry, the formulas of cost/ apply. */
#pragma once

#include "core/base/dtype.h"
#include "core/base/json_get.h"
#include "core/op/work.h"

#include <stdbool.h>
#include <stdint.h>

struct sl_op_cost {
  int kind; /* enum sl_op_kind */
  enum sl_variant variant;
  enum sl_dtype dtype;
  int ranks;                             /* ranks of the node, all busy; of a communication op: members of its group */
  double seconds[SL_TERM_COUNT];         /* per unit of the term's quantity; 0: the term is absent */
  double relative_stderr[SL_TERM_COUNT]; /* standard error of the fit, relative */
  double correlation[SL_TERM_COUNT][SL_TERM_COUNT]; /* between the estimates of two terms; 1 on the diagonal */
  double scatter;  /* standard deviation of ln(measured / fitted) over the points: what the formula does not capture */
  double holdout;  /* the same for the total time of this entry's ops in a program whose shapes the fit has not seen */
  int64_t points;  /* measured points that it was fitted to; 0: unknown */
  char source[64]; /* where the numbers come from; "": unknown */
};

struct sl_op_costs {
  int count;
  size_t capacity;
  struct sl_op_cost *items; /* owned */
};

/* Appends a copy of `cost`; pointers to entries become invalid. */
enum sl_status sl_op_costs_add(struct sl_op_costs *costs, const struct sl_op_cost *cost);
void sl_op_costs_free(struct sl_op_costs *costs);

/* The entry for an op on a node with `ranks` ranks. Candidates are preferred in this order: by type (the op's own, else
 * the other 16-bit type, else fp32 for 16-bit ops; nothing substitutes for fp32), by variant (its own, else its base,
 * else plain), by number of ranks (the nearest ratio; the lower number in a tie). NULL if there is none. */
const struct sl_op_cost *sl_op_cost_find(const struct sl_op_costs *costs, int kind, enum sl_variant variant,
                                         enum sl_dtype dtype, int ranks);
/* Seconds of a work whose bytes have been divided between cache and memory (sl_work_in_cache). */
double sl_op_cost_seconds(const struct sl_op_cost *cost, const struct sl_work *work);
/* Does an entry of another data type also describe ops of this kind? True of ops that only move bytes. */
bool sl_op_cost_moves(int kind);
/* Variance of the total time T of the ops of one entry, T_t = seconds[t] of it through term t; sigma are the relative
 * errors and r the correlations of the entry. The larger of
 *   (holdout or, without one, scatter)^2 T^2                    what the formula misses is common to all ops of an
 *                                                               entry
 *   sum over terms t, u of T_t T_u r_tu sigma_t sigma_u         errors of the parameters, which grow outside the
 * grid */
double sl_op_cost_variance(const struct sl_op_cost *cost, const double seconds[SL_TERM_COUNT]);

/* Reads the list "op_costs" of a cluster.json: objects {"op", "variant", "dtype", "ranks", "launch_us",
 * "launch_us_stderr", ..., "scatter", "holdout", "correlation": {"launch_us:GFLOPS": r, ...}}. *costs must be empty; it
 * is empty after an error. Errors: SL_ERR_INPUT with the place. */
enum sl_status sl_op_costs_read(struct sl_op_costs *costs, const struct sl_json *doc, const json_t *list);
/* Reads the keys "op", "variant" and "dtype" of an object. */
enum sl_status sl_op_cost_names(const struct sl_json_object *in, int *kind, enum sl_variant *variant,
                                enum sl_dtype *dtype);
json_t *sl_op_costs_json(const struct sl_op_costs *costs);
