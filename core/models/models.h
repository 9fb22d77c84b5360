/* The builders of the families: drafts of what one micro-batch computes. They know no ZeRO and no placement. */
#ifndef SL_CORE_MODELS_MODELS_H
#define SL_CORE_MODELS_MODELS_H

#include "core/lower/build.h"

/* What one micro-batch computes on the chunk at hand, forward and backward. */
enum sl_status sl_lower_gpt2(struct sl_lowering *lowering);
enum sl_status sl_lower_llama(struct sl_lowering *lowering);
enum sl_status sl_lower_mlp(struct sl_lowering *lowering);

/* Where the plan fuses epilogues: products of the chunk at hand take in the ops that they can do (models/epilogue.c). */
void sl_lower_epilogues(struct sl_lowering *lowering);

#endif
