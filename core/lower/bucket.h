/* Buckets of gradients: which tensors of a parameter group one call reduces together. */
#pragma once

#include "core/lower/build.h"

/* A range of the flat gradient in contiguous memory that is reduced by one call, alone or with the bucket before it:
 * placed tensors first..last of one parameter group. */
struct sl_bucket {
  int group;
  int first, last;
  int64_t lo, count; /* elements of the flat space, padding included */
  /* Own parts that are moved by their call arrive at element `arrival_at` of buffer `arrival`; they are elements
   * [arrival_first, arrival_first + arrival_count) of the shard. `passing`: host memory with the same layout, on the
   * way to NVMe. */
  int32_t arrival, passing;
  int64_t arrival_at, arrival_first, arrival_count;
  bool alone;     /* stays open while others come and go, so it has a buffer of its own */
  int turn;       /* which of the rotating bucket buffers */
  int32_t buffer; /* -1: reduced in place */
  bool joins;     /* reduced by the call of the bucket before it in the array, see join_last */
  int ready;      /* number of complete tensors, in the backward being lowered */
  bool launched;  /* in the backward being lowered */
};

/* Before drafts are lowered: the buffers of buckets that stand beside whole gradients. */
enum sl_status sl_bucket_open(struct sl_lowering *lowering);
/* The buffers of DeepSpeed's buckets beside whole gradients are allocated (`begin`), or are free again. */
enum sl_status sl_bucket_hold(struct sl_lowering *lowering, struct sl_program *program, bool begin);
/* Plans the buckets of all groups and their buffers, once the drafts of all stages exist. */
enum sl_status sl_bucket_plan(struct sl_lowering *lowering);
/* Per placed tensor: the number of gradient operands in one backward of the rank's stage `local`. */
int *sl_bucket_contributions(const struct sl_lowering *lowering, int local);
