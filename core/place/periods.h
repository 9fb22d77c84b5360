/* Periods of a program whose waits come out alike: one is derived, the others are copied. Internal to core/place. */
#pragma once

#include "core/place/linker.h"
#include "core/place/repeat.h"

/* Where a period begins. */
struct sl_mark {
  uint32_t issue, lane_ops[SL_LANE_COUNT];
};

/* Where a slot stands in its turn: the at-th of `length` slots that become each other, those from order[first] on. */
struct sl_turn {
  uint32_t first, at, length;
};

struct sl_periods {
  struct linker *k;
  struct sl_repeat r;    /* period 0: nothing is left to be copied */
  struct sl_mark *marks; /* of the periods that have been derived, and of the next one */
  size_t count, capacity;
  struct sl_turn *turns; /* per slot */
  uint32_t *order, longest;
  size_t alike; /* the first period from which on all are alike */
};

/* active false: no period is looked for. What follows a failed open must be closed, too. */
enum sl_status sl_periods_open(struct sl_periods *periods, struct linker *k, bool active);
/* Before instance *instance is derived: where it begins a period that is known to come out as those before, copy all that
 * follow, up to the end of the run, and set *instance to what is behind them. */
enum sl_status sl_periods_skip(struct sl_periods *periods, uint32_t *instance);
void sl_periods_close(struct sl_periods *periods);
