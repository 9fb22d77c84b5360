/* Build, simulate, forget; see trial.h. */
#include "cli/trial.h"

#include "cli/setup.h"

static void keep_quiet(void *context, const char *text) {
  (void)context, (void)text;
}

static enum sl_status simulate(struct sl_trial *out, const struct sl_setup *setup) {
  SL_TRY(sl_predict_job(&out->prediction, &setup->job));
  const double tokens = (double)setup->plan.global_batch * (double)setup->plan.seq;
  out->global_batch = setup->plan.global_batch;
  out->tokens_per_s = out->prediction.step_s > 0 ? tokens / out->prediction.step_s : 0;
  return SL_OK;
}

enum sl_status sl_trial_run(struct sl_trial *out, const struct sl_options *options) {
  struct sl_setup setup;
  *out = (struct sl_trial){0};
  sl_warn_set_sink(keep_quiet, NULL);
  enum sl_status status = sl_setup_job(&setup, options, true);
  if (status == SL_OK) {
    status = simulate(out, &setup);
    sl_setup_free(&setup);
  }
  sl_warn_set_sink(NULL, NULL);
  return status;
}
