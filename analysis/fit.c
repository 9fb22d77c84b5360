/* From points to a profile: groups the points by op, fits each group (fit_entry.c), and takes from whole steps what lies
 * between ops. See fit.h. */
#include "analysis/fit.h"

#include "core/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- entries --- */

static const double of_programs = 0.1;

static bool belongs(const struct sl_point *p, const struct sl_op_cost *c) {
  return p->kind == c->kind && p->variant == c->variant && p->dtype == c->dtype && p->ranks == c->ranks;
}

static double cache_of(const struct sl_fit *fit, int ranks) {
  return (double)fit->profile.device.cache_bytes / ranks;
}

void sl_fit_group_free(struct sl_fit_group *group) {
  free(group->quantity);
  free(group->seconds);
  free(group->spread);
  free(group->count);
}

static bool is_program(const struct sl_point *p) {
  return strcmp(p->source, "program") == 0;
}

enum sl_status sl_fit_gather(struct sl_fit_group *g, const struct sl_fit *fit, const struct sl_op_cost *cost,
                             const char *source, bool only) {
  const struct sl_points *points = &fit->merged;
  bool models = false;
  SL_TRY(sl_calloc(&g->quantity, points->count, sizeof *g->quantity));
  SL_TRY(sl_calloc(&g->seconds, points->count, sizeof *g->seconds));
  SL_TRY(sl_calloc(&g->spread, points->count, sizeof *g->spread));
  SL_TRY(sl_calloc(&g->count, points->count, sizeof *g->count));
  for (size_t i = 0; i < points->count && !models; i++)
    models = belongs(&points->items[i], cost) && !is_program(&points->items[i]);
  for (size_t i = 0; i < points->count; i++) {
    const struct sl_point *p = &points->items[i];
    if (!belongs(p, cost) || (source != NULL && (strcmp(p->source, source) == 0) != only)) continue;
    sl_point_quantities(p, cache_of(fit, p->ranks), g->quantity[g->n]);
    g->seconds[g->n] = p->median_s;
    g->spread[g->n] = p->low_s > 0 ? log(p->high_s / p->low_s) / 2.56 : 1;
    if (models && is_program(p)) g->spread[g->n] = hypot(g->spread[g->n], of_programs);
    g->count[g->n++] = p->count;
  }
  return SL_OK;
}

static enum sl_status fit_entry(struct sl_fit *fit, int entry) {
  struct sl_op_cost *cost = &fit->profile.op_costs.items[entry];
  struct sl_fit_group g = {0};
  enum sl_status status;
  SL_GO(sl_fit_gather(&g, fit, cost, NULL, false));
  fit->points_of[entry] = (int)g.n;
  if (g.n == 1) { /* one point is a constant of unknown certainty */
    cost->seconds[SL_TERM_LAUNCH] = g.seconds[0];
    cost->relative_stderr[SL_TERM_LAUNCH] = cost->scatter = 0.3;
    cost->correlation[SL_TERM_LAUNCH][SL_TERM_LAUNCH] = 1;
  } else {
    SL_GO(sl_fit_entry(cost, (const double(*)[SL_TERM_COUNT])g.quantity, g.seconds, g.spread, g.n));
  }
  for (size_t i = 0, k = 0; i < fit->merged.count; i++) {
    const struct sl_point *p = &fit->merged.items[i];
    if (belongs(p, cost))
      fit->rows[fit->count++] = (struct sl_fit_row){p, entry, sl_op_cost_seconds(cost, g.quantity[k++])};
  }
fail:
  sl_fit_group_free(&g);
  return status;
}

static enum sl_status fit_entries(struct sl_fit *fit) {
  const struct sl_points *points = &fit->merged;
  struct sl_op_costs *costs = &fit->profile.op_costs;
  SL_TRY(sl_calloc(&fit->rows, points->count, sizeof *fit->rows));
  SL_TRY(sl_calloc(&fit->points_of, points->count, sizeof *fit->points_of)); /* an entry has one point or more */
  for (size_t i = 0; i < points->count; i++) {
    const struct sl_point *p = &points->items[i];
    bool known = false;
    for (int e = 0; e < costs->count && !known; e++) known = belongs(p, &costs->items[e]);
    if (known) continue;
    SL_TRY(sl_op_costs_add(
        costs, &(struct sl_op_cost){.kind = p->kind, .variant = p->variant, .dtype = p->dtype, .ranks = p->ranks}));
    SL_TRY(fit_entry(fit, costs->count - 1));
  }
  return SL_OK;
}

