/* Products take in the element-wise ops around them. */
#ifndef SL_CORE_MODELS_EPILOGUE_H
#define SL_CORE_MODELS_EPILOGUE_H

#include "core/lower/build.h"

/* Where the plan fuses epilogues: products of the stage at hand take in the ops that they can do. */
void sl_models_fuse_epilogues(struct sl_lowering *lowering);

#endif
