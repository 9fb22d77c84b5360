/* The fast clock: step time and peak memory of a configuration in about a microsecond, for searching many.
 *
 * What a block costs comes from our own lowering and from cost/ (sample.h), once for each (tp, micro-batch, recomputation,
 * sequence parallelism, ZeRO stage) of a model, a base configuration and a cluster. A stage is then the sum of its blocks
 * (stage.h), a step what its schedule makes of its stages (schedule.h). The exact clock (sim/) is what it is held against.
 *
 * A host that launches is a third thing that an action waits for, beside the device and its input; reductions slow the kernels
 * beside them. The step time is within 1 % of the exact clock's on the configurations that its test draws; pipelines whose hosts launch (kernel
 * sets with host times and no comm_compute_share) are covered but not drawn by it.
 *
 * It refuses, by name, what its formulas do not cover: it never stands in another configuration for the one asked for. */
#pragma once

#include "core/cluster/cluster.h"
#include "core/cluster/kernel_costs.h"
#include "core/config/config.h"
#include "core/model/model.h"

enum sl_fast_schedule { SL_FAST_GPIPE, SL_FAST_1F1B };

/* What varies; all else is the base configuration's. */
struct sl_fast_choice {
  int world, tp, pp;
  int64_t micro_batch, n_micro; /* sequences a rank and micro-batch; micro-batches a step */
  int zero_stage;
  bool sequence_parallel; /* read where tp > 1 */
  enum sl_recompute recompute;
  enum sl_fast_schedule schedule; /* read where pp > 1 */
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
};

struct sl_fast;

/* A cache of blocks and stages, for one thread at a time. `model`, `config` and `cluster` are borrowed until sl_fast_close.
 * Errors: SL_ERR_INPUT for a model or a cluster that the fast clock does not cover. */
enum sl_status sl_fast_open(struct sl_fast **out, const struct sl_model *model, const struct sl_config *config,
                            const struct sl_cluster *cluster);
void sl_fast_close(struct sl_fast *fast);
/* Take new numbers: those that `cluster` has now of its device (rates, efficiencies, latencies) and of its links, and `costs` of the
 * kernel set (NULL: its profile's). What was lowered is kept and priced anew, as if all had been opened with these numbers. What
 * else the cluster says (nodes, devices a node, memory) may not have changed. Errors: as sl_fast_open; then the numbers from before
 * are not to be asked for again until a call succeeds. */
enum sl_status sl_fast_reprice(struct sl_fast *fast, const struct sl_kernel_costs *costs);
/* SL_ERR_INPUT: not covered, or no plan. */
enum sl_status sl_fast_predict(struct sl_fast *fast, const struct sl_fast_choice *choice,
                               struct sl_fast_prediction *out);
