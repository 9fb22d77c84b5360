/* How far a predicted step time may be off, by what the fit of its profile knows of itself; error.h states the formula.
 */
#include "sim/error.h"

#include "core/base/status.h"

#include <math.h>
#include <stdlib.h>

static const double of_stand_ins = 0.3, of_formulas = 0.5;
/* What the ops of one entry take in all; the last one is of the ops that have none. */
struct total {
  double seconds[SL_TERM_COUNT]; /* by term */
  double sum, stood_in;
};

static void count(struct total *total, const struct sl_op_cost *cost, const double quantity[SL_TERM_COUNT],
                  bool stands_in) {
  const double seconds = sl_op_cost_seconds(cost, quantity);
  for (int t = 0; t < SL_TERM_COUNT; t++) total->seconds[t] += cost->seconds[t] * quantity[t];
  total->sum += seconds;
  if (stands_in) total->stood_in += seconds;
}

/* Ops without an entry: seconds by the formulas. What has no work of its own (the end of a program) has no error. */
static double unmeasured(const struct sl_cost_rank *rank, const struct sl_program *program, const struct sl_op *op) {
  double seconds = 0;
  if (sl_op_class_of(op->kind) == SL_CLASS_CONTROL) return 0;
  return sl_cost_compute(rank, program, op, &seconds) == SL_OK ? seconds : 0;
}

static void add_program(struct total *totals, const struct sl_cost_rank *rank, const struct sl_program *program,
                        int members) {
  const struct sl_op_costs *costs = rank->costs;
  for (size_t i = 0; i < program->issue_count; i++) {
    const struct sl_op *op = &program->ops[program->issues[i].op];
    const bool call = sl_op_is_comm(op->kind);
    double quantity[SL_TERM_COUNT];
    if (call && members < 2) continue;
    const struct sl_op_cost *cost = sl_cost_measured(rank, program, op, call ? members : 0, quantity);
    if (cost != NULL)
      count(&totals[cost - costs->items], cost, quantity, sl_cost_stands_in(cost, program, op));
    else if (!call)
      totals[costs->count].sum += unmeasured(rank, program, op);
  }
}

double sl_cost_step_error(const struct sl_cost_rank *rank, const struct sl_program *program, int members,
                          int64_t runs) {
  const struct sl_device *d = rank->device;
  const double scale = d->error_scale;
  struct total *totals;
  double all = 0, variance = 0;
  if (rank->costs == NULL || rank->costs->count == 0) return 0;
  const int n = rank->costs->count;
  if (sl_calloc(&totals, (size_t)n + 1, sizeof *totals) != SL_OK) return 0;
  add_program(totals, rank, program, members);
  for (int i = 0; i < n; i++) {
    all += totals[i].sum;
    variance +=
        sl_op_cost_variance(&rank->costs->items[i], totals[i].seconds) + pow(of_stand_ins * totals[i].stood_in, 2);
  }
  all += totals[n].sum;
  variance += pow(of_formulas * totals[n].sum, 2);
  free(totals);
  if (scale > 0) variance *= scale * scale;
  if (!(all > 0)) return 0;
  variance /= all * all;
  variance += pow(sl_device_median_noise(d, all, runs), 2);
  if (d->rounds > 0) variance += pow(sl_device_median_noise(d, all, d->rounds), 2);
  return sqrt(variance);
}
