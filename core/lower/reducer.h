/* The copies of DDP's reducer, whose buckets stand beside the gradients (sl_strategy.copies_to_buckets). */
#pragma once

#include "core/lower/bucket.h"

/* Copies the gradients of a complete bucket there, in the communicated type. */
enum sl_status sl_reducer_copy_in(struct sl_lowering *lowering, struct sl_program *program,
                                  const struct sl_bucket *bucket);
/* At the end of a backward: copies the sums of all buckets that it has reduced back to the gradients, each as soon as
 * it is there. Compute thus waits for all reductions. */
enum sl_status sl_reducer_copy_back(struct sl_lowering *lowering, struct sl_program *program);