/* --- whole steps --- */

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double sl_fit_median(double *values, size_t n, double *error) {
  *error = 0;
  if (n == 0) return 0;
  qsort(values, n, sizeof *values, compare);
  const double median = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
  for (size_t i = 0; i < n; i++) values[i] = fabs(values[i] - median);
  qsort(values, n, sizeof *values, compare);
  *error = 1.2533 * values[n / 2] / 0.6745 / sqrt((double)n);
  return median;
}

double sl_fit_communication(const struct sl_fit *fit, const struct sl_point_step *s) {
  double sum = 0;
  for (int i = 0; i < s->call_count && s->ranks > 1; i++) {
    const struct sl_point_call *c = &s->calls[i];
    const struct sl_op_cost *cost = sl_op_cost_find(&fit->profile.op_costs, c->kind, c->variant, c->dtype, s->ranks);
    const struct sl_point p = {.kind = c->kind, .dtype = c->dtype, .parts = c->parts, .bytes = c->bytes};
    double quantity[SL_TERM_COUNT];
    sl_point_quantities(&p, cache_of(fit, s->ranks), quantity);
    if (cost != NULL) sum += c->count * sl_op_cost_seconds(cost, quantity);
  }
  return sum;
}

/* Between two ops of a rank: what a step has beyond its ops, per op. */
static double gap_of(const struct sl_points *points, double *work, double *error) {
  size_t n = 0;
  for (size_t i = 0; i < points->step_count; i++) {
    const struct sl_point_step *s = &points->steps[i];
    if (s->ranks == 1 && s->ops > 0)
      work[n++] = fmax(0, (sl_fit_undisturbed(s->low_s, s->median_s) - s->compute_s) / s->ops);
  }
  return sl_fit_median(work, n, error);
}

/* The share of a communication's own time by which it delays compute beside it: this host's ranks move their bytes
 * themselves. */
static double share_of(const struct sl_fit *fit, const struct sl_points *points, double gap, double *work,
                       double *error) {
  size_t n = 0;
  for (size_t i = 0; i < points->step_count; i++) {
    const struct sl_point_step *s = &points->steps[i];
    const double alone = sl_fit_communication(fit, s),
                 rest = sl_fit_undisturbed(s->low_s, s->median_s) - s->compute_s - gap * s->ops;
    if (s->ranks > 1 && alone > 0.02 * s->median_s) work[n++] = rest / alone;
  }
  if (n > 0) return sl_fit_median(work, n, error);
  *error = -1; /* one rank, or too little communication to tell */
  return fit->profile.device.comm_cpu_share;
}

static enum sl_status fit_steps(struct sl_fit *fit, const struct sl_points *points) {
  struct sl_device *d = &fit->profile.device;
  double *work;
  SL_TRY(sl_calloc(&work, points->step_count, sizeof *work));
  d->launch_latency = gap_of(points, work, &fit->gap_stderr);
  d->comm_cpu_share = fmin(0.99, fmax(0, share_of(fit, points, d->launch_latency, work, &fit->share_stderr)));
  if (d->kind == SL_DEVICE_GPU)
    d->comm_cpu_share = 0; /* what a rank's core does for its communication is not its compute */
  free(work);
  return sl_fit_noise(fit, points);
}

/* --- the formulas' own numbers, for what was not measured --- */

/* Units of `term` per second of a plain op; 0: not known. */
static double rate_of(const struct sl_fit *fit, int kind, enum sl_term term, enum sl_dtype dtype) {
  const struct sl_op_cost *c = sl_op_cost_find(&fit->profile.op_costs, kind, SL_VARIANT_PLAIN, dtype, 1);
  return c != NULL && c->seconds[term] > 0 ? 1 / c->seconds[term] : 0;
}

/* The fp32 peak of a core: the largest rate that any product had, all ranks together, or that the fit says large ones
 * have. The fitted rate of plain products alone may be lower than others reach, and a step would then have a mfu above 1.
 */
