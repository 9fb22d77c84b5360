/* How a checkpoint becomes one: when the parts of all ranks are on the disk, one process writes the manifest and what Hugging Face's
 * readers want, holds the manifest against itself, and gives the folder its name. */
#pragma once

#include "core/checkpoint/part.h"
#include "core/config/loss_scale.h"

/* What a checkpoint says beside tensors. */
struct sl_snapshot {
  struct sl_step_state state; /* state.step steps have been taken */
  int64_t samples;            /* drawn from the data's order, of data_samples */
  int64_t data_samples;
  json_t *history; /* rank 0: of the steps (history.h); owned */
};

/* Wait for all ranks, and complete the checkpoint that `part`, of rank 0, belongs to: `folder`/step-N, and "latest" is this one. */
enum sl_status sl_checkpoint_complete(struct sl_part *part, const struct sl_snapshot *snapshot, const char *folder);
