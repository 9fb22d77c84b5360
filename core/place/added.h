/* What the last derived period alone adds to the lifetimes of slots: its pieces. In a period that is identical, the same
 * is added to the lifetimes of corresponding slots. Internal to core/place. */
#pragma once

#include "core/place/periods.h"

struct sl_added {
  struct sl_lives pieces; /* in the order in which they begin; `before` is the one before it of the same slot */
  int32_t *newest;        /* per slot: its last piece; -1: none */
  struct sl_mark step;    /* a period, ... */
  uint32_t lanes;         /* ... bit l: which has ops on lane l, ... */
  int32_t micro_batches;  /* ... and those that it advances by */
};

/* Errors: SL_ERR_MEMORY; close it after a failure too. */
enum sl_status sl_added_open(struct sl_added *added, const struct sl_periods *periods);
void sl_added_close(struct sl_added *added);

/* The last piece of a slot, or the first; NULL: there is none. */
const struct sl_life *sl_added_newest(const struct sl_added *added, uint32_t slot);
const struct sl_life *sl_added_oldest(const struct sl_added *added, uint32_t slot);
/* Does a lifetime begin with this piece? Only the oldest one of a slot may go on with one from before. */
bool sl_added_begins(const struct sl_periods *periods, const struct sl_life *piece);
/* A lifetime as it is `periods` later, or earlier, if negative, where all are identical; its slot stays. */
struct sl_life sl_added_shifted(const struct sl_added *added, const struct sl_life *life, int64_t periods);
/* Makes one lifetime of its earlier and its later part. */
void sl_added_join(struct sl_life *earlier, const struct sl_life *later);
