/* Buckets of gradients: which tensors of a parameter group one call reduces. */
#pragma once

#include "core/lower/build.h"

/* A run of the flat gradient in one stretch of memory, that one call reduces, alone or with the bucket before it: placed
 * tensors first..last of one parameter group. */
struct sl_bucket {
  int group;
  int first, last;
  int64_t lo, count; /* elements of the flat space, padding included */
  /* Own parts that leave with their call arrive at element `arrival_at` of buffer `arrival`; they are elements
   * [arrival_first, arrival_first + arrival_count) of the shard. `passing`: host memory, laid out alike, on the way to NVMe. */
  int32_t arrival, passing;
  int64_t arrival_at, arrival_first, arrival_count;
  bool alone;     /* stands open while others come and go, so it has a buffer of its own */
  int turn;       /* which of the rotating bucket buffers */
  int32_t buffer; /* -1: reduced in place */
  bool joins;     /* reduced by the call of the bucket before it in the array; see join_last */
  int ready;      /* tensors complete, in the backward being lowered */
  bool launched;  /* in the backward being lowered */
};

/* The buckets of all groups and their buffers, once the drafts of all stages are there. */
enum sl_status sl_bucket_plan(struct sl_lowering *lowering);
/* Per placed tensor: gradient operands in one backward of the rank's stage `local`. */
int *sl_bucket_contributions(const struct sl_lowering *lowering, int local);
