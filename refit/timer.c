/* One run's clock; see timer.h. The exact clock's program hangs on none of the numbers, so it is built once for all of a run's
 * predictions that follow one another. */
#include "refit/timer.h"

#include "core/job/job.h"
#include "core/plan/kernels.h"
#include "table/predict.h"

#include <stdlib.h>

struct sl_refit_exact {
  struct sl_plan plan;
  struct sl_job job;
};

struct sl_refit_subject sl_refit_timer_subject(struct sl_refit_timer *timer, struct sl_refit_run *run) {
  return (struct sl_refit_subject){&run->input.cluster, &timer->kernel_costs, timer->kernels};
}

enum sl_status sl_refit_timer_open(struct sl_refit_timer *timer, struct sl_refit_run *run) {
  *timer = (struct sl_refit_timer){.kernels = sl_kernel_set(run->input.config.sl.kernels)->name};
  return sl_kernel_costs_load(&timer->kernel_costs, timer->kernels);
}

static enum sl_status begin(struct sl_refit_exact **out, const struct sl_table_inputs *in) {
  struct sl_refit_exact *exact;
  SL_TRY(sl_calloc(&exact, 1, sizeof *exact));
  enum sl_status status = sl_plan_build(&exact->plan, &in->model, &in->config, &in->cluster, in->world);
  if (status != SL_OK) {
    free(exact);
    return status;
  }
  status = sl_job_build(&exact->job, &exact->plan, &(struct sl_build_options){0});
  if (status == SL_OK) {
    *out = exact;
    return SL_OK;
  }
  sl_plan_free(&exact->plan);
  free(exact);
  return status;
}

void sl_refit_timer_rest(struct sl_refit_timer *timer) {
  if (timer->exact == NULL) return;
  sl_job_free(&timer->exact->job);
  sl_plan_free(&timer->exact->plan);
  free(timer->exact);
  timer->exact = NULL;
}

enum sl_status sl_refit_timer_seconds(struct sl_refit_timer *timer, struct sl_refit_run *run, double *out) {
  struct sl_prediction prediction;
  if (timer->exact == NULL) SL_TRY(begin(&timer->exact, &run->input));
  timer->exact->plan.kernel_costs = timer->kernel_costs;
  SL_TRY(sl_predict_job(&prediction, &timer->exact->job));
  *out = prediction.step_s;
  return SL_OK;
}

void sl_refit_timer_close(struct sl_refit_timer *timer) {
  sl_refit_timer_rest(timer);
}
