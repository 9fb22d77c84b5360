/* What rank 0 reports while a run goes on: a line on a terminal, lines of text, and the monitors of the config.
 *
 *   a terminal         "step 3 of 20, loss 4.8, 6.1k tokens/s, mfu 13.9 %, 1.2 s left", overwritten by each step
 *   steps_per_print N  the same as a separate line after every N steps, with the learning rate and the number of
 *                      skipped steps so far, wherever text goes
 *   --epochs           a line with the mean loss of each epoch
 *   an evaluation      a line: "step 20 of 100, validation loss 4.7, 83 ms"
 *   csv_monitor,       after each step Train/Samples/train_loss, /lr, and in fp16 /loss_scale, by the number of samples
 *   tensorboard        so far, and after each evaluation Validation/Samples/val_loss; as in DeepSpeed, lr and
 *                      loss_scale are those of the next step */
#pragma once

#include "cli/flops.h"
#include "cli/options.h"
#include "cli/setup.h"
#include "core/monitor/monitor.h"
#include "core/program/step_state.h"
#include "core/run/comm_log.h"
#include "core/run/executor.h"
#include "core/run/phases.h"

struct sl_progress {
  const struct sl_setup *setup;
  int64_t steps;      /* of the training, counted from its start */
  int64_t first;      /* the first step of this run ... */
  double first_s;     /* ... and when it ended (0 before that): it is a warm-up, so rates are counted from there */
  double flops_per_s; /* peak of all ranks' devices; 0: not known */
  double flops;       /* of a step */
  bool live;
  int64_t epoch_steps; /* 0: the run is given in steps */
  double epoch_loss;   /* sum since the epoch began */
  int64_t applied;     /* steps that were not skipped */
  FILE *out;           /* where lines go; NULL: nowhere */
  struct sl_monitor *monitor;
  struct sl_phases phases;
  struct sl_comm_log comms;
  struct sl_flops profile;
  enum sl_status status; /* of the first write that failed */
};

/* Set in the environment of ranks whose standard error is a pipe to a terminal; of calibrate, to its round. */
extern const char *const sl_progress_terminal;

/* For rank 0 of a run. `from`: the state that the run resumes from, NULL if it starts anew. Errors: those of
 * sl_monitor_open. */
enum sl_status sl_progress_open(struct sl_progress *progress, const struct sl_options *options,
                                const struct sl_setup *setup, int64_t epoch_steps, const struct sl_step_state *from);
/* Called after each step, as sl_run.progress; `context` is the progress. */
void sl_progress_step(void *context, int64_t step, const struct sl_step_result *result);
/* Called after each evaluation, as sl_run.evaluated. */
void sl_progress_evaluated(void *context, const struct sl_eval_result *result);
/* Called for each completion of rank 0, as sl_runner.watch, if sl_progress_watches returns true. */
void sl_progress_op(void *context, int64_t step, const struct sl_program *program, const struct sl_completion *done);
bool sl_progress_watches(const struct sl_progress *progress);
/* Reports on the run as a whole; its flops profile is also put into the record. */
enum sl_status sl_progress_end(struct sl_progress *progress, json_t *record);
/* Call at the end, whether or not the run succeeded. Returns the status of the first write that failed; its message is
 * still set. */
enum sl_status sl_progress_close(struct sl_progress *progress);
