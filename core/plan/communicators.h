/* Communicators of a collective library, by which device memory outside the arena grows. */
#pragma once

#include "core/plan/plan.h"

/* How many of NCCL's communicators `rank` takes part in once every group of the framework has been used: tp, cp, dp (and its
 * shard and replicate groups), pipeline, model, embedding, secondary and world, where they have more than one rank. Groups of
 * equal ranks count once. DeepSpeed's pipeline engine makes a grid of groups beside the client's
 * (deepspeed/runtime/pipe/topology.py, PipelineParallelGrid: slice_proc_group beside Megatron's tp group). It and Aleph Alpha
 * Scaling send without a group (deepspeed/runtime/pipe/p2p.py; src/scaling/core/nn/parallel_module/communicator.py: torch's plain
 * send and recv), for which torch makes one communicator for each pair of ranks. */
int sl_plan_communicators(const struct sl_plan *plan, int rank);
/* Device memory of `rank` that no framework's allocator knows of: the context, and what each communicator holds. */
int64_t sl_plan_driver_bytes(const struct sl_plan *plan, int rank);
