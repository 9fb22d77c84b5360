/* The builders, which draft what one micro-batch of a model computes. They know nothing of ZeRO or of placement; the
 * lowering (core/lower) adds those. */
#pragma once

#include "core/lower/build.h"

/* Drafts forward and backward of one micro-batch on the current stage (families.c). */
enum sl_status sl_models_build(struct sl_lowering *lowering);

/* The builder of all families that read tokens, and that of the mlp. */
enum sl_status sl_models_decoder(struct sl_lowering *lowering);
enum sl_status sl_models_mlp(struct sl_lowering *lowering);
