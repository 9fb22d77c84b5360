/* What a kernel set costs beside its kernels' work: the time of its host, the quality of its element-wise kernels, and what
 * transfers take from the kernels beside them. Six numbers a set, of GPUs alone: a CPU's kernels run where the host does.
 *
 * A set has one file, profiles/kernels/NAME.json, embedded when the library is built or beside the program (presets.h):
 *   {"name": NAME, "host_launch_us": .., "host_piece_us": .., "host_collective_us": .., "elementwise_factor": .., "score_passes": .., "comm_compute_share": ..}
 * each with a "<key>_source" and, where it was fitted, a "<key>_stderr". What is not given is neutral. */
#pragma once

#include "core/base/json.h"
#include "core/base/status.h"

#include <jansson.h>
#include <stdbool.h>

struct sl_kernel_costs {
  double host_launch;     /* seconds of the host for a kernel that it launches: host_launch_us */
  double host_piece;      /* seconds of the host for a tensor of a list that it joins or takes apart: host_piece_us */
  double host_collective; /* seconds of the host for a collective that it calls: host_collective_us */
  double elementwise_factor_error; /* its standard error, relative; 0: nothing was fitted to the set */
  double elementwise_factor;       /* time of element-wise kernels over bytes / attained bandwidth; 0 is read as 1 */
  double
      score_passes; /* times that materialised attention reads or writes each score between its products, forward; backward half as often
                          again. 0: a set's passes do (plan/kernels.h) */
  double comm_compute_share; /* share of an overlapped transfer's time that compute loses, below 1 */
  bool launch_blocking;      /* CUDA_LAUNCH_BLOCKING: the host waits for every kernel; a configuration's, not a set's */
};

/* A host that takes no time, kernels as fast as their bytes, transfers that take nothing from compute. */
struct sl_kernel_costs sl_kernel_costs_neutral(void);
/* Read a file of the form above. Where its numbers come from goes to `annotations` (cluster/provenance.h), which may be NULL.
 * Errors: SL_ERR_INPUT with the place of the key that is unknown or out of range. */
enum sl_status sl_kernel_costs_from_json(struct sl_kernel_costs *costs, const struct sl_json *doc, json_t *annotations);
/* The numbers of the set `name` by its file; neutral where it has none. Errors as above. */
enum sl_status sl_kernel_costs_load(struct sl_kernel_costs *costs, const char *name);
/* The same as its file has them, with sources; new reference. */
enum sl_status sl_kernel_costs_json(json_t **object, const char *name);
