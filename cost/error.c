/* How far a step's time may be off; error.h states the formula. */
#include "cost/error.h"

#include "core/base/status.h"
#include "cost/compute.h"
#include "cost/measured.h"

#include <math.h>
#include <stdlib.h>

static const double of_stand_ins = 0.3, of_formulas = 0.5;

/* What the works of one entry take in all. */
struct sl_cost_error_sum {
  double seconds[SL_TERM_COUNT]; /* by term */
  double sum, stood_in;
};

enum sl_status sl_cost_error_open(struct sl_cost_error *error, const struct sl_cost_rank *rank) {
  *error = (struct sl_cost_error){.rank = rank};
  if (rank->costs == NULL || rank->costs->count == 0) return SL_OK;
  return sl_calloc(&error->entries, (size_t)rank->costs->count + 1, sizeof *error->entries);
}

static void count(struct sl_cost_error_sum *of, const struct sl_op_cost *entry, const struct sl_work *work,
                  bool stands_in) {
  const double seconds = sl_op_cost_seconds(entry, work);
  for (int t = 0; t < SL_TERM_COUNT; t++) of->seconds[t] += entry->seconds[t] * work->terms[t];
  of->sum += seconds;
  if (stands_in) of->stood_in += seconds;
}

/* Works without an entry: seconds by the formulas. What has no work of its own (the end of a program) has no error. */
static double unmeasured(const struct sl_cost_rank *rank, const struct sl_work *work) {
  double seconds = 0;
  if (sl_op_class_of(work->kind) == SL_CLASS_CONTROL) return 0;
  return sl_cost_compute(rank, work, &seconds) == SL_OK ? seconds : 0;
}

void sl_cost_error_add(struct sl_cost_error *error, const struct sl_work *work) {
  const struct sl_cost_rank *rank = error->rank;
  if (error->entries == NULL || work->members == 1) return;
  const struct sl_op_cost *entry = sl_cost_entry(rank, work);
  if (entry != NULL) {
    const struct sl_work here = sl_cost_as_measured(rank->device, entry->ranks, work);
    count(&error->entries[entry - rank->costs->items], entry, &here, sl_cost_stands_in(entry, work));
  } else if (work->members == 0) {
    error->entries[rank->costs->count].sum += unmeasured(rank, work);
  }
}

/* Of all entries and what has none; *all gets the seconds of the step. */
static double variance_of_fit(const struct sl_cost_error *error, double *all) {
  const struct sl_op_costs *costs = error->rank->costs;
  double variance = 0;
  *all = 0;
  for (int i = 0; i < costs->count; i++) {
    const struct sl_cost_error_sum *s = &error->entries[i];
    *all += s->sum;
    variance += sl_op_cost_variance(&costs->items[i], s->seconds) + pow(of_stand_ins * s->stood_in, 2);
  }
  const double unmeasured = error->entries[costs->count].sum;
  *all += unmeasured;
  return variance + pow(of_formulas * unmeasured, 2);
}

double sl_cost_error_relative(const struct sl_cost_error *error, int64_t runs) {
  const struct sl_device *d = error->rank->device;
  double all;
  if (error->entries == NULL)
    return error->rank->fitted || !(d->installation_scatter > 0) ? d->formula_scatter : d->installation_scatter;
  double variance = variance_of_fit(error, &all);
  if (!(all > 0)) return 0;
  if (d->error_scale > 0) variance *= d->error_scale * d->error_scale;
  variance /= all * all;
  variance += pow(sl_device_median_noise(d, all, runs), 2);
  if (d->rounds > 0) variance += pow(sl_device_median_noise(d, all, d->rounds), 2);
  return sqrt(variance);
}

void sl_cost_error_close(struct sl_cost_error *error) {
  free(error->entries);
  *error = (struct sl_cost_error){0};
}
