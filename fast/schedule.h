/* Runs the actions of all stages in the order of a schedule: when each stage ends its last backward. */
#pragma once

#include "core/base/status.h"
#include "fast/fast.h"
#include "fast/stage.h"

enum { SL_FAST_MAX_STAGES = SL_MAX_STAGES };

struct sl_fast_pipeline {
  enum sl_fast_schedule schedule;
  int stages;
  int64_t micro_batches;
  const struct sl_fast_stage_cost *const *stage; /* (stages) */
  double slow;            /* the share of their speed that kernels lose while a message is sent */
  const double *transfer; /* (stages - 1): seconds of a message from a stage to the next, or back */
};

/* ends[s]: seconds from the start of the step to the end of the last backward of stage s. */
/* hosts[s]: when the host of stage s has launched it. `hosts` may be NULL. */
enum sl_status sl_fast_run_pipeline(const struct sl_fast_pipeline *pipeline, double *ends, double *hosts);
/* Whether every message is over before the ranks at its two ends have done another action. Only then does none wait for
 * the message before it, nor for a buffer that it is received into, as neither this nor sl_fast_sum_pipeline knows. */
bool sl_fast_messages_keep_up(const struct sl_fast_pipeline *pipeline);
