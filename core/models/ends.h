/* The two ends of a stage: tokens and embedding, or the input from the preceding stage; the loss, or the output for the
 * next stage. */
#pragma once

#include "core/models/tape.h"

/* Tokens if the stage has the embedding, targets if it has the loss; otherwise 0. */
struct sl_batch {
  int tokens, targets;
};
struct sl_batch sl_load(struct sl_tape *tape);
/* The sum of rows of table `wte` and, with wpe >= 0, of a table of positions; `stream`: the result is the residual
 * stream. The backward reads the tokens again. */
int sl_embedding(struct sl_tape *tape, int tokens, int wte, int wpe, bool stream);
/* The residual stream received from the preceding stage; x is sent to the next stage. */
int sl_arrive(struct sl_tape *tape);
void sl_leave(struct sl_tape *tape, int x);
/* The fused loss: the logits are overwritten by their gradient, so the forward ends with it. */
void sl_loss(struct sl_tape *tape, int logits, int targets);
