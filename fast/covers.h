/* What the fast clock's formulas cover; all else is played as a whole (fast/whole.h). */
#pragma once

#include "core/cluster/kernel_costs.h"
#include "core/plan/strategy.h"
#include "fast/fast.h"

bool sl_fast_covers_inputs(const struct sl_model *model, const struct sl_config *config,
                           const struct sl_cluster *cluster);
/* Of one that sl_fast_check_choice lets pass. */
bool sl_fast_covers_choice(const struct sl_config *config, const struct sl_cluster *cluster,
                           const struct sl_kernel_costs *costs, const struct sl_fast_choice *choice);
bool sl_fast_covers_strategy(const struct sl_strategy *strategy, const struct sl_config *config);
/* Errors: SL_ERR_INPUT for what is no choice at all. */
enum sl_status sl_fast_check_choice(const struct sl_model *model, const struct sl_fast_choice *choice);
/* Bytes that all ranks sum once a step. */
double sl_fast_agreed_bytes(void);
