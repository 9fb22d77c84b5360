/* Inside core, the plan's part along the pipeline: plan.c calls these once degrees and batch are known. */
#pragma once

#include "core/plan/plan.h"

/* Opens the schedule, cuts the model's layers into its stages, and tells every pipeline rank its stages: fills
 * plan->schedule (compute actions), stages, stage_count, embed_ranks and stages[].stages. Errors: SL_ERR_INPUT. */
enum sl_status sl_plan_cut(struct sl_plan *plan);
/* Completes plan->schedule: unshards where parameters are sharded, reductions, transfers, and STEP at the end of each rank,
 * unless a schedule from a file has them. Errors: SL_ERR_INPUT, SL_ERR_CHECK. */
enum sl_status sl_plan_schedule(struct sl_plan *plan);
