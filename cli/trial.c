/* Builds and simulates a variant; see trial.h. */
#include "cli/trial.h"

#include "cli/assume.h"

static enum sl_status simulate(struct sl_trial *out, const struct sl_setup *setup, const struct sl_options *options,
                               bool if_it_fits) {
  struct sl_exec_assumptions assume;
  struct sl_straggler stragglers[SL_MAX_STRAGGLERS];
  const double tokens = (double)setup->plan.global_batch * (double)setup->plan.seq;
  out->global_batch = setup->plan.global_batch;
  if (if_it_fits && sl_predict_memory_known(&setup->job)) {
    SL_TRY(sl_predict_memory(&out->prediction, &setup->job));
    if (!sl_trial_fits(out)) return SL_OK;
  }
  SL_TRY(sl_assume_read(&assume, stragglers, options, &setup->config));
  SL_TRY(sl_predict_job(&out->prediction, &setup->job, &assume));
  out->tokens_per_s = out->prediction.step_s > 0 ? tokens / out->prediction.step_s : 0;
  return SL_OK;
}

static enum sl_status try(struct sl_trial *out, const struct sl_options *options, enum sl_setup_for use,
                          bool if_it_fits, int64_t most_bytes) {
  struct sl_setup setup;
  *out = (struct sl_trial){0};
  void *context;
  const sl_warn_sink before = sl_warn_get_sink(&context);
  sl_warn_set_sink(sl_warn_drop, NULL);
  enum sl_status status = sl_setup_job_within(&setup, options, use, most_bytes);
  if (status == SL_OK) {
    status = simulate(out, &setup, options, if_it_fits);
    sl_setup_free(&setup);
  }
  sl_warn_set_sink(before, context);
  return status;
}

enum sl_status sl_trial_run(struct sl_trial *out, const struct sl_options *options, enum sl_setup_for use) {
  return try(out, options, use, false, 0);
}

enum sl_status sl_trial_fit(struct sl_trial *out, const struct sl_options *options, int64_t most_bytes) {
  return try(out, options, SL_SETUP_SIMULATION, true, most_bytes);
}
