/* A stage's two ends: tokens and embedding, or what the stage before sends; head's loss, or what the next stage gets. */
#pragma once

#include "core/models/tape.h"

/* Tokens where the stage embeds them, targets where it has the loss; else 0. */
struct sl_batch {
  int tokens, targets;
};
struct sl_batch sl_load(struct sl_tape *tape);
/* Rows of table `wte`, and with wpe >= 0 of a table of positions; `stream`: they are the residual stream. The backward reads
 * tokens again. */
int sl_embedding(struct sl_tape *tape, int tokens, int wte, int wpe, bool stream);
/* The residual stream as the stage before sends it; x for the next stage. */
int sl_arrive(struct sl_tape *tape);
void sl_leave(struct sl_tape *tape, int x);
/* The fused loss: the logits become their own gradient, so the forward already ends with it. */
void sl_loss(struct sl_tape *tape, int logits, int targets);
