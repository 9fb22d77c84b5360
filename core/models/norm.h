/* LayerNorm and RMSNorm. The weight is tensor `weight`; a LayerNorm's bias follows it, unless the form has none. */
#pragma once

#include "core/models/tape.h"

/* Normalises the rows of the residual stream; the result is the input of a branch ... */
int sl_norm(struct sl_tape *tape, int x, int weight, const char *name, const char *gradient_name);
/* ... or the stream itself. */
int sl_stream_norm(struct sl_tape *tape, int x, int weight, const char *name, const char *gradient_name);
/* RMSNorm of each of a token's `heads` equal parts separately. */
int sl_head_norm(struct sl_tape *tape, int x, int weight, int64_t heads, const char *name, const char *gradient_name);
