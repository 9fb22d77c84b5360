/* Upper bounds, in bytes, of the scratch memory that the kernels of an op need; core plans by them without knowing the
 * kernels. tests/core/op/test_scratch.c compares them with what kernels/ really asks for. */
#pragma once

#include "core/op/op.h"

/* `threads`: the OpenMP threads of a rank on a CPU, 1 on a GPU. Returns 0 if the op needs none. */
int64_t sl_op_workspace(const struct sl_op *op, int64_t threads);

/* Into how many parts a GPU's flash backward divides the query heads that share a key head. A block of its kernel
 * takes 64 keys and all queries of a part, so that with few sequences and much sharing the longest block would take
 * longer than all blocks together need: the least divisor of those heads is taken with which the longest takes at most
 * four fifths of what each of the 396 blocks that an H100 runs at a time has to do, or each head is a part. `dim`: the
 * op's, B T H D G. */
int sl_op_attention_parts(const int64_t *dim);
/* Bytes of the fp32 sums, for dk and for dv, that the parts leave to be added up; 0 with one part. A GPU's op has
 * room for them in its workspace. */
int64_t sl_op_attention_parts_bytes(const int64_t *dim);
