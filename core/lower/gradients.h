/* How the strategy keeps gradients and brings them to the optimizer: questions that the files of reduction and update ask. */
#pragma once

#include "core/lower/build.h"

/* Are gradients kept in shards? */
bool sl_gradients_sharded(const struct sl_lowering *lowering);
/* Does a call reduce the gradients of the group of `layout` at all? A shard is filled by its reduction even where it is the whole. */
bool sl_gradients_reduced(const struct sl_lowering *lowering, const struct sl_layout *layout);
/* Whole gradients that travel in another type than they are kept in go through bucket buffers too. */
bool sl_gradients_recast(const struct sl_lowering *lowering, const struct sl_layout *layout);
/* Only own parts of the whole gradient are reduced: what reads it looks there. */
bool sl_gradients_owned_in_flat(const struct sl_lowering *lowering);
/* Sums that travelled in another type are copied back whole. */
bool sl_gradients_copied_back(const struct sl_lowering *lowering);
/* Has an earlier backward of the step left something of this gradient? */
bool sl_gradients_kept(const struct sl_lowering *lowering, int placed);
