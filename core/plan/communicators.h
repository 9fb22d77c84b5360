/* Counts the communicators of a collective library (NCCL) and the device memory that they hold, which no allocator of a
 * framework sees. */
#pragma once

#include "core/plan/plan.h"

/* Number of NCCL communicators that `rank` takes part in once every group of the framework has been used: tp, cp, dp
 * (and its shard and replicate groups), pipeline, model, embedding, secondary, node, across and world, each only if it
 * has more than one rank. Groups of the same ranks count once. DeepSpeed's pipeline engine is an exception: it creates
 * a grid of groups beside the client's (deepspeed/runtime/pipe/topology.py, PipelineParallelGrid: slice_proc_group
 * beside Megatron's tp group) and sends without a group (runtime/pipe/p2p.py, dist.send), for which torch creates one
 * communicator per pair of ranks; so does Aleph Alpha Scaling (core/nn/parallel_module/communicator.py). */
int sl_plan_communicators(const struct sl_plan *plan, int rank);
/* Bytes of device memory that no allocator of a framework counts: the CUDA context and what the communicators hold. */
int64_t sl_plan_driver_bytes(const struct sl_plan *plan, int rank);