static void fill_peak(struct sl_fit *fit) {
  struct sl_device *d = &fit->profile.device;
  const struct sl_op_cost *plain = sl_op_cost_find(&fit->profile.op_costs, SL_OP_GEMM, SL_VARIANT_PLAIN, SL_F32, 1);
  const double fitted = rate_of(fit, SL_OP_GEMM, SL_TERM_FLOPS, SL_F32);
  double peak = fitted;
  fit->peak_stderr = fitted > 0 ? plain->relative_stderr[SL_TERM_FLOPS] : -1;
  for (size_t i = 0; i < fit->merged.count; i++) {
    const struct sl_point *p = &fit->merged.items[i];
    if (p->kind != SL_OP_GEMM || p->dtype != SL_F32) continue;
    const double rate = 2.0 * (double)p->dim[0] * (double)p->dim[1] * (double)p->dim[2] * p->ranks / p->median_s;
    if (rate <= peak) continue;
    peak = rate;
    fit->peak_stderr = p->low_s > 0 && p->high_s > p->low_s ? log(p->high_s / p->low_s) / 2.56 : NAN; /* of rounds */
  }
  if (!(peak > 0)) return;
  d->peak[SL_F32] = peak / d->cores;
  d->gemm_efficiency = fitted > 0 ? fmax(0.001, fitted / peak) : 1;
}

/* A GPU keeps the peaks of its data sheet, against which utilisation is told; products reach a share of them. */
static void fill_gpu_products(struct sl_device *d, const struct sl_fit *fit) {
  const enum sl_dtype types[] = {SL_F32, SL_F16, SL_BF16}; /* the last that is known counts */
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    const double flops = rate_of(fit, SL_OP_GEMM, SL_TERM_FLOPS, types[i]);
    if (flops > 0 && d->peak[types[i]] > 0) d->gemm_efficiency = fmin(1, flops / d->peak[types[i]]);
  }
}

/* What a copy says of memory. Where all sizes are below the cache that the system names, which a virtual machine shares
 * with others, it is the one rate there is. */
static enum sl_term memory_term(const struct sl_fit *fit) {
  return rate_of(fit, SL_OP_COPY, SL_TERM_BYTES, SL_F32) > 0 ? SL_TERM_BYTES : SL_TERM_CACHED;
}

static void fill_formulas(struct sl_fit *fit) {
  struct sl_device *d = &fit->profile.device;
  struct sl_link *link = &fit->profile.link[0];
  const double bytes = rate_of(fit, SL_OP_COPY, memory_term(fit), SL_F32);
  const double cached = rate_of(fit, SL_OP_COPY, SL_TERM_CACHED, SL_F32);
  const struct sl_op_cost *receive = sl_op_cost_find(&fit->profile.op_costs, SL_OP_RECV, SL_VARIANT_PLAIN, SL_F32, 2);
  if (d->kind == SL_DEVICE_GPU)
    fill_gpu_products(d, fit);
  else
    fill_peak(fit);
  if (bytes > 0) d->memory_bandwidth = bytes, d->elementwise_efficiency = 1;
  if (cached > 0) d->cache_bandwidth = cached;
  if (receive == NULL) return;
  const double near = receive->seconds[SL_TERM_CACHED], far = receive->seconds[SL_TERM_BYTES];
  if (fmax(near, far) > 0) link->bandwidth = 1 / fmax(near, far);
  link->latency = receive->seconds[SL_TERM_LAUNCH];
  link->half_bytes = 0;
}

enum sl_status sl_fit_points(struct sl_fit *fit, const struct sl_points *points) {
  struct sl_json doc = {0};
  enum sl_status status;
  memset(fit, 0, sizeof *fit);
  char *text = points->cluster != NULL ? json_dumps(points->cluster, JSON_REAL_PRECISION(17)) : NULL;
  if (text == NULL) return sl_fail(SL_ERR_INPUT, "the points name no cluster; expected the machine they were taken on");
  status = sl_json_parse(&doc, "the points' cluster", text, strlen(text));
  free(text);
  SL_TRY(status);
  SL_GO(sl_cluster_from_json(&fit->profile, &doc));
  sl_cluster_free(&fit->profile); /* what an earlier calibration found */
  SL_GO(sl_fit_merge(&fit->merged, points));
  SL_GO(fit_entries(fit));
  SL_GO(fit_steps(fit, points));
  SL_GO(sl_fit_hold_out(fit, points));
  fill_formulas(fit);
fail:
  sl_json_free(&doc);
  if (status != SL_OK) sl_fit_free(fit);
  return status;
}

