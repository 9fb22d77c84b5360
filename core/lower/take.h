/* Whole sums of the buckets of sharded gradients. */
#pragma once

#include "core/lower/bucket.h"

/* Sums call[0 .. buckets) of a flat partition by the all-reduce `sum`, and takes this member's own parts of the sums. */
enum sl_status sl_take_own(struct sl_lowering *lowering, struct sl_program *program, const struct sl_bucket *call,
                           int buckets, struct sl_op sum);
