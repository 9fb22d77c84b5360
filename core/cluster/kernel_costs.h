/* Costs of a kernel set beyond the work of its kernels: the time of its host, the quality of its element-wise kernels,
 * and what transfers take from concurrent kernels. Nine numbers per set, for GPUs only: on a CPU, kernels run on the
 * host itself.
 *
 * A set has one file, profiles/kernels/NAME.json, embedded when the library is built or next to the program
 * (presets.h):
 *   {"name": NAME, "host_launch_us": .., "host_piece_us": .., "host_hook_us": .., "host_collective_us": ..,
 *   "elementwise_factor": .., "score_passes": .., "comm_compute_share": .., "unaligned_batches_on_cuda_cores": ..,
 *   "pads_unaligned_products": ..}
 * each with a "<key>_source" and, if it was fitted, a "<key>_stderr". Numbers that are not given are neutral. */
#pragma once

#include "core/base/json.h"
#include "core/base/status.h"

#include <jansson.h>
#include <stdbool.h>

struct sl_kernel_costs {
  double host_launch;              /* seconds of the host per kernel that it launches: host_launch_us */
  /* seconds of the host per tensor of a list that it joins or splits, and per kernel that C++ launches within the call
   * of a module: host_piece_us */
  double host_piece;
  double host_hook;                /* seconds of the host per hook in Python (models/hooks.h): host_hook_us */
  double host_collective;          /* seconds of the host per collective that it calls: host_collective_us */
  double elementwise_factor;       /* time of element-wise kernels / (bytes / bandwidth reached); 0 is read as 1 */
  double elementwise_factor_error; /* its relative standard error; 0: nothing was fitted to the set */
  /* how often materialised attention reads or writes each score between its products in forward; backward has half as
   * many again. 0: given by the set's passes instead (plan/kernels.h) */
  double score_passes;
  double comm_compute_share; /* share of an overlapped transfer's time that compute loses, below 1 */
  /* 1: batched products whose rows are no multiple of 16 bytes run on CUDA cores, at the device's fp32 rate, as cuBLAS of
   * CUDA 11.5 seems to have run them; 0: they are slower by the device's factors (cost/gemm.h) */
  int unaligned_batches_on_cuda_cores;
  /* 1: a compiler pads operands whose rows are no multiple of 16 bytes where that is faster, as Inductor does */
  int pads_unaligned_products;
  /* CUDA_LAUNCH_BLOCKING: the host waits for every kernel; set by a configuration, not by a kernel set */
  bool launch_blocking;
};

/* A host that takes no time, kernels as fast as their bytes, transfers that take nothing from compute. */
struct sl_kernel_costs sl_kernel_costs_neutral(void);
/* Reads a file of the form above. The sources of its numbers go to `annotations` (cluster/provenance.h), which may be
 * NULL. Errors: SL_ERR_INPUT with the place of the key that is unknown or out of range. */
enum sl_status sl_kernel_costs_from_json(struct sl_kernel_costs *costs, const struct sl_json *doc, json_t *annotations);
/* Reads the numbers of the set `name` from its file; neutral if it has none. Errors as above. */
enum sl_status sl_kernel_costs_load(struct sl_kernel_costs *costs, const char *name);
/* The same as JSON, as in the file, with sources; a new reference. */
enum sl_status sl_kernel_costs_json(json_t **object, const char *name);
