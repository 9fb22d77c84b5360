/* What a run says of itself while it goes on, on rank 0: a line on a terminal, lines of text, and the monitors of the config.
 *
 *   a terminal             "step 3 of 20, loss 4.8, 6.1k tokens/s, mfu 13.9 %, 1.2 s left", written over and over
 *   steps_per_print N      the same as a line of its own after every N steps, with the learning rate and the steps that were
 *                          skipped so far, wherever text goes
 *   --epochs               a line with the mean loss of each
 *   an evaluation          "step 20 of 100, validation loss 4.7, 83 ms", a line
 *   csv_monitor,           Train/Samples/train_loss, /lr, and in fp16 /loss_scale, after each step, by the samples so far, and Validation/Samples/val_loss after each evaluation; as in
 *   tensorboard            DeepSpeed, lr and loss_scale are those that the next step has */
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
  int64_t steps;      /* of the training, from its start */
  int64_t first;      /* step of this run ... */
  double first_s;     /* ... and when it ended, 0 before: it warms up, so rates count from there */
  double flops_per_s; /* of all ranks' devices at their peak; 0: not known */
  double flops;       /* of a step */
  bool live;
  int64_t epoch_steps; /* 0: the run goes by steps */
  double epoch_loss;   /* summed since the epoch began */
  int64_t applied;     /* steps that were not skipped */
  FILE *out;           /* where lines go; NULL: nowhere */
  struct sl_monitor *monitor;
  struct sl_phases phases;
  struct sl_comm_log comms;
  struct sl_flops profile;
  enum sl_status status; /* of the first write that failed */
};

/* In the environment of ranks: a terminal stands behind their standard error, which is a pipe. */
extern const char *const sl_progress_terminal;

/* For rank 0 of a run; `from`: what it goes on from, NULL where it begins. Errors: of sl_monitor_open. */
enum sl_status sl_progress_open(struct sl_progress *progress, const struct sl_options *options,
                                const struct sl_setup *setup, int64_t epoch_steps, const struct sl_step_state *from);
/* After each step, as sl_run.progress; `context` is the progress. */
void sl_progress_step(void *context, int64_t step, const struct sl_step_result *result);
/* After each evaluation, as sl_run.evaluated. */
void sl_progress_evaluated(void *context, const struct sl_eval_result *result);
/* For each completion of rank 0, as sl_runner.watch, where sl_progress_watches. */
void sl_progress_op(void *context, int64_t step, const struct sl_program *program, const struct sl_completion *done);
bool sl_progress_watches(const struct sl_progress *progress);
/* What is told of a run as a whole; its flops profile goes into the record, too. */
enum sl_status sl_progress_end(struct sl_progress *progress, json_t *record);
/* At the end, however it came. The status of the first write that failed, whose message stands. */
enum sl_status sl_progress_close(struct sl_progress *progress);
