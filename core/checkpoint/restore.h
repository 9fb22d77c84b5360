/* Resumes a run from a checkpoint. Its weights are the init program's initial weights (sl_exec_options.weights); hooks
 * of the run restore the rest. Collective. */
#pragma once

#include "core/checkpoint/load.h"
#include "core/run/executor.h"

/* For struct sl_run_hooks.opened: checks that all ranks have the same checkpoint, and verifies, a share on each rank,
 * what no rank will verify as it reads. */
enum sl_status sl_restore_opened(const struct sl_checkpoint *checkpoint, const struct sl_run *run);
/* For struct sl_run_hooks.started: restores the optimizer's moments, the state of fp8 and the step state, and completes the
 * verification. */
enum sl_status sl_restore_started(const struct sl_checkpoint *checkpoint, const struct sl_run *run);
/* The weights of the checkpoint, for the init program. An error is kept until all ranks agree on it; no step is taken
 * in between. */
struct sl_weight_source sl_restore_weights(const struct sl_checkpoint *checkpoint);
