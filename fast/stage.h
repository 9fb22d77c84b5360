/* A pipeline stage of n blocks, as the schedule sees it: what its actions take, what its data-parallel traffic leaves exposed,
 * what it keeps. */
#pragma once

#include "core/plan/strategy.h"
#include "fast/sample.h"

/* What the stages of a step have in common. */
struct sl_fast_setting {
  const struct sl_cluster *cluster;
  const struct sl_cost_rank *rank;
  const struct sl_config *config; /* the effective one: types, buckets */
  struct sl_strategy strategy;
  int tp, dp;
  bool pipeline;
};

/* Seconds, as in struct sl_fast_action. */
struct sl_fast_timed {
  double end, end_arrived, end_hosted, out, out_arrived, out_hosted;
  double host, host_arrived; /* of the host: for all of it, and from the input on */
};

struct sl_fast_stage_cost {
  struct sl_fast_timed forward, first,
      next; /* first: the backward of the first micro-batch; next: of one of the others */
  double bare_forward, bare_first, bare_next; /* the same to the end, were tensor parallelism's collectives free */
  /* Of the last backward of a step, where it is one of the others, and where it is the only one: */
  struct sl_fast_timed last[2]; /* with what its reductions hold up */
  double tail[2];               /* from its end to the end of the last reduction and of what follows that */
  double tied_tail[2];          /* to the end of a tied embedding's own reduction; may be before it */
  double norm;                  /* from there to what all ranks agree on */
  double control;
  double host, host_norm; /* of the host, for norm, control and update; for the norm */
  double update;          /* the optimizer's */
  double gather;          /* of updated parameters */
  double
      tied_bytes; /* of the gradient of an embedding that two pipeline ranks hold, summed over both; 0: there is none */
  int64_t numel, part; /* parameters of the rank; those that it updates */
  /* Bytes: what lives across steps, what each micro-batch in flight holds, and what else lives at most: at any time
   * while they do, up to the end of the first backward, in later backwards, in the last block of the last one, and after it. */
  double persistent, kept, work, work_first, work_backward, work_bottom[2], work_step; /* [1]: of the only backward */
  double input; /* of these, what all but the last two have of a micro-batch whose forward is still to come */
};

enum sl_status sl_fast_stage_price(struct sl_fast_stage_cost *out, const struct sl_fast_setting *setting,
                                   const struct sl_fast_stage *stage, int members, int64_t blocks,
                                   int64_t first_device);
