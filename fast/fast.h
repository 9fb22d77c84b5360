/* The fast clock: step time and peak memory of a configuration in about a microsecond, for searching many.
 *
 * What a block costs comes from our own lowering and from cost/ (sample.h), once for each (tp, micro-batch, recomputation,
 * sequence parallelism, ZeRO stage) of a model, a base configuration and a cluster. A stage is then the sum of its blocks
 * (stage.h), a step what its schedule makes of its stages (schedule.h). The exact clock (sim/) is what it is held against.
 *
 * A host that launches is a third thing that an action waits for, beside the device and its input; reductions slow the kernels
 * beside them.
 *
 * What these formulas do not cover (covers.h: sharded gradients and parameters, schedules other than gpipe and 1f1b, transfers that slow
 * a pipeline's kernels, and more) is played as a whole (whole.h): milliseconds for the first of a shape, and no time for the same with
 * another number of micro-batches. So it covers whatever the exact clock does, and never stands in another configuration for the one
 * asked for. Step time and memory are within 1 % of the exact clock's on the configurations that its tests draw. */
#pragma once

#include "core/cluster/cluster.h"
#include "core/cluster/kernel_costs.h"
#include "core/config/config.h"
#include "core/model/model.h"

/* By name: see core/schedule/action.h. */
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

/* What varies; all else is the base configuration's. */
struct sl_fast_choice {
  int world, tp, pp;
  int64_t micro_batch, n_micro; /* sequences a rank and micro-batch; micro-batches a step */
  int zero_stage;
  bool sequence_parallel; /* read where tp > 1 */
  enum sl_recompute recompute;
  enum sl_fast_schedule schedule; /* read where pp > 1 */
  int virtual_stages;             /* stages a pipeline rank; 0: as the schedule has them */
  const int64_t *stage_layers; /* (pp), borrowed; NULL: as even as can be, and the configuration asks for no others */
};

/* Seconds of the slowest rank; bytes of the fullest. The parts add up to the step. */
struct sl_fast_prediction {
  double step_time_s;
  double compute_s;    /* forwards and backwards of the stage that is busiest, its kernels alone */
  double bubble_s;     /* that stage's wait for others, transfers aside */
  double exposed_tp_s; /* what tensor parallelism's collectives add to it */
  double exposed_pp_s; /* what transfers between stages add to the step */
  double exposed_dp_s; /* reductions after the last backward, gathers after the update */
  double optimizer_s;  /* norm, agreement of all ranks, update */
  double memory_bytes; /* of the device: the most that lives at once; an arena has its fragmentation beyond it */
  bool whole;          /* not by formulas: then bubble_s has the transfers, and exposed_pp_s is 0 */
};

/* The configuration of a choice, as its file might have said it: what the exact clock would be given. */
void sl_fast_configure(const struct sl_config *config, const struct sl_fast_choice *choice, struct sl_config *out);

struct sl_fast;

/* A cache of blocks and stages, for one thread at a time. `model`, `config` and `cluster` are borrowed until sl_fast_close.
 * Errors: SL_ERR_INPUT for a configuration whose recomputation differs between pipeline ranks, which a choice cannot say. */
enum sl_status sl_fast_open(struct sl_fast **out, const struct sl_model *model, const struct sl_config *config,
                            const struct sl_cluster *cluster);
void sl_fast_close(struct sl_fast *fast);
/* Take new numbers: those that `cluster` has now of its device (rates, efficiencies, latencies) and of its links, and `costs` of the
 * kernel set (NULL: its profile's). What was lowered is kept and priced anew, as if all had been opened with these numbers. What
 * else the cluster says (nodes, devices a node, memory) may not have changed. Errors: as sl_fast_open; then the numbers from before
 * are not to be asked for again until a call succeeds. */
enum sl_status sl_fast_reprice(struct sl_fast *fast, const struct sl_kernel_costs *costs);
/* Errors: SL_ERR_INPUT: no plan. */
enum sl_status sl_fast_predict(struct sl_fast *fast, const struct sl_fast_choice *choice,
                               struct sl_fast_prediction *out);
