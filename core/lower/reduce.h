/* The reduction of gradients. */
#pragma once

#include "core/lower/bucket.h"
#include "core/lower/build.h"
#include "core/lower/zero.h"

/* What a kernel made of a gradient, and where it is: buffer -1: where the gradient is kept. */
struct sl_contribution {
  int placed;
  struct sl_operand made;
};

struct sl_reduce {
  struct sl_bucket *buckets; /* group by group */
  int bucket_count;
  int *bucket_of;      /* of each placed tensor */
  bool *alone;         /* of each placed tensor: its bucket shares no buffer; see bucket.c, find_alone */
  int *contributions;  /* per stage and placed tensor: gradient operands in one backward of the stage */
  int *seen;           /* per placed tensor: of those, how many the present backward has had */
  struct sl_pass pass; /* the present backward */
  size_t last_launch;  /* the last reduction's op, 0 = none */
  int32_t arrivals[2]; /* buffers of own parts that leave with their call, in turn */
  int32_t passing[2];  /* of each, the host memory on the way to NVMe, if they go there */
  int arrival_count, arrival_turn;
  size_t launched_end; /* ops of the program behind it and what goes with it */
  /* Of the present draft (bind.h): what its kernel writes, buffer -1 = in place. */
  struct sl_operand temporary[SL_MAX_OPERANDS];
  struct sl_contribution *waiting; /* for the end of the present backward */
  size_t waiting_count, waiting_capacity;
};

/* Gradient buffers. */
enum sl_status sl_reduce_open(struct sl_lowering *lowering);
/* Before programs are lowered. Buckets need the backward's drafts: they are planned at the first backward. */
enum sl_status sl_reduce_start(struct sl_lowering *lowering);
void sl_reduce_stop(struct sl_lowering *lowering);
/* A backward (or the W half of one) of the stage at hand starts. */
enum sl_status sl_reduce_begin(struct sl_lowering *lowering, struct sl_pass pass);
/* After the draft's op was appended: move temporaries on and launch every bucket whose last gradient it made. */
enum sl_status sl_reduce_after(struct sl_lowering *lowering, struct sl_program *program, const struct sl_draft *draft);
enum sl_status sl_reduce_end(struct sl_lowering *lowering, struct sl_program *program);
