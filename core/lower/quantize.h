/* Collectives whose numbers travel quantised (ZeRO++, arXiv:2306.10209): qwZ, of gathered weights, and qgZ, of gradients. */
#pragma once

#include "core/lower/build.h"

/* qwZ: the gather `op` of `count` operands (a member's part and the whole, by turns) as bytes. Each part is packed in front of it
 * and each whole unpacked behind it, on the lane of the gather; wherever the plan does not ask for that, the gather as it is.
 * The operands are overwritten. */
enum sl_status sl_quantize_gather(struct sl_lowering *lowering, struct sl_program *program, struct sl_op op, int count,
                                  struct sl_operand *operands);
/* qgZ: does the gradient of `unit` go to its owners quantised? Matrices do whose elements are a multiple of twice the ranks;
 * the rest is reduced as without, as by DeepSpeed. */
bool sl_quantize_reduces(const struct sl_lowering *lowering, const struct sl_unit *unit);
/* Its way there: an exchange inside nodes, sums, an exchange across them, sums. `whole`: what this member has of it; `shard`: where
 * its own part of the sum goes, overwritten or added to. */
enum sl_status sl_quantize_reduce(struct sl_lowering *lowering, struct sl_program *program, const struct sl_unit *unit,
                                  struct sl_operand whole, struct sl_operand shard);
