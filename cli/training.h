/* Checkpoints of a training: --checkpoint, --save-every, --keep and --resume of `measure`. */
#pragma once

#include "cli/options.h"
#include "cli/setup.h"
#include "core/checkpoint/load.h"
#include "core/checkpoint/save.h"
#include "core/run/executor.h"

struct sl_training {
  struct sl_checkpoint from; /* what the run resumes from */
  bool resumed;
  struct sl_saver *saver;               /* NULL: nothing is saved */
  const struct sl_recovered *recovered; /* NULL: the job is not restarted; borrowed */
  double begun_s;                       /* time of day in seconds when the first step began */
  struct sl_run_hooks hooks;
};

/* Call before any rank starts: whether the options can be combined, and the checkpoints they name exist and belong to
 * this job. Errors: SL_ERR_INPUT. */
enum sl_status sl_training_check(const struct sl_options *options, const struct sl_setup *setup);
/* Names the files that an interrupted job may leave. */
void sl_training_name_outputs(const struct sl_options *options);
/* Call in each rank. On failure nothing stays open. */
enum sl_status sl_training_open(struct sl_training *training, const struct sl_options *options,
                                const struct sl_setup *setup);
void sl_training_close(struct sl_training *training); /* accepts a zeroed one */
/* Puts what has been saved into the record as "checkpoint", and "first_step" if the run was resumed. Collective, while
 * `run` is open. */
enum sl_status sl_training_put(const struct sl_training *training, const struct sl_run *run, json_t *record);
/* The same for a prediction of `measure --save-every`. */
enum sl_status sl_training_predict(const struct sl_options *options, const struct sl_job *job, json_t *record);
/* Sets the run's first step, number of steps, initial weights and hooks. The training must outlive the run. */
void sl_training_prepare(struct sl_training *training, struct sl_run *run);
