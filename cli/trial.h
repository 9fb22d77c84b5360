/* A variant of the requested configuration: its programs are built and one step is simulated, under what --jitter,
 * --straggler, --share-links and --nccl-algo assume. Used by searches, sweeps and the advice of a verdict. */
#pragma once

#include "cli/setup.h"
#include "table/predict.h"

struct sl_trial {
  struct sl_prediction prediction;
  double tokens_per_s;
  int64_t global_batch; /* sequences per step */
};

/* `use`: whether others simulate beside this (cli/setup.h). Warnings are suppressed. Errors: those of a prediction with
 * these options, including the message. */
enum sl_status sl_trial_run(struct sl_trial *out, const struct sl_options *options, enum sl_setup_for use);
/* The same for callers that only keep what fits: the prediction of a job that does not fit may have only its memory,
 * and one that is known to need more than `most_bytes` of the device, if that is above 0, is none, but SL_DONE. */
enum sl_status sl_trial_fit(struct sl_trial *out, const struct sl_options *options, int64_t most_bytes);
/* Whether it fits, by the same rule as a verdict. */
static inline bool sl_trial_fits(const struct sl_trial *trial) {
  return trial->prediction.spaces.fits;
}
/* The device memory that it needs: peak, context and reserve. */
static inline int64_t sl_trial_need(const struct sl_trial *trial) {
  return trial->prediction.spaces.space[SL_SPACE_DEVICE].need_bytes;
}
