/* Compares two programs of one plan at two depths, the second with more blocks per stage, and finds which of their ops
 * are the same.
 *
 * An action of the deeper program is the shallower one's with a run of ops inserted: a prefix that both have, the run,
 * and a rest that both have. The run repeats the ops of the block before it, so programs of any depth can be derived
 * (fast/stretch.h). */
#pragma once

#include "core/program/program.h"

/* How the ops of an action align: `prefix` ops precede the run, which has `run` ops (0 in a stage without blocks). The
 * run could also be inserted earlier, down to behind the first `earliest` ops. */
struct sl_fast_align {
  int32_t prefix, run, earliest;
};

/* *aligned: (instances of a's step), owned by the caller; NULL if the two programs do not align. Errors:
 * SL_ERR_MEMORY. */
enum sl_status sl_fast_align(struct sl_fast_align **aligned, const struct sl_program *a, const struct sl_program *b);
/* Whether two ops are the same except for the places of their operands. */
bool sl_fast_same_op(const struct sl_program *p, const struct sl_op *x, const struct sl_program *q,
                     const struct sl_op *y);
/* Whether two issues wait for the same lanes. */
bool sl_fast_same_lanes(const struct sl_program *p, size_t issue, const struct sl_program *q, size_t other);
/* The bytes of an op's operands. */
int64_t sl_fast_operand_bytes(const struct sl_program *p, const struct sl_op *op);
