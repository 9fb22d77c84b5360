/* Measured costs of single ops: the part of a profile that `shardlab calibrate` fits.
 *
 * An entry says what one kind of op costs when a node runs `ranks` ranks at once:
 *   seconds = sum over terms t of entry.seconds[t] x quantity[t]
 * where quantity is the work's (sl_work.terms), the same for the fit and for the prediction. */
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
  int ranks;                             /* of the node, of which all run; of a communication op: its members */
  double seconds[SL_TERM_COUNT];         /* per unit of the term's quantity; 0: the term is absent */
  double relative_stderr[SL_TERM_COUNT]; /* standard error of the fit, relative */
  double correlation[SL_TERM_COUNT][SL_TERM_COUNT]; /* between the estimates of two terms; 1 on the diagonal */
  double scatter;  /* standard deviation of ln(measured / fitted) over the points: what the form does not describe */
  double holdout;  /* the same of the total that this entry's ops take in a program whose shapes the fit did not see */
  int64_t points;  /* measured, that it was fitted to; 0: not said */
  char source[64]; /* of the numbers; "": not said */
};

struct sl_op_costs {
  int count;
  size_t capacity;
  struct sl_op_cost *items; /* owned */
};

/* Append a copy of `cost`; pointers to entries are then stale. */
enum sl_status sl_op_costs_add(struct sl_op_costs *costs, const struct sl_op_cost *cost);
void sl_op_costs_free(struct sl_op_costs *costs);

/* The entry for an op whose node has `ranks` ranks. In this order: an entry of its type, else of the other 16-bit type,
 * else of fp32 (16-bit ops only: nothing stands in for fp32); of its variant, else its base, else plain; of the nearest number
 * of ranks (by ratio, the lower one at a tie). NULL when there is none: the formulas of cost/ are left. */
const struct sl_op_cost *sl_op_cost_find(const struct sl_op_costs *costs, int kind, enum sl_variant variant,
                                         enum sl_dtype dtype, int ranks);
/* Of a work whose bytes are told apart by the cache (sl_work_in_cache). */
double sl_op_cost_seconds(const struct sl_op_cost *cost, const struct sl_work *work);
/* Does an entry of another type describe ops of this kind as well? Those that only move bytes. */
bool sl_op_cost_moves(int kind);
/* Variance of the total that ops of one entry take, `seconds` of it through each term: the larger of
 *   (holdout or, without one, scatter)^2 T^2                    what the form misses is common to an entry's ops
 *   sum over terms t, u of T_t T_u r_tu sigma_t sigma_u         errors of the parameters, which grow off the grid */
double sl_op_cost_variance(const struct sl_op_cost *cost, const double seconds[SL_TERM_COUNT]);

/* The list "op_costs" of a cluster.json: objects {"op", "variant", "dtype", "ranks", "launch_us", "launch_us_stderr", ...,
 * "scatter", "holdout", "correlation": {"launch_us:GFLOPS": r, ...}}. Fills *costs, which holds nothing before, nor after
 * an error. Errors: SL_ERR_INPUT with the place. */
enum sl_status sl_op_costs_read(struct sl_op_costs *costs, const struct sl_json *doc, const json_t *list);
/* The keys "op", "variant" and "dtype" of an object. */
enum sl_status sl_op_cost_names(const struct sl_json_object *in, int *kind, enum sl_variant *variant,
                                enum sl_dtype *dtype);
json_t *sl_op_costs_json(const struct sl_op_costs *costs);
