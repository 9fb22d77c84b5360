/* How far a predicted step time may be off, by what the fit of its profile knows of itself; cost.h states the formula. */
#include "sim/cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the ops of one entry and shape take in all. */
struct shape {
  const struct sl_op_cost *cost;
  double quantity[SL_TERM_COUNT];
  double seconds[SL_TERM_COUNT]; /* by term */
};

static double sum_of(const double seconds[SL_TERM_COUNT]) {
  double sum = 0;
  for (int t = 0; t < SL_TERM_COUNT; t++) sum += seconds[t];
  return sum;
}

static void count(struct shape *shapes, size_t *n, const struct sl_op_cost *cost,
                  const double quantity[SL_TERM_COUNT]) {
  size_t i = 0;
  while (i < *n && (shapes[i].cost != cost || memcmp(shapes[i].quantity, quantity, sizeof shapes[i].quantity) != 0))
    i++;
  if (i == *n) {
    shapes[(*n)++] = (struct shape){.cost = cost};
    memcpy(shapes[i].quantity, quantity, sizeof shapes[i].quantity);
  }
  for (int t = 0; t < SL_TERM_COUNT; t++) shapes[i].seconds[t] += cost->seconds[t] * quantity[t];
}

/* Variance of the seconds of one entry through the errors of its terms. */
static double parameter_variance(const struct sl_op_cost *cost, const double seconds[SL_TERM_COUNT]) {
  double variance = 0;
  for (int t = 0; t < SL_TERM_COUNT; t++)
    for (int u = 0; u < SL_TERM_COUNT; u++)
      variance +=
          seconds[t] * seconds[u] * cost->correlation[t][u] * cost->relative_stderr[t] * cost->relative_stderr[u];
  return fmax(0, variance);
}

static double variance_of(const struct shape *shapes, size_t n) {
  double variance = 0;
  for (size_t i = 0; i < n; i++) {
    const double all = sum_of(shapes[i].seconds);
    double seconds[SL_TERM_COUNT] = {0};
    bool first = true;
    variance += pow(shapes[i].cost->scatter * all, 2);
    for (size_t k = 0; k < n; k++) {
      if (shapes[k].cost != shapes[i].cost) continue;
      if (k < i) first = false;
      for (int t = 0; t < SL_TERM_COUNT; t++) seconds[t] += shapes[k].seconds[t];
    }
    if (first) variance += parameter_variance(shapes[i].cost, seconds);
  }
  return variance;
}

double sl_cost_step_error(const struct sl_cost_rank *rank, const struct sl_program *program, int members) {
  struct shape *shapes = NULL;
  size_t n = 0;
  double total = 0;
  if (rank->costs == NULL || rank->costs->count == 0) return 0;
  if (sl_calloc(&shapes, program->op_count, sizeof *shapes) != SL_OK) return 0;
  for (size_t i = 0; i < program->issue_count; i++) {
    const struct sl_op *op = &program->ops[program->issues[i].op];
    const enum sl_op_class op_class = sl_op_class_of(op->kind);
    const bool call = op_class == SL_CLASS_COLLECTIVE || op_class == SL_CLASS_P2P;
    double quantity[SL_TERM_COUNT];
    if (call && members < 2) continue;
    const struct sl_op_cost *cost = sl_cost_measured(rank, program, op, call ? members : 0, quantity);
    if (cost != NULL) count(shapes, &n, cost, quantity);
  }
  for (size_t i = 0; i < n; i++) total += sum_of(shapes[i].seconds);
  const double variance = total > 0 ? variance_of(shapes, n) / (total * total) : 0;
  free(shapes);
  return total > 0 ? sqrt(variance + rank->device->run_noise * rank->device->run_noise) : 0;
}
