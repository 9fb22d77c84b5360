/* LayerNorm and RMSNorm of the rows of the residual stream. */
#pragma once

#include "core/models/tape.h"

/* norm(x) with the weight at tensor `w`, a LayerNorm's bias behind it. */
int sl_norm(struct sl_tape *tape, int x, int w, const char *name, const char *gradient_name);
