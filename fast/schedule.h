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
/* Whether every message takes at most half as long as an action of the ranks at its two ends. Only then does none wait
 * for the message before it, nor for a buffer that it is received into, which was sent from before: neither this nor
 * sl_fast_sum_pipeline knows of that. (Of two messages that share a buffer, one comes in and one goes out.) */
bool sl_fast_messages_keep_up(const struct sl_fast_pipeline *pipeline);
/* Whether what reductions and collectives of tensor parallelism do to each other (fast/reduce.h) makes no difference to
 * a step of `seconds`. */
bool sl_fast_hides_little(const struct sl_fast_pipeline *pipeline, double seconds);
