/* The slots that change from period to period: what their lifetimes become in periods that are copied. Internal to
 * core/place. */
#pragma once

#include "core/place/added.h"

/* What is known about the slots that change when copying is considered; of the others nothing is filled in. */
struct sl_turning {
  bool goes_on; /* they can be assumed to go on as they did in the last period; only then the rest is filled in */
  bool unseen;  /* not yet, because too few of the periods in which they meet have been derived */
  struct sl_life *over;     /* per slot: its newest lifetime, finished */
  struct sl_life *renewed;  /* per slot: the newest lifetime of what it is after the copies */
  struct sl_history *moved; /* per slot: room for its history after the copies, and ... */
  int32_t *newest;          /* ... for its newest lifetime then */
  /* below: while that is found out */
  struct sl_added added; /* by the last period */
  /* per slot: in how many periods it becomes one that has pieces, and how many ago it was one; its cycle's length:
   * never */
  uint32_t *ahead, *back;
};

/* The slot that `slot` becomes after `steps` periods; before, if negative. */
static inline uint32_t sl_slot_turned(const struct sl_periods *s, size_t slot, int64_t steps) {
  const struct sl_turn *t = &s->turns[slot];
  int64_t at = (int64_t)t->at + steps;
  if (at < -(int64_t)t->length || at >= t->length) at %= t->length; /* mostly it is less than a cycle away */
  if (at < 0) at += t->length;
  return s->order[t->first + (uint32_t)at];
}

/* Finds out whether `copies` more periods can be copied. Close it after a failure too. */
enum sl_status sl_turning_open(struct sl_turning *t, const struct sl_periods *s, uint32_t copies);
void sl_turning_close(struct sl_turning *t);
