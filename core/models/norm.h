/* LayerNorm and RMSNorm: with the weight at tensor `weight`, a LayerNorm's bias behind it unless the form has none. */
#pragma once

#include "core/models/tape.h"

/* Of the rows of the residual stream; what it gives is a branch's ... */
int sl_norm(struct sl_tape *tape, int x, int weight, const char *name, const char *gradient_name);
/* ... or the stream itself. */
int sl_stream_norm(struct sl_tape *tape, int x, int weight, const char *name, const char *gradient_name);
/* RMSNorm of each of a token's `heads` equal parts by itself. */
int sl_head_norm(struct sl_tape *tape, int x, int weight, int64_t heads, const char *name, const char *gradient_name);
