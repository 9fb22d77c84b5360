/* Whether a training can go on from a checkpoint. */
#pragma once

#include "core/checkpoint/load.h"

/* Does it match this model, optimizer and seed? Of the model everything counts that changes what a step computes:
 * family, sizes, heads, rotary embedding, windows, activation, epsilon. Its name, dropout, initialisation and longest
 * sequence may differ: they are settings of the training. Errors: SL_ERR_INPUT with what differs. */
enum sl_status sl_checkpoint_fits(const struct sl_checkpoint *checkpoint, const struct sl_plan *plan);
/* Has it the state of fp8? A run in fp8 does without: its scales then begin with 1, as in a new training, which is what
 * Transformer Engine does with an empty extra state (2.20, pytorch/module/base.py, set_extra_state). */
bool sl_checkpoint_has_scales(const struct sl_checkpoint *checkpoint);
