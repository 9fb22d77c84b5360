/* A stage's two ends: embedding or what the stage before sends; head and loss. */
#pragma once

#include "core/models/transformer.h"

/* Makes g->x: from tokens in the model's first stage, else what the stage before sent. Reads targets in the last one. */
enum sl_status sl_transformer_begin(struct sl_transformer *g);
/* In the last stage: final norm, head, and the fused loss: the logits become their own gradient, so the forward already ends
 * with it. */
enum sl_status sl_transformer_head(struct sl_transformer *g);
/* In the last stage: makes g->dx, the gradient of the last block's output. */
enum sl_status sl_transformer_head_bwd(struct sl_transformer *g);
/* In the first stage: the embedding's gradients. */
enum sl_status sl_transformer_embedding_bwd(struct sl_transformer *g);
