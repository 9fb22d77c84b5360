/* The fast clock: predicts a configuration's step time and peak memory in about a microsecond, so that many can be
 * searched.
 *
 * The cost of a block comes from lowering a small plan and from cost/ (sample.h), once per (tp, micro-batch,
 * recomputation, sequence parallelism, ZeRO stage) of a model, a base configuration and a cluster. The cost of a stage
 * is the sum of its blocks (stage.h), and that of a step what its schedule makes of its stages (schedule.h). An action
 * waits for the device, its input, and the host that launches it; reductions slow the kernels that they overlap. Tests
 * compare the results with the exact clock (sim/).
 *
 * What these formulas do not cover (covers.h: sharded gradients and parameters, schedules other than gpipe and 1f1b,
 * transfers that slow a pipeline's kernels, messages that queue, and more) is simulated as a whole step (whole.h). That
 * takes milliseconds for the first configuration of a shape, and mostly no time for the same one with up to as many
 * micro-batches, rounded up to a power of two. The fast
 * clock thus covers whatever the exact clock does, and never approximates a configuration by another. Step time and
 * memory are within 1 % of the exact clock's on the configurations that its tests draw. */
#pragma once

#include "core/cluster/cluster.h"
#include "core/cluster/kernel_costs.h"
#include "core/config/config.h"
#include "core/model/model.h"

/* The schedules, by name; see core/schedule/action.h. */
#define SL_FAST_SCHEDULE_MAP(X)                                                                                        \
  X(GPIPE, "gpipe")                                                                                                    \
  X(1F1B, "1f1b")                                                                                                      \
  X(INTERLEAVED, "interleaved")                                                                                        \
  X(LOOPED_BFS, "looped-bfs")                                                                                          \
  X(ZB_H1, "zb-h1")                                                                                                    \
  X(INTERLEAVED_ZB, "interleaved-zb")                                                                                  \
  X(ZBV, "zbv")
enum sl_fast_schedule {
#define X(name, text) SL_FAST_##name,
  SL_FAST_SCHEDULE_MAP(X)
#undef X
      SL_FAST_SCHEDULE_COUNT
};
const char *sl_fast_schedule_name(enum sl_fast_schedule schedule);

/* What varies between predictions; everything else is as in the base configuration. */
struct sl_fast_choice {
  int world, tp, pp;
  int64_t micro_batch, n_micro; /* sequences per rank and micro-batch; micro-batches per step */
  int zero_stage;
  bool sequence_parallel; /* only read if tp > 1 */
  enum sl_recompute recompute;
  enum sl_fast_schedule schedule; /* only read if pp > 1 */
  int virtual_stages;             /* stages per pipeline rank; 0: the schedule's default */
  const int64_t *stage_layers;    /* (pp), borrowed; NULL: as even as possible, if the configuration does not ask for
                                * another partition */
};

/* Times are seconds of the slowest rank, memory is bytes of the fullest. The parts add up to the step time. */
struct sl_fast_prediction {
  double step_time_s;
  double compute_s;    /* forwards and backwards of the busiest stage, its kernels alone */
  double bubble_s;     /* time that this stage waits for others, without transfers */
  double exposed_tp_s; /* exposed collectives of tensor parallelism in that stage */
  double exposed_pp_s; /* exposed transfers between stages */
  double exposed_dp_s; /* reductions after the last backward, and all-gathers after the update */
  double optimizer_s;  /* norm, the all-reduce of all ranks, and update */
  double memory_bytes; /* of the device: the most that is allocated at once, without the fragmentation of an arena */
  bool whole;          /* simulated as a whole step; then bubble_s includes the transfers, and exposed_pp_s is 0 */
};

/* The full configuration of a choice, as a file could give it to the exact clock. */
void sl_fast_configure(const struct sl_config *config, const struct sl_fast_choice *choice, struct sl_config *out);

struct sl_fast;

/* A cache of blocks and stages, to be used by one thread at a time. `model`, `config` and `cluster` are borrowed until
 * sl_fast_close. Errors: SL_ERR_INPUT for a configuration whose recomputation differs between pipeline ranks, which a
 * choice cannot express. */
enum sl_status sl_fast_open(struct sl_fast **out, const struct sl_model *model, const struct sl_config *config,
                            const struct sl_cluster *cluster);
void sl_fast_close(struct sl_fast *fast);
/* Errors: SL_ERR_INPUT if the choice has no plan. */
enum sl_status sl_fast_predict(struct sl_fast *fast, const struct sl_fast_choice *choice,
                               struct sl_fast_prediction *out);
