/* Periods of a program with identical waits: some are derived, the others are copied. Internal to core/place. */
#pragma once

#include "core/place/linker.h"
#include "core/place/repeat.h"

enum { SL_ALIKE = 3 }; /* identical periods in a row, after which others may be copied */

/* The position of a slot in its cycle, or chain: the at-th of `length` slots that become each other, from order[first]
 * on. */
struct sl_turn {
  uint32_t first, at, length;
};

enum { SL_CHAINED_PERIODS = 3 };

/* A slot of a chain that copied periods use (place/chains.h), and derived periods of the same run: the issues at which
 * they begin, and how many each has. */
struct sl_chained {
  uint32_t slot, derived[SL_CHAINED_PERIODS], length;
  int32_t life; /* the slot's newest at the end of the run */
};

struct sl_periods {
  struct linker *k;
  bool whole;            /* copies of open runs leave no lifetime out */
  struct sl_repeats all; /* the first `begun` of them have begun ... */
  size_t begun;
  struct sl_repeat r;    /* ... and this is the last of those; period 0: nothing of it is left to copy */
  struct sl_mark *marks; /* of the periods derived so far, and of the next one */
  size_t count, capacity;
  struct sl_turn *turns; /* per slot */
  uint32_t *order, longest;
  uint32_t lanes;             /* bit l: ops of lane l use slots that change */
  size_t alike;               /* the first period from which on all are identical */
  size_t awaited;             /* periods that it may take until the others can be copied */
  size_t pause;               /* so many periods are derived before copying is tried again */
  struct sl_chained *chained; /* those in front of `chained_over` are of runs that have ended */
  size_t chained_count, chained_capacity, chained_over;
};

static inline bool sl_slot_changes(const struct sl_periods *s, size_t slot) {
  return s->r.next[slot] != slot;
}

/* Ops of a lane from one mark to another. */
static inline uint32_t sl_mark_ops(const struct sl_mark *from, const struct sl_mark *to, uint32_t lane) {
  return to->lane_ops[lane] - from->lane_ops[lane];
}

/* `times` the distance of two marks. */
static inline struct sl_mark sl_mark_distance(const struct sl_mark *from, const struct sl_mark *to, uint32_t times) {
  struct sl_mark d = {.issue = times * (to->issue - from->issue)};
  for (uint32_t lane = 0; lane < SL_LANE_COUNT; lane++) d.lane_ops[lane] = times * sl_mark_ops(from, to, lane);
  return d;
}

/* The first mark from `low` to before `high` that is behind `issue`, or `high`. */
static inline size_t sl_mark_behind(const struct sl_periods *periods, size_t low, size_t high, uint32_t issue) {
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (periods->marks[middle].issue <= issue) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* How much is copied instead of derived: nothing, so that every lifetime is recorded; or periods, with every lifetime of
 * open runs, or without. */
enum sl_copying { SL_COPY_NOTHING, SL_COPY_WHOLE, SL_COPY_SHORT };
/* Close it after a failure too. */
enum sl_status sl_periods_open(struct sl_periods *periods, struct linker *k, enum sl_copying copying);
/* Called before instance *instance is derived. If it begins a period that is known to be identical to those before,
 * copies all that follow, up to the end of the run, and sets *instance to what comes after them. */
enum sl_status sl_periods_skip(struct sl_periods *periods, uint32_t *instance);
void sl_periods_close(struct sl_periods *periods);
