/* Fuses element-wise ops into the products next to them. */
#pragma once

#include "core/lower/build.h"

/* Fuses the epilogues of the products of the current stage, if the plan says so. */
void sl_models_fuse_epilogues(struct sl_lowering *lowering);
