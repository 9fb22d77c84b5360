/* Collectives that communicate quantised numbers (ZeRO++, arXiv:2306.10209): qwZ, for gathered weights, and qgZ, for
 * gradients. */
#pragma once

#include "core/lower/build.h"

/* qwZ: emits the gather `op` of `count` operands (alternately a member's part and the whole) as bytes. Each part is
 * packed before it and each whole unpacked after it, on the lane of the gather. If the plan does not ask for that,
 * emits the gather as it is. The operands are overwritten. */
enum sl_status sl_quantize_gather(struct sl_lowering *lowering, struct sl_program *program, struct sl_op op, int count,
                                  struct sl_operand *operands);
/* qgZ: is the gradient of `unit` reduced quantised? As in DeepSpeed, matrices are whose number of elements is a
 * multiple of twice the ranks; others are reduced as usual. */
bool sl_quantize_reduces(const struct sl_lowering *lowering, const struct sl_unit *unit);
/* Emits that reduction: an exchange within nodes, sums, an exchange across them, sums. `whole`: what this member has of
 * the gradient; `shard`: where its own part of the sum goes, overwritten or added to. */
enum sl_status sl_quantize_reduce(struct sl_lowering *lowering, struct sl_program *program, const struct sl_unit *unit,
                                  struct sl_operand whole, struct sl_operand shard);
