/* Two programs of one plan at two depths, the second `more` blocks a stage deeper: which of their ops are the same.
 *
 * An action of the deeper one is that of the shallower one with a run of ops put in: a prefix that both have, the run, and a rest
 * that both have. What stands in the run is a block like the one before it, so programs of any depth follow (fast/stretch.h). */
#pragma once

#include "core/program/program.h"

/* Of an action's ops: those before the run are `prefix`, the run has `run` (0: a stage without blocks), its place may be as early
 * as behind `earliest`. */
struct sl_fast_align {
  int32_t prefix, run, earliest;
};

/* *aligned: (instances of a's step), the caller's to free; NULL where the two are not so. Errors: SL_ERR_MEMORY. */
enum sl_status sl_fast_align(struct sl_fast_align **aligned, const struct sl_program *a, const struct sl_program *b);
/* Are two ops the same but for where their operands stand? */
bool sl_fast_same_op(const struct sl_program *p, const struct sl_op *x, const struct sl_program *q,
                     const struct sl_op *y);
/* Do two issues wait for the same lanes? */
bool sl_fast_same_lanes(const struct sl_program *p, size_t issue, const struct sl_program *q, size_t other);
/* Bytes of an op's operands. */
int64_t sl_fast_operand_bytes(const struct sl_program *p, const struct sl_op *op);
