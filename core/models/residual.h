/* Additions to the residual stream. */
#pragma once

#include "core/models/tape.h"

/* The branches that are added to it, each with its own dropout stream. */
enum sl_branch { SL_BRANCH_ATTENTION, SL_BRANCH_MLP };
/* Computes from + dropout(x + bias). `bias` is a tensor, or -1, of the row-parallel product that computed x without
 * adding it. With `last` the result is the block's output. */
int sl_residual_add(struct sl_tape *tape, enum sl_branch branch, int from, int x, int bias, const char *name,
                    bool last);
