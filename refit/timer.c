/* The clock of one run; see timer.h. The exact clock's programs do not depend on any of the numbers, so they are built
 * once for consecutive predictions of a run. */
#include "refit/timer.h"

#include "core/job/job.h"
#include "core/plan/kernels.h"
#include "table/predict.h"

#include <stdlib.h>

/* The programs of one step. */
struct step {
  struct sl_config config;
  struct sl_plan plan;
  struct sl_job job;
};

/* A step of many micro-batches is extrapolated from two shorter ones: once the pipeline is full, every further
 * micro-batch adds the same time. */
struct sl_refit_exact {
  struct step *steps[2]; /* the shorter one first; or the step itself, and NULL */
  int64_t micro_batches, shorter, longer;
};

struct sl_refit_subject sl_refit_timer_subject(struct sl_refit_timer *timer, struct sl_refit_run *run) {
  return (struct sl_refit_subject){&run->input.cluster, &timer->kernel_costs, timer->kernels};
}

enum sl_status sl_refit_timer_open(struct sl_refit_timer *timer, struct sl_refit_run *run) {
  *timer = (struct sl_refit_timer){.kernels = sl_kernel_set(run->input.config.sl.kernels)->name};
  return sl_kernel_costs_load(&timer->kernel_costs, timer->kernels);
}

static void step_close(struct step *step) {
  if (step == NULL) return;
  sl_job_free(&step->job);
  sl_plan_free(&step->plan);
  free(step);
}

static enum sl_status step_open(struct step **out, const struct sl_table_inputs *in, int64_t micro_batches) {
  struct step *step;
  SL_TRY(sl_calloc(&step, 1, sizeof *step));
  step->config = in->config;
  if (micro_batches != in->config.gradient_accumulation_steps) step->config.train_batch_size = 0;
  step->config.gradient_accumulation_steps = micro_batches;
  enum sl_status status = sl_plan_build(&step->plan, &in->model, &step->config, &in->cluster, in->world);
  if (status != SL_OK) {
    free(step);
    return status;
  }
  status = sl_job_build(&step->job, &step->plan, &(struct sl_build_options){.repeated = true});
  if (status != SL_OK) {
    step_close(step);
    return status;
  }
  *out = step;
  return SL_OK;
}

/* Chooses numbers of micro-batches that fill the pipeline; an interleaved schedule takes them pp at a time. */
static void choose_lengths(struct sl_refit_exact *e, const struct sl_config *c) {
  const int64_t pp = c->sl.pp;
  e->micro_batches = c->gradient_accumulation_steps;
  e->shorter = pp > 1 ? 2 * pp : 2;
  e->longer = e->shorter + (c->sl.virtual_stages > 1 ? pp : pp > 1 ? 2 : 1);
}

static enum sl_status begin(struct sl_refit_exact **out, const struct sl_table_inputs *in) {
  struct sl_refit_exact *e;
  SL_TRY(sl_calloc(&e, 1, sizeof *e));
  *out = e;
  choose_lengths(e, &in->config);
  if (e->micro_batches <= e->shorter + e->longer) return step_open(&e->steps[0], in, e->micro_batches);
  SL_TRY(step_open(&e->steps[0], in, e->shorter));
  return step_open(&e->steps[1], in, e->longer);
}

void sl_refit_timer_rest(struct sl_refit_timer *timer) {
  if (timer->exact == NULL) return;
  for (int i = 0; i < 2; i++) step_close(timer->exact->steps[i]);
  free(timer->exact);
  timer->exact = NULL;
}

static enum sl_status seconds_of(struct step *step, const struct sl_kernel_costs *costs, double *out) {
  struct sl_prediction prediction;
  step->plan.kernel_costs = *costs;
  SL_TRY(sl_predict_job(&prediction, &step->job, NULL));
  *out = prediction.step_s;
  return SL_OK;
}

enum sl_status sl_refit_timer_seconds(struct sl_refit_timer *timer, struct sl_refit_run *run, double *out) {
  double longer;
  if (timer->exact == NULL) SL_TRY(begin(&timer->exact, &run->input));
  const struct sl_refit_exact *e = timer->exact;
  SL_TRY(seconds_of(e->steps[0], &timer->kernel_costs, out));
  if (e->steps[1] == NULL) return SL_OK;
  SL_TRY(seconds_of(e->steps[1], &timer->kernel_costs, &longer));
  *out += (longer - *out) * (double)(e->micro_batches - e->shorter) / (double)(e->longer - e->shorter);
  return SL_OK;
}

void sl_refit_timer_close(struct sl_refit_timer *timer) {
  sl_refit_timer_rest(timer);
}
