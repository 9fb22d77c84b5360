/* Communicators of a collective library, by which device memory outside the arena grows. */
#pragma once

#include "core/plan/plan.h"

/* How many of NCCL's communicators `rank` takes part in once every group of the framework has been used: tp, cp, dp (and its
 * shard and replicate groups), pipeline, model, embedding, secondary and world, where they have more than one rank. Groups of
 * equal ranks count once, but for DeepSpeed's pipeline engine, which makes a grid of groups beside the client's
 * (deepspeed/runtime/pipe/topology.py, PipelineParallelGrid: slice_proc_group beside Megatron's tp group) and sends without a
 * group (runtime/pipe/p2p.py, dist.send), for which torch makes one communicator for each pair of ranks. */
int sl_plan_communicators(const struct sl_plan *plan, int rank);
