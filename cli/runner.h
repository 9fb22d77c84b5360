/* Runs the executor loop with its observers and produces a record; predict and measure share it. */
#pragma once

#include "cli/options.h"
#include "cli/setup.h"
#include "cli/training.h"
#include "core/run/executor.h"

/* sl_runner_run runs `exec` on the job of `setup`; `progress` (optional) is called after each step. On SL_OK *record is
 * a new reference, in every process of the run. */
struct sl_runner {
  const struct sl_exec_ops *exec;
  const struct sl_setup *setup;
  const struct sl_options *options;
  enum sl_command_bit command;
  const char *trace;
  int processes, process; /* of a measured run: from the launcher; otherwise 1 and 0 */
  void (*progress)(void *context, int64_t step, const struct sl_step_result *result);
  void (*evaluated)(void *context, const struct sl_eval_result *result); /* (optional) after each evaluation */
  void *progress_context;                                                /* for both callbacks */
  struct sl_training *training; /* (optional) for resuming and saving; only used by measure */
  /* (optional) called for each completion of this process's first rank, in every step; ops are then timed in all
   * steps */
  void (*watch)(void *context, int64_t step, const struct sl_program *program, const struct sl_completion *done);
  void *watch_context;
};
enum sl_status sl_runner_run(const struct sl_runner *runner, json_t **record);

/* Prints a few lines about a record for people. */
void sl_runner_summary(const json_t *record, FILE *out);
