/* The builders: drafts of what one micro-batch computes. They know no ZeRO and no placement. */
#pragma once

#include "core/lower/build.h"

/* What one micro-batch of the model computes on the stage at hand, forward and backward (families.c). */
enum sl_status sl_models_build(struct sl_lowering *lowering);

/* Of any family that reads tokens, and of an mlp. */
enum sl_status sl_models_decoder(struct sl_lowering *lowering);
enum sl_status sl_models_mlp(struct sl_lowering *lowering);
