/* The exact clock as a function; see predict.h. */
#include "table/predict.h"

#include "core/job/job.h"
#include "core/run/timeline.h"
#include "sim/sim.h"

#include <math.h>

static void observe(void *context, int local, int64_t step, const struct sl_program *program,
                    const struct sl_completion *done) {
  sl_timeline_add(context, local, step, program, done);
}

static void observe_many(void *context, int local, int64_t step, const struct sl_program *program,
                         const struct sl_stretch *stretches, uint32_t count) {
  sl_timeline_add_many(context, local, step, program, stretches, count);
}

static void forget(void *context) {
  sl_timeline_forget(context);
}

static void put_memory(struct sl_prediction *out, const struct sl_run *run) {
  for (int i = 0; i < run->local_count; i++) {
    const int64_t bytes = run->reports[i].arena_bytes[SL_SPACE_DEVICE] + run->reports[i].context_bytes;
    const int64_t logged = bytes - run->reports[i].driver_bytes;
    if (bytes > out->memory_bytes) out->memory_bytes = bytes;
    if (logged > out->most_logged_bytes) out->most_logged_bytes = logged;
    if (i == 0) out->logged_bytes = logged;
  }
  sl_fits_of(&out->spaces, run->job, run->reports, run->local_ranks, run->local_count);
  out->fits = out->memory_bytes <= run->job->plan->cluster->device.memory;
}

static void put_interval(struct sl_prediction *out, double error) {
  static const double of_90_percent = 1.645; /* of a normal distribution of ln(step time) */
  if (!(error > 0)) error = SL_STEP_ERROR_UNKNOWN;
  out->low_s = out->step_s * exp(-of_90_percent * error);
  out->high_s = out->step_s * exp(of_90_percent * error);
}

static void put_breakdown(struct sl_prediction *out, const struct sl_breakdown *b, const struct sl_plan *plan) {
  out->compute_s = b->compute_s;
  out->bubble_s = plan->pp > 1 ? b->bubble_s : 0;
  out->exposed_tp_s = b->exposed_s[SL_GROUP_TP];
  out->exposed_dp_s = b->exposed_s[SL_GROUP_DP] + b->exposed_s[SL_GROUP_SHARD] + b->exposed_s[SL_GROUP_REPLICATE] +
                      b->exposed_s[SL_GROUP_SECONDARY];
  out->exposed_pp_s = b->exposed_s[SL_GROUP_NONE];
  out->optimizer_s = b->busy_s[SL_CLASS_OPTIMIZER];
}

bool sl_predict_memory_known(const struct sl_job *job) {
  return job->plan->config->sl.kernels == SL_KERNELS_SHARDLAB;
}

enum sl_status sl_predict_memory(struct sl_prediction *out, const struct sl_job *job) {
  struct sl_run run = {.exec = &sl_exec_sim, .job = job, .options = {.fold = true, .fail_rank = -1, .fail_step = -1}};
  *out = (struct sl_prediction){0};
  SL_TRY(sl_run_execute(&run));
  put_memory(out, &run);
  sl_run_close(&run);
  return SL_OK;
}

enum sl_status sl_predict_job(struct sl_prediction *out, const struct sl_job *job,
                              const struct sl_exec_assumptions *assume) {
  enum sl_status status;
  struct sl_timeline timeline = {0};
  struct sl_breakdown breakdown;
  *out = (struct sl_prediction){0};
  struct sl_run run = {.exec = &sl_exec_sim,
                       .job = job,
                       .steps = 1,
                       .observe = observe,
                       .observe_many = observe_many,
                       .observe_context = &timeline,
                       .forget = forget,
                       .options = {.fold = true, .fail_rank = -1, .fail_step = -1}};
  if (assume != NULL) run.options.assume = *assume;
  SL_GO(sl_run_execute(&run));
  SL_GO(timeline.status);
  SL_GO(sl_timeline_breakdown(&timeline, sl_timeline_slowest(&timeline), &breakdown));
  out->step_s = run.results[0].end_s - run.results[0].start_s;
  put_memory(out, &run);
  put_interval(out, run.reports[0].step_error);
  put_breakdown(out, &breakdown, job->plan);
done:
  sl_run_close(&run);
  sl_timeline_free(&timeline);
  return status;
}

enum sl_status sl_predict_step(struct sl_prediction *out, const struct sl_model *model, const struct sl_config *config,
                               const struct sl_cluster *cluster, int world) {
  enum sl_status status;
  struct sl_plan plan;
  struct sl_job job = {0};
  *out = (struct sl_prediction){0};
  SL_TRY(sl_plan_build(&plan, model, config, cluster, world));
  SL_GO(sl_job_build(&job, &plan, &(struct sl_build_options){.repeated = true}));
  SL_GO(sl_predict_job(out, &job, NULL));
done:
  sl_job_free(&job);
  sl_plan_free(&plan);
  return status;
}
