/* Megatron-LM's --overlap-param-gather (core/distributed/distributed_data_parallel.py and param_and_grad_buffer.py of
 * core 0.9). The optimizer updates only a rank's own part of each bucket, and the next step's forward gathers the
 * buckets. The first op that reads a bucket's parameters waits for its gather and starts that of the stage's next
 * bucket (finish_param_sync), so a gather overlaps with the compute of the bucket before; only a stage's first gather
 * overlaps with nothing.
 *
 * Between steps only a rank's own part of the parameters is up to date: SL_FORM_SHARD_IN_FLAT. */
#pragma once

#include "core/lower/build.h"

struct sl_ahead; /* which units the step has gathered and used */

enum sl_status sl_ahead_start(struct sl_lowering *lowering);
/* At the start of a program: nothing has been gathered. */
void sl_ahead_begin(struct sl_lowering *lowering);
void sl_ahead_stop(struct sl_lowering *lowering);
/* In the first forward of a stage, before the draft's op: emits the gathers that it waits for or that start with it. */
enum sl_status sl_ahead_before(struct sl_lowering *lowering, struct sl_program *program, const struct sl_draft *draft);
/* At the end of the step. Errors: SL_ERR_INTERNAL: no forward has gathered some unit. */
enum sl_status sl_ahead_check(const struct sl_lowering *lowering);
