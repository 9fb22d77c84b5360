/* Products take in the element-wise ops around them. */
#pragma once

#include "core/lower/build.h"

/* Where the plan fuses epilogues: products of the stage at hand take in the ops that they can do. */
void sl_models_fuse_epilogues(struct sl_lowering *lowering);
