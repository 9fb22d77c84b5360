/* What repeats in a program: the steady part of a schedule, whose periods differ in their micro-batches alone. */
#ifndef SL_CORE_PLACE_REPEAT_H
#define SL_CORE_PLACE_REPEAT_H

#include "core/program/program.h"

/* Instance i of first <= i < end - period is that of i + period, with the same ops and the same buffer slots, of a
 * micro-batch that is `micro_batches` further. period 0: nothing repeats. */
struct sl_repeat {
  uint32_t first, end, period;
  int32_t micro_batches;
};

/* The longest run of the shortest period around the middle of `program`. `numbers`: slot numbers of an instance. */
struct sl_repeat sl_repeat_find(const struct sl_program *program, int32_t numbers);

#endif
