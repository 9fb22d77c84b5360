/* Workspaces of libraries under a framework's kernels. They come from the framework's allocator but belong to no tensor
 * of the program, so they stand beside the arena. */
#pragma once

#include "core/plan/plan.h"

/* Bytes of one rank's device, for all steps; 0 on CPUs and for kernel sets that have none, or count their own
 * (plan/allocations.c).
 *
 * cuBLAS, of PyTorch since 1.13: one for each handle and stream, and the thread that runs backwards has a handle of its
 * own: 2 x 32 MiB on sm_90, 2 x 8.125 MiB on others (aten/src/ATen/cuda/CublasHandlePool.cpp, getChosenWorkspaceSize).
 * Transformer Engine: 32 MiB from sm_90 on, 4 MiB before (transformer_engine/pytorch/module/base.py,
 * get_cublas_workspace_size_bytes). */
int64_t sl_plan_workspace_bytes(const struct sl_plan *plan);
