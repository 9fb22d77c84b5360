/* Megatron-LM's --overlap-param-gather (core/distributed/distributed_data_parallel.py and param_and_grad_buffer.py of core 0.9): the
 * optimizer leaves a rank's own part of each bucket updated, and the next step's forward gathers the buckets. The first op that
 * reads a bucket's parameters waits for its gather, and sends the next bucket of the stage on its way (finish_param_sync). So a
 * bucket's gather runs beside what is computed with the bucket before; only a stage's first has nothing beside it.
 *
 * Between steps only a rank's own part of the parameters is up to date: SL_FORM_SHARD_IN_FLAT. */
#pragma once

#include "core/lower/build.h"

struct sl_ahead; /* which units the step has sent, and used */

enum sl_status sl_ahead_start(struct sl_lowering *lowering);
/* At a program's start: nothing has been sent. */
void sl_ahead_begin(struct sl_lowering *lowering);
void sl_ahead_stop(struct sl_lowering *lowering);
/* In the first forward of a stage, before the draft's op: the gathers that it waits for or that start with it. */
enum sl_status sl_ahead_before(struct sl_lowering *lowering, struct sl_program *program, const struct sl_draft *draft);
/* At the step's end. Errors: SL_ERR_INTERNAL: a unit that no forward has gathered. */
enum sl_status sl_ahead_check(const struct sl_lowering *lowering);
