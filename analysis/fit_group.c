/* The points of one entry of a profile with the works that its formula takes, and the entries' prediction for a step;
 * see fit.h. */
#include "analysis/fit.h"

#include "cost/measured.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double of_programs = 0.1;

bool sl_fit_belongs(const struct sl_point *p, const struct sl_op_cost *c) {
  return p->kind == c->kind && p->variant == c->variant && p->dtype == c->dtype && p->ranks == c->ranks;
}

/* A point's work, as seen when these ranks run at the same time. */
static struct sl_work work_of(const struct sl_fit *fit, const struct sl_point *p, int ranks) {
  const struct sl_work work = sl_point_work(p);
  return sl_cost_as_measured(&fit->profile.device, ranks, &work);
}

enum sl_status sl_fit_gather(struct sl_fit_group *g, const struct sl_fit *fit, const struct sl_op_cost *cost,
                             const char *source, bool only) {
  const struct sl_points *points = &fit->merged;
  bool models = false;
  SL_TRY(sl_calloc(&g->works, points->count, sizeof *g->works));
  SL_TRY(sl_calloc(&g->seconds, points->count, sizeof *g->seconds));
  SL_TRY(sl_calloc(&g->spread, points->count, sizeof *g->spread));
  SL_TRY(sl_calloc(&g->count, points->count, sizeof *g->count));
  for (size_t i = 0; i < points->count && !models; i++)
    models = sl_fit_belongs(&points->items[i], cost) && !sl_fit_is_program(&points->items[i]);
  for (size_t i = 0; i < points->count; i++) {
    const struct sl_point *p = &points->items[i];
    if (!sl_fit_belongs(p, cost) || (source != NULL && (strcmp(p->source, source) == 0) != only)) continue;
    g->works[g->n] = work_of(fit, p, p->ranks);
    g->seconds[g->n] = p->median_s;
    g->spread[g->n] = p->low_s > 0 ? log(p->high_s / p->low_s) / 2.56 : 1;
    if (models && sl_fit_is_program(p)) g->spread[g->n] = hypot(g->spread[g->n], of_programs);
    g->count[g->n++] = p->count;
  }
  return SL_OK;
}

void sl_fit_group_free(struct sl_fit_group *group) {
  free(group->works);
  free(group->seconds);
  free(group->spread);
  free(group->count);
}

double sl_fit_communication(const struct sl_fit *fit, const struct sl_point_step *s) {
  double sum = 0;
  for (int i = 0; i < s->call_count && s->ranks > 1; i++) {
    const struct sl_point_call *c = &s->calls[i];
    const struct sl_op_cost *cost = sl_op_cost_find(&fit->profile.op_costs, c->kind, c->variant, c->dtype, s->ranks);
    const struct sl_point p = {.kind = c->kind, .dtype = c->dtype, .parts = c->parts, .bytes = c->bytes};
    const struct sl_work work = work_of(fit, &p, s->ranks);
    if (cost != NULL) sum += c->count * sl_op_cost_seconds(cost, &work);
  }
  return sum;
}
