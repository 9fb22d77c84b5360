/* The work of one op: floating-point operations, and bytes of device memory read plus written, as exact integers in a
 * double. cost/ turns them into seconds. */
#pragma once

#include "core/op/op.h"

double sl_op_flops(const struct sl_op *op);
double sl_op_bytes(const struct sl_op *op, const struct sl_slice *slices);
/* Query-key pairs that attention computes, per head and sequence; dim as of attention: T (T + 1) / 2, or fewer with a
 * window W; under context parallelism the rank's share, which with a window is the mean of the members'. */
double sl_op_score_pairs(const int64_t dim[SL_OP_DIMS]);
