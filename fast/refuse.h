/* What the fast clock does not cover, named. */
#ifndef SL_FAST_REFUSE_H
#define SL_FAST_REFUSE_H

#include "core/plan/strategy.h"
#include "fast/fast.h"

enum sl_status sl_fast_refuse_inputs(const struct sl_model *model, const struct sl_config *config,
                                     const struct sl_cluster *cluster);
enum sl_status sl_fast_refuse_choice(const struct sl_model *model, const struct sl_cluster *cluster,
                                     const struct sl_fast_choice *choice);
enum sl_status sl_fast_refuse_strategy(const struct sl_strategy *strategy, const struct sl_config *config);
/* Bytes that all ranks sum once a step. */
double sl_fast_agreed_bytes(void);

#endif
