/* What the fast clock does not cover, named. */
#pragma once

#include "core/cluster/kernel_costs.h"
#include "core/plan/strategy.h"
#include "fast/fast.h"

enum sl_status sl_fast_refuse_inputs(const struct sl_model *model, const struct sl_config *config,
                                     const struct sl_cluster *cluster);
enum sl_status sl_fast_refuse_choice(const struct sl_model *model, const struct sl_config *config,
                                     const struct sl_cluster *cluster, const struct sl_fast_choice *choice);
enum sl_status sl_fast_refuse_strategy(const struct sl_strategy *strategy, const struct sl_config *config);
/* Messages of a pipeline run beside kernels of which the schedule knows only roughly which they are. */
enum sl_status sl_fast_refuse_messages(const struct sl_kernel_costs *costs, int pp);
/* Bytes that all ranks sum once a step. */
double sl_fast_agreed_bytes(void);
