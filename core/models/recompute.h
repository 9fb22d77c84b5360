/* The policies of recomputation: which values of a block are not kept for its backward, which computes them again. */
#pragma once

#include "core/models/transformer.h"

/* How a value is computed, as far as the policies distinguish it. */
enum sl_made {
  SL_MADE_OUTPUT, /* the block's output, and everything outside blocks */
  SL_MADE_NORM,
  SL_MADE_PRODUCT,       /* the first, third ... product of one input */
  SL_MADE_OTHER_PRODUCT, /* the ones in between */
  SL_MADE_GATHERED,      /* a product's gathered input */
  SL_MADE_SHARED,        /* keys and values of all members of a cp group, which no policy keeps */
  SL_MADE_SUM,           /* the sum of partial products over the tp group */
  SL_MADE_SOFTMAX,       /* attention's probabilities, before or after dropout */
  SL_MADE_ATTENTION,     /* attention's output */
  SL_MADE_ELEMENTWISE
};

/* What a configuration recomputes in a block of this layer of the current stage. */
enum sl_recompute sl_recompute_asked(const struct sl_lowering *lowering, int layer);
/* The same where the block is computed: nothing outside blocks and where no backward follows. */
enum sl_recompute sl_recompute_of(const struct sl_transformer *g, int layer);
/* Is a value that is computed this way dropped after the forward of `layer`? `optional`: a backward can do without
 * it. */
bool sl_recompute_forgets(const struct sl_transformer *g, int layer, enum sl_made made, bool optional);
