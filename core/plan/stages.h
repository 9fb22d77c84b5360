/* The plan along the pipeline: layers to stages, stages to ranks, and the schedule. plan.c calls these once degrees and
 * batch are known. Internal to core. */
#pragma once

#include "core/plan/plan.h"

/* Opens the schedule, divides the model's layers among its stages, and assigns the stages to pipeline ranks. Fills
 * plan->schedule (compute actions), stages, stage_count, embed_ranks and the stages of every pp rank. Errors:
 * SL_ERR_INPUT. */
enum sl_status sl_plan_cut(struct sl_plan *plan);
/* Completes plan->schedule: unshards where parameters are sharded, reductions, sends and receives, and a STEP at the
 * end of each rank, unless a schedule from a file already has them. Errors: SL_ERR_INPUT, SL_ERR_CHECK. */
enum sl_status sl_plan_schedule(struct sl_plan *plan);
