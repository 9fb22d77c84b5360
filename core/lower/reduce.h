/* The reduction of gradients. */
#pragma once

#include "core/lower/bucket.h"
#include "core/lower/build.h"
#include "core/lower/zero.h"

/* A gradient that a kernel has written, and where it is; buffer -1: where the gradient is kept. */
struct sl_contribution {
  int placed;
  struct sl_operand made;
};

/* call[0 .. buckets) of a reduction; 0: none. */
struct sl_arrived_call {
  struct sl_bucket *call;
  int buckets;
};

struct sl_reduce {
  struct sl_bucket *buckets; /* group by group */
  int bucket_count;
  int *bucket_of;      /* of each placed tensor */
  bool *alone;         /* of each placed tensor: its bucket shares no buffer, see bucket.c, find_alone */
  int *contributions;  /* per stage and placed tensor: number of gradient operands in one backward of the stage */
  int *seen;           /* per placed tensor: how many of them the current backward has had */
  struct sl_pass pass; /* the current backward */
  size_t last_launch;  /* the last reduction's op, 0 = none */
  int32_t arrivals[2]; /* buffers of own parts that go to host memory by their call, in turn */
  struct sl_arrived_call arrived[2]; /* for each turn, the call whose parts have not been moved to the shard */
  int32_t passing[2];                /* for each, the host memory on the way to NVMe, if they go there */
  int arrival_count, arrival_turn;
  size_t launched_end; /* end of the ops of the last reduction and what belongs to it */
  /* For the current draft (bind.h): what its kernel writes, buffer -1 = in place. */
  struct sl_operand temporary[SL_MAX_OPERANDS];
  struct sl_contribution *waiting; /* until the end of the current backward */
  size_t waiting_count, waiting_capacity;
};

/* Gradient buffers. */
enum sl_status sl_reduce_open(struct sl_lowering *lowering);
/* Called before programs are lowered. Buckets need the backward's drafts, so they are planned at the first backward. */
enum sl_status sl_reduce_start(struct sl_lowering *lowering);
void sl_reduce_stop(struct sl_lowering *lowering);
/* A backward (or the W half of one) of the current stage starts. */
enum sl_status sl_reduce_begin(struct sl_lowering *lowering, struct sl_program *program, struct sl_pass pass);
/* Called after the draft's op was appended: moves temporaries to where gradients are kept, and reduces every bucket
 * whose last gradient the op wrote. */
enum sl_status sl_reduce_after(struct sl_lowering *lowering, struct sl_program *program, const struct sl_draft *draft);
enum sl_status sl_reduce_end(struct sl_lowering *lowering, struct sl_program *program);
