/* What is added to the residual stream. */
#pragma once

#include "core/models/tape.h"

/* The branches that add to it, each a dropout site. */
enum sl_branch { SL_BRANCH_ATTENTION, SL_BRANCH_MLP };
/* from + dropout(x + bias): `bias`, a tensor or -1, of the row-parallel product that made x, where it left that out. With `last`
 * it is what the block hands on. */
int sl_residual_add(struct sl_tape *tape, enum sl_branch branch, int from, int x, int bias, const char *name,
                    bool last);
