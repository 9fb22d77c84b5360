/* Runs a job and turns its completions into points: the median over the steps (the first is a warm-up) and over all
 * identical ops of a step.
 *
 * With several ranks, each step takes its times from the rank whose compute took longest: the others wait for it, so it
 * determines the step. On a shared machine the slowest core changes from step to step; the times of a fixed rank would
 * be too short in every step in which that rank waited. */
#include "calibrate/calibration.h"

#include "core/base/stats.h"
#include "core/op/work.h"
#include "core/program/program.h"

#include <stdlib.h>
#include <string.h>

enum { WARM_STEPS = 1 };

struct recorder {
  const struct sl_program *program;
  int64_t first, steps; /* the first step in which ops are timed; the number of all steps */
  double *seconds;      /* per issue and step */
};

static void observe(void *context, int local, int64_t step, const struct sl_program *program,
                    const struct sl_completion *done) {
  struct recorder *r = context;
  if (local != 0 || program->kind != SL_PROGRAM_STEP) return;
  r->program = program;
  r->seconds[(int64_t)done->index * r->steps + step] = done->end_s - done->start_s;
}

static void put_times(double *times, size_t n, double *low, double *median, double *high) {
  const struct sl_stats_range range = sl_stats_range(times, n);
  *low = range.low, *median = range.median, *high = range.high;
}

void sl_calibration_follow_slowest(double *seconds, const double *all, int ranks, const struct sl_program *program,
                                   int64_t steps) {
  const int64_t issues = (int64_t)program->issue_count;
  for (int64_t s = 0; s < steps; s++) {
    const double *slowest = all;
    double most = -1;
    for (int rank = 0; rank < ranks; rank++) {
      const double *of_rank = all + rank * issues * steps;
      double compute = 0;
      for (int64_t i = 0; i < issues; i++)
        if (!sl_op_is_comm(program->ops[program->issues[i].op].kind)) compute += of_rank[i * steps + s];
      if (compute > most) most = compute, slowest = of_rank;
    }
    for (int64_t i = 0; i < issues; i++) seconds[i * steps + s] = slowest[i * steps + s];
  }
}

/* Collective over the ranks. Their step programs have the same ops in the same order, whose sizes differ only by uneven
 * shards. */
static enum sl_status follow_slowest(const struct sl_calibration *c, const struct sl_run *run, struct recorder *r) {
  if (c->ranks == 1 || c->exec->exchange == NULL) return SL_OK;
  const size_t bytes = r->program->issue_count * (size_t)r->steps * sizeof *r->seconds;
  int64_t *sizes = NULL, mine = (int64_t)bytes;
  double *all = NULL;
  enum sl_status status;
  SL_GO(sl_calloc(&sizes, (size_t)c->ranks, sizeof *sizes));
  SL_GO(c->exec->exchange(run->state, &mine, sizeof mine, sizes));
  for (int i = 0; i < c->ranks; i++)
    if (sizes[i] != mine)
      SL_GO(sl_fail(SL_ERR_INTERNAL, "rank %d timed %lld bytes of ops, this one %lld", i, (long long)sizes[i],
                    (long long)mine));
  SL_GO(sl_calloc(&all, (size_t)c->ranks, bytes));
  SL_GO(c->exec->exchange(run->state, r->seconds, bytes, all));
  sl_calibration_follow_slowest(r->seconds, all, c->ranks, r->program, r->steps);
done:
  free(sizes);
  free(all);
  return status;
}

static struct sl_point describe(const struct sl_calibration *c, const struct sl_program *p, const struct sl_op *op,
                                const char *source) {
  const struct sl_work work = sl_work_of(op, sl_op_slices(p, op), c->ranks);
  struct sl_point point = {.kind = work.kind,
                           .variant = work.variant,
                           .dtype = work.dtype,
                           .ranks = c->ranks,
                           .parts = work.parts,
                           .bytes = work.bytes};
  if (c->gpu && sl_variant_beside_gpu(op->lane) != SL_VARIANT_PLAIN) point.variant = sl_variant_beside_gpu(op->lane);
  memcpy(point.dim, op->dim, sizeof point.dim);
  snprintf(point.source, sizeof point.source, "%s", source);
  return point;
}

