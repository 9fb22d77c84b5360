/* From points to a profile: groups the points by op, fits each group (fit_entry.c), fits the gaps between ops to whole
 * steps, and notes the source of each number. See fit.h. */
#include "analysis/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- entries --- */

static enum sl_status fit_entry(struct sl_fit *fit, int entry) {
  struct sl_op_cost *cost = &fit->profile.op_costs.items[entry];
  struct sl_fit_group g = {0};
  enum sl_status status;
  SL_GO(sl_fit_gather(&g, fit, cost, NULL, false));
  cost->points = (int64_t)g.n;
  snprintf(cost->source, sizeof cost->source, "shardlab calibrate");
  if (g.n == 1) { /* a single point gives a constant of unknown accuracy */
    cost->seconds[SL_TERM_LAUNCH] = g.seconds[0];
    cost->relative_stderr[SL_TERM_LAUNCH] = cost->scatter = 0.3;
    cost->correlation[SL_TERM_LAUNCH][SL_TERM_LAUNCH] = 1;
  } else {
    SL_GO(sl_fit_entry(cost, g.works, g.seconds, g.spread, g.n));
  }
  for (size_t i = 0, k = 0; i < fit->merged.count; i++) {
    const struct sl_point *p = &fit->merged.items[i];
    if (sl_fit_belongs(p, cost))
      fit->rows[fit->count++] = (struct sl_fit_row){p, entry, sl_op_cost_seconds(cost, &g.works[k++])};
  }
done:
  sl_fit_group_free(&g);
  return status;
}

static enum sl_status fit_entries(struct sl_fit *fit) {
  const struct sl_points *points = &fit->merged;
  struct sl_op_costs *costs = &fit->profile.op_costs;
  SL_TRY(sl_calloc(&fit->rows, points->count, sizeof *fit->rows));
  for (size_t i = 0; i < points->count; i++) {
    const struct sl_point *p = &points->items[i];
    bool known = sl_variant_is_rated(p->variant); /* those belong to fit_nvme.c and fit_host.c */
    for (int e = 0; e < costs->count && !known; e++) known = sl_fit_belongs(p, &costs->items[e]);
    if (known) continue;
    SL_TRY(sl_op_costs_add(
        costs, &(struct sl_op_cost){.kind = p->kind, .variant = p->variant, .dtype = p->dtype, .ranks = p->ranks}));
    SL_TRY(fit_entry(fit, costs->count - 1));
  }
  return SL_OK;
}

/* --- whole steps --- */

/* launch_latency is the gap between two ops of a rank: the time of a step beyond that of its ops, per op. */
static void fit_gap(struct sl_fit *fit, const struct sl_points *points, double *work) {
  struct sl_device *d = &fit->profile.device;
  size_t n = 0;
  for (size_t i = 0; i < points->step_count; i++) {
    const struct sl_point_step *s = &points->steps[i];
    if (s->ranks == 1 && s->ops > 0)
      work[n++] = fmax(0, (sl_fit_undisturbed(s->low_s, s->median_s) - sl_fit_compute(fit, s)) / s->ops);
  }
  d->launch_latency = sl_fit_median(work, n, &fit->gap_stderr);
  if (n > 0)
    sl_fit_found(fit, "device.launch_us", 1e6 * fit->gap_stderr);
  else
    sl_fit_set(fit, "device.launch_us", "0, since op_costs hold each op's own and no step of one rank was measured");
}

/* The share of a communication's own time by which it delays compute that overlaps it. On a CPU the ranks move their
 * bytes themselves; on a GPU that work is not the GPU's compute. */
static void fit_share(struct sl_fit *fit, const struct sl_points *points, double *work) {
  struct sl_device *d = &fit->profile.device;
  size_t n = 0;
  if (d->kind == SL_DEVICE_GPU) {
    d->comm_cpu_share = 0;
    sl_fit_set(fit, "device.comm_cpu_share", "0, since a GPU computes beside its communication");
    return;
  }
  for (size_t i = 0; i < points->step_count; i++) {
    const struct sl_point_step *s = &points->steps[i];
    const double alone = sl_fit_communication(fit, s),
                 rest = sl_fit_undisturbed(s->low_s, s->median_s) - sl_fit_compute(fit, s) - d->launch_latency * s->ops;
    if (s->ranks > 1 && alone > 0.02 * s->median_s) work[n++] = rest / alone;
  }
  if (n == 0) return; /* one rank, or too little communication */
  d->comm_cpu_share = fmin(0.99, fmax(0, sl_fit_median(work, n, &fit->share_stderr)));
  sl_fit_found(fit, "device.comm_cpu_share", fit->share_stderr);
}

static enum sl_status fit_steps(struct sl_fit *fit, const struct sl_points *points) {
  double *work;
  SL_TRY(sl_calloc(&work, points->step_count, sizeof *work));
  fit_gap(fit, points, work);
  fit_share(fit, points, work);
  free(work);
  return sl_fit_noise(fit, points);
}

/* See sl_fit_hold_out. */
static void name_scale(struct sl_fit *fit) {
  if (fit->scale_stderr > 0)
    sl_fit_found(fit, "device.error_scale", fit->scale_stderr);
  else
    sl_fit_set(fit, "device.error_scale", "1, since models held out say nothing of it");
}

enum sl_status sl_fit_points(struct sl_fit *fit, const struct sl_points *points) {
  struct sl_json doc = {0};
  enum sl_status status;
  memset(fit, 0, sizeof *fit);
  snprintf(fit->source, sizeof fit->source, "shardlab calibrate on %s, load average %.2f", points->machine,
           points->load);
  char *text = points->cluster != NULL ? json_dumps(points->cluster, JSON_REAL_PRECISION(17)) : NULL;
  if (text == NULL) return sl_fail(SL_ERR_INPUT, "the points name no cluster; expected the machine they were taken on");
  status = sl_json_parse(&doc, "the points' cluster", text, strlen(text));
  free(text);
  SL_TRY(status);
  SL_GO(sl_cluster_from_json(&fit->profile, &doc));
  sl_op_costs_free(&fit->profile.op_costs); /* fitted by an earlier calibration */
  SL_GO(sl_fit_merge(&fit->merged, points));
  SL_GO(sl_fit_timing(fit, points));
  SL_GO(fit_entries(fit));
  SL_GO(fit_steps(fit, points));
  SL_GO(sl_fit_hold_out(fit, points));
  name_scale(fit);
  sl_fit_formulas(fit);
  SL_GO(sl_fit_nvme(fit));
  SL_GO(sl_fit_host(fit));
done:
  sl_json_free(&doc);
  if (status != SL_OK) sl_fit_free(fit);
  return status;
}

void sl_fit_free(struct sl_fit *fit) {
  free(fit->rows);
  sl_cluster_free(&fit->profile);
  sl_points_free(&fit->merged);
  memset(fit, 0, sizeof *fit);
}

enum sl_status sl_fit_check(const json_t *profile, const char *name) {
  struct sl_json doc;
  struct sl_cluster *cluster = NULL;
  char *text = json_dumps(profile, JSON_INDENT(2));
  enum sl_status status;
  if (text == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory: the profile");
  status = sl_json_parse(&doc, name, text, strlen(text));
  free(text);
  SL_TRY(status);
  SL_GO(sl_calloc(&cluster, 1, sizeof *cluster)); /* too large for the stack */
  SL_GO(sl_cluster_from_json(cluster, &doc));
  sl_cluster_free(cluster);
done:
  free(cluster);
  sl_json_free(&doc);
  return status;
}
