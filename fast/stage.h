/* A pipeline stage of n blocks, as the schedule needs it: the times of its actions, the data-parallel communication
 * that stays exposed, and its memory. */
#pragma once

#include "core/plan/strategy.h"
#include "fast/sample.h"

/* What is the same for all stages of a step. */
struct sl_fast_setting {
  const struct sl_cluster *cluster;
  const struct sl_cost_rank *rank;
  const struct sl_config *config; /* after all defaults: types, bucket sizes */
  struct sl_strategy strategy;
  int tp, dp;
  bool pipeline;
  int64_t n_micro; /* read where a host launches: by the last backward it may have got ahead */
};

/* Seconds, as in struct sl_fast_action. */
struct sl_fast_timed {
  double end, end_arrived, end_hosted, out, out_arrived, out_hosted;
  double host, host_arrived; /* the host's seconds: for the whole action, and from the input on */
};

struct sl_fast_stage_cost {
  struct sl_fast_timed forward, first, next; /* first: the backward of the first micro-batch; next: that of any other */
  double bare_forward, bare_first, bare_next; /* the same up to the end, if the collectives of tensor parallelism took
                                               * no time */
  /* The last backward of a step: [0] if it is not the first, [1] if it is the only one. */
  struct sl_fast_timed last[2]; /* including the delays by its reductions */
  double tail[2];               /* from its end to the end of the last reduction and of the work that follows it */
  double tied_tail[2];          /* to the end of a tied embedding's own reduction, which may come before it */
  double hidden[2];             /* the most that these may be off by: fast/reduce.h */
  double norm;                  /* from there to the all-reduce of all ranks ... */
  double norm_last;             /* ... of which the last op takes this */
  double control;
  double host, host_norm; /* the host's seconds: for norm, control and update; for the norm alone */
  double behind; /* from when a host that is behind starts with the norm to the end of the update, without the calls of
                  * collectives */
  double update; /* the optimizer update */
  double gather; /* the all-gather of updated parameters */
  double tied_bytes;   /* of the gradient of an embedding that two pipeline ranks hold, summed over both; 0 if there is
                   * none */
  int64_t numel, part; /* parameters of the rank; those that it updates */
  /* Bytes: what lives across steps; what each micro-batch in flight holds; and the most that is in use beyond these: at
   * any time while they are in flight, up to the end of the first backward, in later backwards, in the last block of
   * the last backward, and after it. */
  /* [1]: if it is the only backward */
  double persistent, kept, work, work_first, work_backward, work_bottom[2], work_step[2];
  double input; /* part of these: the input of a micro-batch whose forward is still to come, which all stages but the
                 * last two hold */
};

/* The bytes of the gradients of the stage's embedding, unless it is tied (`where` -1), of a block (0), or of what comes
 * behind the blocks (1). */
static inline double sl_fast_gradient_bytes(const struct sl_fast_setting *setting, const struct sl_fast_stage *stage,
                                            int where) {
  int64_t numel = 0;
  for (int i = 0; i < stage->tensor_count; i++)
    numel += stage->tensor[i].where == where && !stage->tensor[i].tied ? stage->tensor[i].numel : 0;
  return (double)(numel * sl_dtype_bytes(setting->config->grad_accum_dtype));
}

enum sl_status sl_fast_stage_price(struct sl_fast_stage_cost *out, const struct sl_fast_setting *setting,
                                   const struct sl_fast_stage *stage, int members, int64_t blocks,
                                   int64_t first_device);
