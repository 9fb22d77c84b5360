/* What lower_zero.c (binding, reduction, step) and lower_fetch.c (stage 3's gathers) share. */
#ifndef SL_CORE_LOWER_ZERO_H
#define SL_CORE_LOWER_ZERO_H

#include "core/lower.h"

/* A run of the flat gradient that is reduced by one call: placed tensors first..last. */
struct sl_bucket {
  int first, last;
  int64_t lo, count; /* elements of the flat space, padding included */
  bool alone;        /* holds one gradient of several contributions, in a buffer of its own */
  int turn;          /* which of the rotating bucket buffers */
  int32_t buffer;
  int ready; /* tensors complete, while lowering a backward */
};

struct sl_zero {
  struct sl_bucket *buckets;
  int bucket_count;
  int *bucket_of;          /* of each placed tensor */
  int *contributions;      /* gradient operands of each placed tensor in one backward */
  int *seen;               /* of those, how many the backward being lowered has had */
  struct sl_operand *wide; /* room for the operands of a coalesced call */
  struct sl_fetch *fetch;
};

/* An op on the compute lane / a collective on its group's lane, everything else at its default. */
struct sl_op sl_zero_op(enum sl_op_kind kind, enum sl_phase phase, int64_t count);
struct sl_op sl_zero_collective(const struct sl_lowering *lowering, enum sl_op_kind kind, enum sl_group group,
                                enum sl_phase phase, enum sl_payload payload, int64_t count);
/* Bind the logical operands of a draft and append it. `keep`: gradients add to what an earlier micro-batch left. */
enum sl_status sl_zero_bind(struct sl_lowering *lowering, struct sl_program *program, const struct sl_draft *draft,
                            bool keep);

/* Stage 3's parameters. A trace of one micro-batch's uses, forward then backward, decides as DeepSpeed's
 * PartitionedParameterCoordinator does what to gather before an op and what to let go after it. */
enum sl_status sl_fetch_open(struct sl_lowering *lowering);
void sl_fetch_close(struct sl_lowering *lowering);
/* Start of a forward; start of its backward (what the forward kept is still there). */
enum sl_status sl_fetch_begin(struct sl_lowering *lowering);
enum sl_status sl_fetch_resume(struct sl_lowering *lowering);
/* Append the gathers that `draft` and the prefetch window ask for; afterwards let go of what is not needed soon. */
enum sl_status sl_fetch_before(struct sl_lowering *lowering, struct sl_program *program, enum sl_phase phase,
                               const struct sl_draft *draft);
void sl_fetch_after(struct sl_lowering *lowering, const struct sl_draft *draft);
/* The buffer in which placed tensor `placed` stands whole right now. */
int32_t sl_fetch_buffer(const struct sl_lowering *lowering, int placed);
/* Gather the parameters that stay whole, after an update or initialisation. */
enum sl_status sl_fetch_persistent(struct sl_lowering *lowering, struct sl_program *program, enum sl_phase phase);

#endif