void sl_fit_free(struct sl_fit *fit) {
  free(fit->rows);
  free(fit->points_of);
  sl_cluster_free(&fit->profile);
  sl_points_free(&fit->merged);
  memset(fit, 0, sizeof *fit);
}

/* A negative error: the points say nothing of it, and the number is what it was before. NAN: they do, but not how well.
 */
static void annotate(json_t *object, const char *key, double error, const char *source) {
  char name[64];
  if (json_object_get(object, key) == NULL) return;
  snprintf(name, sizeof name, "%s_source", key);
  json_object_set_new(object, name, json_string(error < 0 ? "guess" : source));
  if (!(error >= 0)) return;
  snprintf(name, sizeof name, "%s_stderr", key);
  json_object_set_new(object, name, json_real(error));
}

/* Standard error of a number of the profile that is a term of an entry. */
static double term_error(const struct sl_fit *fit, int kind, int ranks, enum sl_term term, double value) {
  const struct sl_op_cost *c = sl_op_cost_find(&fit->profile.op_costs, kind, SL_VARIANT_PLAIN, SL_F32, ranks);
  return c != NULL && c->seconds[term] > 0 ? value * c->relative_stderr[term] : -1;
}

/* The link is what a receive says of it; see fill_formulas. */
static void annotate_link(const struct sl_fit *fit, json_t *object, const char *source) {
  const struct sl_link *link = &fit->profile.link[0];
  const struct sl_op_cost *c = sl_op_cost_find(&fit->profile.op_costs, SL_OP_RECV, SL_VARIANT_PLAIN, SL_F32, 2);
  if (c == NULL) return;
  const enum sl_term slower = c->seconds[SL_TERM_BYTES] > c->seconds[SL_TERM_CACHED] ? SL_TERM_BYTES : SL_TERM_CACHED;
  annotate(object, "latency_us", 1e6 * link->latency * c->relative_stderr[SL_TERM_LAUNCH], source);
  annotate(object, "bandwidth_GBps", term_error(fit, SL_OP_RECV, 2, slower, link->bandwidth / 1e9), source);
}

json_t *sl_fit_json(const struct sl_fit *fit, const struct sl_points *points) {
  const struct sl_device *d = &fit->profile.device;
  json_t *top = sl_cluster_to_json(&fit->profile), *device = json_object_get(top, "device"), *entry;
  json_t *link = json_array_get(json_object_get(top, "links"), 0), *peak = json_object_get(device, "peak_TFLOPS");
  char source[256];
  size_t i;
  snprintf(source, sizeof source, "shardlab calibrate on %s, load average %.2f", points->machine, points->load);
  if (d->kind == SL_DEVICE_GPU)
    annotate(device, "context_MiB", NAN, source);
  else
    annotate(peak, "fp32", fit->peak_stderr * d->peak[SL_F32] / 1e12, source);
  const double efficiency_error = term_error(fit, SL_OP_GEMM, 1, SL_TERM_FLOPS, d->gemm_efficiency);
  annotate(device, "gemm_efficiency", efficiency_error >= 0 || fit->peak_stderr < 0 ? efficiency_error : NAN, source);
  annotate(device, "memory_bandwidth_GBps", term_error(fit, SL_OP_COPY, 1, memory_term(fit), d->memory_bandwidth / 1e9),
           source);
  annotate(device, "cache_bandwidth_GBps", term_error(fit, SL_OP_COPY, 1, SL_TERM_CACHED, d->cache_bandwidth / 1e9),
           source);
  annotate(device, "launch_us", 1e6 * fit->gap_stderr, source);
  annotate(device, "comm_cpu_share", fit->share_stderr, source);
  annotate(device, "run_noise", fit->noise_stderr, source);
  annotate(device, "run_noise_slope", fit->slope_stderr, source);
  annotate(device, "error_scale", fit->scale_stderr, source);
  annotate_link(fit, link, source);
  json_array_foreach(json_object_get(top, "op_costs"), i, entry) {
    json_object_set_new(entry, "points", json_integer(fit->points_of[i]));
    json_object_set_new(entry, "source", json_string("shardlab calibrate"));
  }
  return top;
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
  SL_GO(sl_calloc(&cluster, 1, sizeof *cluster)); /* large for a stack */
  SL_GO(sl_cluster_from_json(cluster, &doc));
  sl_cluster_free(cluster);
fail:
  free(cluster);
  sl_json_free(&doc);
  return status;
}
