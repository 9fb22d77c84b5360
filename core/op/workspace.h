/* Upper bounds, in bytes, of the scratch memory that the kernels of an op need; core plans by them without knowing the
 * kernels. tests/core/op/test_scratch.c compares them with what kernels/ really asks for. */
#pragma once

#include "core/op/op.h"

/* `threads`: the OpenMP threads of a rank on a CPU, 1 on a GPU. Returns 0 if the op needs none. */
int64_t sl_op_workspace(const struct sl_op *op, int64_t threads);
