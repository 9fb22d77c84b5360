/* Model-state memory by DeepSpeed's estimators, to be compared with our own figures.
 *
 * They count parameters, gradients and optimizer state of fp16 training with Adam, and nothing else: no activations, no
 * buckets, no gathered parameters beyond the largest layer, no padding, no fragmentation. */
#pragma once

#include "core/model/model.h"

#include <stdbool.h>
#include <stdint.h>

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
