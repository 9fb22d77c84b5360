/* What of a block is not kept for its backward, which makes it again. */
#pragma once

#include "core/models/transformer.h"

/* How a value is made: what the policies of recomputation tell apart. */
enum sl_made {
  SL_MADE_OUTPUT, /* what the block hands on, and what stands outside blocks */
  SL_MADE_NORM,
  SL_MADE_PRODUCT,       /* the first, the third ... product of one input */
  SL_MADE_OTHER_PRODUCT, /* the ones between */
  SL_MADE_GATHERED,      /* a product's input, whole */
  SL_MADE_SUM,           /* the sum of partial products over the tp group */
  SL_MADE_SOFTMAX,       /* attention's probabilities, and what dropout makes of them */
  SL_MADE_ATTENTION,     /* its output */
  SL_MADE_ELEMENTWISE
};

/* What of a block of this layer is recomputed. */
enum sl_recompute sl_recompute_of(const struct sl_transformer *g, int layer);
/* Is what was made so forgotten when the forward of `layer` is over? `optional`: a backward can do without it. */
bool sl_recompute_forgets(const struct sl_transformer *g, int layer, enum sl_made made, bool optional);
