/* A training's checkpoints: --checkpoint, --save-every, --keep and --resume of `measure`. */
#pragma once

#include "cli/options.h"
#include "cli/setup.h"
#include "core/checkpoint/load.h"
#include "core/checkpoint/save.h"
#include "core/run/executor.h"

struct sl_training {
  struct sl_checkpoint from; /* what the run goes on from */
  bool resumed;
  struct sl_saver *saver;               /* NULL: nothing is saved */
  const struct sl_recovered *recovered; /* NULL: nobody starts the job again; borrowed */
  double begun_s;                       /* calendar's clock: the first step began */
  struct sl_run_hooks hooks;
};

/* Before any rank starts: do the options go together, and is what they name there and of this job? Errors: SL_ERR_INPUT. */
enum sl_status sl_training_check(const struct sl_options *options, const struct sl_setup *setup);
/* What a job that is cut short may leave. */
void sl_training_name_outputs(const struct sl_options *options);
/* Of one rank. On failure nothing is held. */
enum sl_status sl_training_open(struct sl_training *training, const struct sl_options *options,
                                const struct sl_setup *setup);
void sl_training_close(struct sl_training *training); /* accepts a zeroed one */
/* What has been saved, as the record's "checkpoint", and "first_step" where the run was resumed. Collective, while `run` is open. */
enum sl_status sl_training_put(const struct sl_training *training, const struct sl_run *run, json_t *record);
/* The same of a prediction of `measure --save-every`. */
enum sl_status sl_training_predict(const struct sl_options *options, const struct sl_job *job, json_t *record);
/* What the run has to know: its first step, how many it takes, its first weights, its hooks. The training outlives the run. */
void sl_training_prepare(struct sl_training *training, struct sl_run *run);
