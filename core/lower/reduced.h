/* Reduced gradients: where they arrive, and how they get from there to where they are kept. */
#pragma once

#include "core/lower/bucket.h"

/* Do own parts arrive in the flat gradient, where they were summed? */
bool sl_reduced_in_place(const struct sl_lowering *lowering);
/* Where this member's part of `unit` arrives, of `bucket` of it. */
struct sl_operand sl_reduced_arriving(const struct sl_lowering *lowering, const struct sl_bucket *bucket,
                                      const struct sl_unit *unit);
/* For own parts that arrive in a buffer of their call (homes->by_call): makes the buffers, once buckets are planned;
 * before call[0 .. buckets) moves to the shard what an earlier call has left; and after it moves what goes on at once,
 * to host memory or on the lane of the reduction. */
enum sl_status sl_reduced_plan(struct sl_lowering *lowering);
enum sl_status sl_reduced_open_call(struct sl_lowering *lowering, struct sl_program *program, struct sl_bucket *call,
                                    int buckets);
enum sl_status sl_reduced_call(struct sl_lowering *lowering, struct sl_program *program);
/* Behind the all-reduce `sum` of `bucket`, if that was communicated in another type: copies it back to where it was
 * cast from, on the lane of the sum, so that the bucket's buffer is free for the next one (DeepSpeed's stage_1_and_2.py,
 * allreduce_bucket). Compute waits for the copy if it waits for the sum. */
enum sl_status sl_reduced_back(struct sl_lowering *lowering, struct sl_program *program, const struct sl_bucket *bucket,
                               const struct sl_op *sum);
/* At the end of a backward: moves own parts to where they are kept. */
enum sl_status sl_reduced_store(struct sl_lowering *lowering, struct sl_program *program);
