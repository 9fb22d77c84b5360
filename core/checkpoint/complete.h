/* Completes a checkpoint. When the parts of all ranks are on the disk, one process writes the manifest and the files
 * that Hugging Face's readers need, checks the manifest, and gives the folder its name. */
#pragma once

#include "core/checkpoint/part.h"
#include "core/config/loss_scale.h"

/* What a checkpoint contains besides tensors. */
struct sl_snapshot {
  struct sl_step_state state; /* state.step is the number of steps taken */
  int64_t samples;            /* drawn from the data's order, of data_samples */
  int64_t data_samples;
  json_t *history; /* rank 0: of the steps (history.h); owned */
  const char *job; /* that writes it (owner.h); borrowed */
};

/* Waits for all ranks, completes the checkpoint that `part`, of rank 0, belongs to as `folder`/step-N, and makes it the
 * "latest". */
enum sl_status sl_checkpoint_complete(struct sl_part *part, const struct sl_snapshot *snapshot, const char *folder);
