/* How the strategy keeps gradients and brings them to the optimizer: questions shared by the files of reduction and
 * update. */
#pragma once

#include "core/lower/build.h"

/* Are gradients kept in shards? */
bool sl_gradients_sharded(const struct sl_lowering *lowering);
/* Is the group of `layout` reduced by a call at all? A shard is filled by its reduction even if it is the whole. */
bool sl_gradients_reduced(const struct sl_lowering *lowering, const struct sl_layout *layout);
/* The type of a bucket of sharded gradients: the communicated one, or that which it is cast from. */
enum sl_dtype sl_gradients_bucket_dtype(const struct sl_lowering *lowering);
/* Do own parts come to memory of their own in all but the first backward of a step, to be added when that is over? */
bool sl_gradients_added_later(const struct sl_lowering *lowering);
/* Are whole gradients communicated in another type than they are kept in? They then use bucket buffers too. */
bool sl_gradients_recast(const struct sl_lowering *lowering, const struct sl_layout *layout);
/* Are whole gradients reduced in bucket buffers: in another type, by DDP's reducer, or flat (reduces_apart)? */
bool sl_gradients_in_buckets(const struct sl_lowering *lowering, const struct sl_layout *layout);
/* Is only a member's own part of the whole gradient reduced? Its readers then use that part. */
bool sl_gradients_owned_in_flat(const struct sl_lowering *lowering);
/* Are whole sums that were communicated in another type copied back? */
bool sl_gradients_copied_back(const struct sl_lowering *lowering);
/* Has an earlier backward of the step left part of this gradient? */
bool sl_gradients_kept(const struct sl_lowering *lowering, int placed);
/* Divides the buffer of whole gradients that was just made into pieces, if a framework allocates them tensor by
 * tensor: a piece for each placed tensor, as far as SL_ALIGN allows. */
enum sl_status sl_gradients_cut(struct sl_lowering *lowering);
/* How long the buffer of gradients stands. */
enum sl_scope sl_gradients_scope(const struct sl_lowering *lowering);
