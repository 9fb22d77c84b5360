/* Scratch that the kernels of an op ask for, in bytes: upper bounds that core plans by without knowing the kernels.
 * tests/core/op/test_scratch.c holds them against what kernels/ really asks for. */
#pragma once

#include "core/op/op.h"

/* `threads` are the OpenMP threads of a rank on a CPU, 1 on a GPU. 0: the op needs none. */
int64_t sl_op_workspace(const struct sl_op *op, int64_t threads);
