/* The builders of the families: drafts of what one micro-batch computes. They know no ZeRO and no placement. */
#pragma once

#include "core/lower/build.h"

/* What one micro-batch computes on the stage at hand, forward and backward, by the model's family (families.c). */
enum sl_status sl_models_build(struct sl_lowering *lowering);

/* The families'. */
enum sl_status sl_models_gpt2(struct sl_lowering *lowering);
enum sl_status sl_models_llama(struct sl_lowering *lowering);
enum sl_status sl_models_mlp(struct sl_lowering *lowering);
