/* Costs by measurement. If the cluster has op_costs (a calibrated profile) with an entry for a work's kind and type,
 * the entry replaces the formulas of compute.h and collective.h:
 *   seconds = turns x sum over terms t of entry.seconds[t] x work.terms[t]     (core/op/measured.h)
 * Of several entries, the one is used whose number of ranks is nearest to that of the node (for communication: of the
 * group). The measured ranks shared the node's cache, so each had 1 / entry.ranks of it. If r ranks share c < r cores
 * they take turns, and a work takes r / max(c, entry.ranks) times as long as measured.
 *
 * On a GPU whose structure is known (sm_count), a product of a type that tensor cores take has, beside its own flops, the
 * idle ones of whole tiles and waves (gemm.h), which cost less: what is idle takes no power, of which a busy GPU is short.
 * Causal attention has the scores of whole tiles of 64 x 64, and idle flops where the GPU waits for its longest block: one
 * of backward takes 64 keys and the queries of all heads that share them. Where rows of an operand, or heads, are no multiple of 16
 * bytes, which tensor cores load at once, all flops are `unaligned`: on an H100 such products reach 120 to 250 TFLOP/s in
 * bf16, others 500 to 830 (experiments/records). Bytes are not divided by its cache, which serves kernels hardly faster
 * than its memory does (copies on an H100: 2.9 and 3.0 TB/s), so that the division would fit noise.
 */
#pragma once

#include "core/op/measured.h"
#include "cost/share.h"

/* The entry for `work`; NULL if there is none. */
const struct sl_op_cost *sl_cost_entry(const struct sl_cost_rank *rank, const struct sl_work *work);
/* `work` as the device does it: on a CPU with its bytes split by whether they fit into the share of the cache that one of
 * `ranks` ranks on a node has, on a GPU with the flops of tiles. */
struct sl_work sl_cost_as_measured(const struct sl_device *device, int ranks, const struct sl_work *work);
/* Seconds of `work` by an entry, turns included. */
double sl_cost_by_entry(const struct sl_cost_rank *rank, const struct sl_op_cost *entry, const struct sl_work *work);
/* Whether the entry was measured on ops of another type than `work`, where the type matters, or without its
 * epilogue. */
bool sl_cost_stands_in(const struct sl_op_cost *entry, const struct sl_work *work);
