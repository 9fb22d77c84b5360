/* Model-state memory by others' formulas, to be compared with our own figures: ZeRO's accounting and DeepSpeed's
 * estimators.
 *
 * They count parameters, gradients and optimizer state of fp16 training with Adam, and nothing else: no activations, no
 * buckets, no gathered parameters beyond the largest layer, no padding, no fragmentation. */
#pragma once

#include "core/model/model.h"

#include <stdbool.h>
#include <stdint.h>

/* ZeRO (arXiv:1910.02054, Figure 1): bytes of model states per device with mixed-precision Adam, K = 12 bytes of
 * optimizer state per parameter, over `devices` data-parallel devices:
 *   stage 0  (2 + 2 + K) P      1  (2 + 2) P + K P / N      2  2 P + (2 + K) P / N      3  (2 + 2 + K) P / N
 * The paper prints GB of 10^9 bytes. `stage` is 0 to 3, `devices` at least 1. */
double sl_estimator_zero_paper(double params, int64_t devices, int stage);

/* The arguments of DeepSpeed's estimate_zero{2,3}_model_states_mem_needs. */
struct sl_estimator {
  int stage;              /* 2 or 3 */
  double params, largest; /* P; L: parameters of the module that directly holds the most (stage 3) */
  int64_t nodes, devices_per_node;
  bool offload_optimizer, offload_param; /* to the CPU; offload_param only with both, at stage 3 */
  bool zero_init;                        /* stage 3: parameters are created in shards */
  bool before_5099; /* stage 2: as printed in DeepSpeed's documentation before its pull request 5099 (2024) */
};
struct sl_estimate {
  double device_bytes, host_bytes; /* of a GPU; of a node's host */
};
/* With g devices a node, n nodes, N = n g (deepspeed/runtime/zero/stage_1_and_2.py and stage3.py, buffer factor 1.5;
 * whole bytes, as int() there):
 *   2           device 2P + 18P/N (before_5099: 4P + 16P/N)    host 1.5 x 4 g P
 *   2 offload   device 2P                                      host 1.5 x max(4N, 16) P
 *   3           device 4L + 18P/N                              host 1.5 x 4 g (zero_init ? L : P)
 *   3 optimizer device 4L + 2P/N                               host 1.5 P (zero_init ? 16/n : max(4g, 16/n))
 *   3 both      device 4L                                      host 1.5 P (zero_init ? 18/n : max(4g, 18/n)) */
struct sl_estimate sl_estimator_deepspeed(const struct sl_estimator *ask);

/* L of a model: the most parameters that one module holds directly (weight and bias of a layer). */
int64_t sl_estimator_largest_layer(const struct sl_model *model);
