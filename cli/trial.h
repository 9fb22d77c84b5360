/* A configuration beside the one that was asked for: its programs are built, and a step of them is simulated. What searches, sweeps
 * and the advice of a verdict have in common. */
#pragma once

#include "cli/options.h"
#include "table/predict.h"

struct sl_trial {
  struct sl_prediction prediction;
  double tokens_per_s;
  int64_t global_batch; /* sequences of a step */
};

/* Warnings are not heard. Errors: what a prediction of these options fails with; the message is there, too. */
enum sl_status sl_trial_run(struct sl_trial *out, const struct sl_options *options);
/* The same for those who only keep what fits: of a job that does not, the prediction may have its memory alone. */
enum sl_status sl_trial_fit(struct sl_trial *out, const struct sl_options *options);
/* Does it fit, as its verdict would have it? */
static inline bool sl_trial_fits(const struct sl_trial *trial) {
  return trial->prediction.spaces.fits;
}
/* What it needs of the device: peak, context and reserve. */
static inline int64_t sl_trial_need(const struct sl_trial *trial) {
  return trial->prediction.spaces.space[SL_SPACE_DEVICE].need_bytes;
}
