/* One run of the executor loop with its observers, ending in a record: what predict and measure share. */
#pragma once

#include "cli/options.h"
#include "cli/setup.h"
#include "cli/training.h"
#include "core/run/executor.h"

/* Run `exec` on the job of `setup` as the options say; `progress` (optional) is called after each step. On SL_OK
 * *record is a new reference (every process of the run has it) and *process says which process this is. */
struct sl_runner {
  const struct sl_exec_ops *exec;
  const struct sl_setup *setup;
  const struct sl_options *options;
  enum sl_command_bit command;
  const char *trace;
  int processes, process; /* of a measured run: from the launcher; 1 and 0 otherwise */
  void (*progress)(void *context, int64_t step, const struct sl_step_result *result);
  void (*evaluated)(void *context, const struct sl_eval_result *result); /* (optional) after each evaluation */
  void *progress_context;                                                /* of both */
  struct sl_training *training; /* (optional) what is resumed and saved; measure's */
  /* (optional) of each completion of this process's first rank, in every step: ops are timed then in all of them */
  void (*watch)(void *context, int64_t step, const struct sl_program *program, const struct sl_completion *done);
  void *watch_context;
};
enum sl_status sl_runner_run(const struct sl_runner *runner, json_t **record);

/* A few lines about a record for people. */
void sl_runner_summary(const json_t *record, FILE *out);
