/* A run that goes on from a checkpoint. Its weights are the init program's initial weights (sl_exec_options.weights);
 * the rest is done by hooks of the run. Collective. */
#pragma once

#include "core/checkpoint/load.h"
#include "core/run/executor.h"

/* struct sl_run_hooks.opened: all ranks have the same checkpoint before them, and have verified what none of them will verify as it
 * reads it, each a share. */
enum sl_status sl_restore_opened(const struct sl_checkpoint *checkpoint, const struct sl_run *run);
/* struct sl_run_hooks.started: the optimizer's moments and the step state are the checkpoint's, and all of it has been verified. */
enum sl_status sl_restore_started(const struct sl_checkpoint *checkpoint, const struct sl_run *run);
/* Weights of the checkpoint, for the init program. An error is kept until all ranks agree on it; no step is taken in between. */
struct sl_weight_source sl_restore_weights(const struct sl_checkpoint *checkpoint);