/* Collects the times of all issues whose op matches `wanted`, over all steps. */
static enum sl_status gather(const struct sl_calibration *c, const struct recorder *r, const struct sl_point *wanted,
                             double *times, size_t *count, int *issues, const char *source) {
  *count = 0;
  *issues = 0;
  for (size_t i = 0; i < r->program->issue_count; i++) {
    const struct sl_point p = describe(c, r->program, &r->program->ops[r->program->issues[i].op], source);
    if (!sl_point_alike(&p, wanted)) continue;
    ++*issues;
    for (int64_t s = r->first; s < r->steps; s++) times[(*count)++] = r->seconds[(int64_t)i * r->steps + s];
  }
  return *count > 0 ? SL_OK : sl_fail(SL_ERR_INTERNAL, "no times of %s", sl_op_name((enum sl_op_kind)wanted->kind));
}

static void add_call(struct sl_point_step *step, const struct sl_point *p, int issues) {
  if (step->call_count == SL_MAX_POINT_CALLS) return;
  step->calls[step->call_count++] = (struct sl_point_call){
      .kind = p->kind, .variant = p->variant, .dtype = p->dtype, .parts = p->parts, .count = issues, .bytes = p->bytes};
}

static enum sl_status add_points(struct sl_calibration *c, const struct recorder *r, const char *source,
                                 bool communication, struct sl_point_step *step, double *times) {
  const size_t first = c->points.count;
  for (size_t i = 0; i < r->program->issue_count; i++) {
    const struct sl_op *op = &r->program->ops[r->program->issues[i].op];
    struct sl_point p = describe(c, r->program, op, source);
    bool known = false;
    for (size_t k = first; k < c->points.count && !known; k++) known = sl_point_alike(&p, &c->points.items[k]);
    if (known) continue;
    size_t count;
    int issues;
    SL_TRY(gather(c, r, &p, times, &count, &issues, source));
    put_times(times, count, &p.low_s, &p.median_s, &p.high_s);
    p.repeats = (int)count;
    p.count = issues;
    SL_TRY(sl_points_add(&c->points, &p));
    if (step != NULL && sl_op_is_comm((enum sl_op_kind)p.kind)) add_call(step, &p, issues);
    if (step != NULL && !sl_op_is_comm((enum sl_op_kind)p.kind)) step->compute_s += p.median_s * issues;
    if (step != NULL) step->ops += issues;
  }
  size_t kept = first;
  for (size_t k = first; k < c->points.count; k++) {
    const bool wanted = communication || !sl_op_is_comm((enum sl_op_kind)c->points.items[k].kind);
    if (wanted && c->points.items[k].median_s > 0 && c->points.items[k].kind != SL_OP_JOIN)
      c->points.items[kept++] = c->points.items[k];
  }
  c->points.count = kept;
  return SL_OK;
}

enum sl_status sl_calibration_run(struct sl_calibration *c, const struct sl_job *job, int64_t steps, const char *source,
                                  bool communication, struct sl_point_step *step) {
  /* on a GPU, timing ops slows the step, so steps are timed first, and ops in as many further steps */
  const int64_t first = WARM_STEPS + (c->gpu && step != NULL ? steps : 0);
  struct sl_run run = {.exec = c->exec,
                       .job = job,
                       .steps = first + steps,
                       .observe = observe,
                       .options = {.threads = c->threads,
                                   .data = c->text,
                                   .fail_rank = -1,
                                   .fail_step = -1,
                                   .timed_from = first,
                                   .noise = c->noise}};
  const size_t issues = job->classes[sl_job_class_of(job, c->rank)].programs[SL_PROGRAM_STEP].issue_count;
  struct recorder recorder = {.first = first, .steps = run.steps};
  double *times = NULL;
  enum sl_status status;
  SL_GO(sl_calloc(&recorder.seconds, issues * (size_t)run.steps, sizeof(double)));
  SL_GO(sl_calloc(&times, issues * (size_t)run.steps, sizeof *times));
  run.observe_context = &recorder;
  SL_GO(sl_run_execute(&run));
  SL_GO(follow_slowest(c, &run, &recorder));
  const struct sl_exec_report *report = &run.reports[0];
  const int64_t beside = report->context_bytes + report->process_bytes - report->arena_bytes[SL_SPACE_DEVICE];
  if (beside > c->context_bytes) c->context_bytes = beside;
  SL_GO(add_points(c, &recorder, source, communication, step, times));
  if (step != NULL) {
    for (int64_t s = 0; s < steps; s++)
      times[s] = run.results[s + WARM_STEPS].end_s - run.results[s + WARM_STEPS].start_s;
    put_times(times, (size_t)steps, &step->low_s, &step->median_s, &step->high_s);
    step->ranks = c->ranks;
    step->repeats = (int)steps;
  }
done:
  free(recorder.seconds);
  free(times);
  sl_run_close(&run);
  return status;
}
