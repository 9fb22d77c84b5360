/* Communicators of a collective library, by which device memory outside the arena grows. */
#pragma once

#include "core/plan/plan.h"

/* How many of NCCL's communicators `rank` takes part in once every group of the framework has been used: tp, cp, dp (and its
 * shard and replicate groups), pipeline, model, embedding, secondary, node, across and world, where they have more than one rank. Groups of
 * equal ranks count once, but for DeepSpeed's pipeline engine, which makes a grid of groups beside the client's
 * (deepspeed/runtime/pipe/topology.py, PipelineParallelGrid: slice_proc_group beside Megatron's tp group) and sends without a
 * group (runtime/pipe/p2p.py, dist.send), for which torch makes one communicator for each pair of ranks, as does Aleph Alpha
 * Scaling (core/nn/parallel_module/communicator.py). */
int sl_plan_communicators(const struct sl_plan *plan, int rank);
/* Device memory that no allocator of a framework counts: the context and what each communicator holds. */
int64_t sl_plan_driver_bytes(const struct sl_plan *plan, int rank);
