/* Which configurations the fast clock's formulas cover. All others are simulated as whole steps (fast/whole.h). */
#pragma once

#include "core/cluster/kernel_costs.h"
#include "core/plan/strategy.h"
#include "fast/fast.h"

bool sl_fast_covers_inputs(const struct sl_model *model, const struct sl_config *config,
                           const struct sl_cluster *cluster);
/* For a choice that sl_fast_check_choice accepts. */
bool sl_fast_covers_choice(const struct sl_config *config, const struct sl_cluster *cluster,
                           const struct sl_kernel_costs *costs, const struct sl_fast_choice *choice);
bool sl_fast_covers_strategy(const struct sl_strategy *strategy, const struct sl_config *config);
/* Checks that a choice is valid. Errors: SL_ERR_INPUT. */
enum sl_status sl_fast_check_choice(const struct sl_model *model, const struct sl_fast_choice *choice);
/* The bytes of the all-reduce over all ranks (loss, squares and flags) in each step. */
double sl_fast_agreed_bytes(void);
