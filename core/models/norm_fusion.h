/* Fuses the residual stream's additions into the norms next to them. */
#pragma once

#include "core/lower/build.h"

/* Fuses what the norms of the current stage can take in, if the plan says so. */
void sl_models_fuse_norms(struct sl_lowering *lowering);
