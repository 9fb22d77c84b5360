/* The slots that change; see turning.h.
 *
 * Most lifetimes that are in progress when copying is considered began before periods were identical, and end in a
 * period that is copied, so none need be derived from beginning to end. But whatever happens to a slot in an identical
 * period happened in the last one to another slot of its cycle. So lifetimes are put together from what the last period
 * alone adds to each (place/added.h), shifted by the periods between. */
#include "core/place/turning.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_KINDS = 256 };

/* ---- histories ---- */

/* Are all ops that the history of `slot` names after `since`? */
static bool named_since(const struct linker *k, size_t slot, const struct sl_mark *since) {
  for (size_t i = 0; i < k->histories[slot].count; i++) {
    const struct sl_span *x = sl_span_at(&k->histories[slot], i);
    if (x->writer_lane >= 0 && x->written <= since->lane_ops[x->writer_lane]) return false;
    for (uint32_t lanes = x->readers; lanes != 0; lanes &= lanes - 1) {
      const int lane = __builtin_ctz(lanes);
      if (x->read[lane] <= since->lane_ops[lane]) return false;
    }
  }
  return true;
}

/* Do all lanes that use slots that change know that all ops before the second of the identical periods are complete? A
 * period ago they then knew it of those before the first, so the last period, which is copied, did not wait for such
 * ops either. */
static bool all_known(const struct sl_periods *s) {
  const struct linker *k = s->k;
  const struct sl_mark *here = &s->marks[s->count - 1], *since = &s->marks[s->alike + 1];
  for (uint32_t lanes = s->lanes; lanes != 0; lanes &= lanes - 1) {
    const int lane = __builtin_ctz(lanes);
    if (sl_mark_ops(here - 1, here, (uint32_t)lane) == 0) return false;
    const uint32_t *clock = &k->clocks[(size_t)k->lane_rows[lane][here->lane_ops[lane] - 1] * SL_LANE_COUNT];
    for (uint32_t others = s->lanes & ~(UINT32_C(1) << lane); others != 0; others &= others - 1) {
      const int other = __builtin_ctz(others);
      if (clock[other] < since->lane_ops[other]) return false;
    }
  }
  return true;
}

/* Does every slot that changes have a lifetime, and can nothing from before periods are identical be waited for? */
static bool ripe(const struct sl_periods *s) {
  const struct linker *k = s->k;
  const bool known = all_known(s);
  for (size_t i = 0; i < k->rank_class->slot_count; i++) {
    if (!sl_slot_changes(s, i)) continue;
    if (k->last_life[i] < 0 || !(known || named_since(k, i, &s->marks[s->alike]))) return false;
  }
  return true;
}

/* ---- lifetimes from pieces ---- */

/* How far each slot is from one that has pieces, in both directions of its cycle. */
static void measure_gaps(struct sl_turning *t, const struct sl_periods *s) {
  for (uint32_t first = 0; first < s->k->rank_class->slot_count; first += s->turns[s->order[first]].length) {
    const uint32_t *slots = &s->order[first], length = s->turns[slots[0]].length;
    uint32_t ahead = length, back = length;     /* that many: there is none */
    for (uint32_t i = 0; i < 2 * length; i++) { /* twice around, since what comes first may be behind the end */
      const uint32_t place = i < length ? i : i - length, up = slots[place], down = slots[length - 1 - place];
      back = t->added.newest[up] >= 0 ? 0 : back + (back < length);
      ahead = t->added.newest[down] >= 0 ? 0 : ahead + (ahead < length);
      t->back[up] = back, t->ahead[down] = ahead;
    }
  }
}

static enum sl_status list_pieces(struct sl_turning *t, const struct sl_periods *s) {
  const size_t slots = s->k->rank_class->slot_count;
  SL_TRY(sl_malloc(&t->ahead, slots, sizeof *t->ahead));
  SL_TRY(sl_malloc(&t->back, slots, sizeof *t->back));
  SL_TRY(sl_added_open(&t->added, s));
  measure_gaps(t, s);
  return SL_OK;
}

/* The next piece that goes on with the newest lifetime of a slot, more than *after periods from now; *after becomes how
 * many. NULL: that lifetime is over. */
static const struct sl_life *next_piece(const struct sl_turning *t, const struct sl_periods *s, uint32_t slot,
                                        uint32_t *after) {
  const uint32_t length = s->turns[slot].length, reached = sl_slot_turned(s, slot, -(int64_t)*after);
  if (*after > 0 && sl_added_newest(&t->added, reached)->before >= 0)
    return NULL; /* another one began in the same period */
  *after += 1 + t->back[sl_slot_turned(s, reached, -1)];
  if (*after > length) return NULL;
  const struct sl_life *piece = sl_added_oldest(&t->added, sl_slot_turned(s, slot, -(int64_t)*after));
  return sl_added_begins(s, piece) ? NULL : piece;
}

/* A slot's newest lifetime with all that coming periods add to it. */
static struct sl_life finished(const struct sl_turning *t, const struct sl_periods *s, uint32_t slot) {
  struct sl_life out = s->k->lives->items[s->k->last_life[slot]];
  uint32_t after = 0;
  for (const struct sl_life *piece; (piece = next_piece(t, s, slot, &after)) != NULL;) {
    const struct sl_life more = sl_added_shifted(&t->added, piece, after);
    sl_added_join(&out, &more);
  }
  return out;
}

/* The newest lifetime, after `copies` more periods, of what a slot is then; false: it never begins. */
static bool renewed(const struct sl_turning *t, const struct sl_periods *s, uint32_t slot, uint32_t copies,
                    struct sl_life *out) {
  const uint32_t length = s->turns[slot].length;
  uint32_t ago = t->ahead[slot];
  for (bool found = false; ago < length; found = true) {
    const uint32_t reached = sl_slot_turned(s, slot, ago);
    const struct sl_life *piece = sl_added_newest(&t->added, reached);
    struct sl_life part = sl_added_shifted(&t->added, piece, (int64_t)copies - ago);
    if (found) sl_added_join(&part, out);
    *out = part;
    if (sl_added_begins(s, piece)) return true;
    ago += 1 + t->ahead[sl_slot_turned(s, reached, 1)];
  }
  return false;
}

/* ---- which slots are live at once ---- */

/* Bit i: a lifetime from `began` to `ends` covers the i-th of the latest derived periods. */
static uint64_t periods_of(const struct sl_periods *s, uint32_t began, uint32_t ends) {
  const size_t last = s->count - 1, first = last > 64 ? last - 64 : 0;
  const size_t from = sl_mark_behind(s, first, last, began), end = sl_mark_behind(s, from, last + 1, ends);
  const size_t count = end > from ? end - from - 1 : 0;
  return count == 0 ? 0 : UINT64_MAX >> (64 - count) << (from - first);
}

/* The same for all lifetimes of a slot. */
static uint64_t through(const struct sl_turning *t, const struct sl_periods *s, uint32_t slot) {
  const struct sl_life *all = s->k->lives->items, *life = &all[s->k->last_life[slot]];
  uint64_t bits = periods_of(s, life->first, t->over[slot].last);
  while (life->before >= 0 && life->first > s->marks[0].issue) {
    life = &all[life->before];
    bits |= periods_of(s, life->first, life->last);
  }
  return bits;
}

/* Slots that live through the same periods and have cycles of the same length. */
struct kind {
  uint64_t through;
  uint32_t length;
};

/* The relation of two kinds of slots repeats when both have completed their cycles. Was that derived twice, including
 * the lifetimes that began before? */
static bool seen_twice(const struct sl_periods *s, const struct kind *a, const struct kind *b) {
  return s->count - s->alike > 2 * (size_t)sl_repeat_multiple(a->length, b->length) + SL_ALIKE;
}

/* The kind in `kinds` that is `own`, or `count`. The slots of a buffer are often of as many kinds as those of the one
 * before it, in the same order, so the one behind `last`, which was found last, is tried first. */
static size_t find_kind(const struct kind *kinds, size_t count, size_t last, struct kind own) {
  for (size_t tried = 0; tried < count; tried++) {
    if (++last >= count) last = 0;
    if (kinds[last].through == own.through && kinds[last].length == own.length) return last;
  }
  return count;
}

/* Does every pair of slots that change live through one derived period, or have all their relations been derived? Slots
 * that live through none at all must have completed their cycles for that, since they also meet slots of their own kind
 * and those that do not change. Fills `over` as far as it looks. */
static bool all_meet(struct sl_turning *t, const struct sl_periods *s) {
  struct kind kinds[MOST_KINDS];
  size_t count = 0, j = 0;
  for (uint32_t i = 0; i < s->k->rank_class->slot_count; i++) {
    if (!sl_slot_changes(s, i)) continue;
    t->over[i] = finished(t, s, i);
    const struct kind own = {through(t, s, i), s->turns[i].length};
    t->unseen = own.through == 0 && !seen_twice(s, &own, &own);
    if (t->unseen) return false;
    if ((j = find_kind(kinds, count, j, own)) < count) continue;
    if (count == MOST_KINDS) return false;
    for (j = 0; j < count && !t->unseen; j++)
      t->unseen = (kinds[j].through & own.through) == 0 && !seen_twice(s, &kinds[j], &own);
    if (t->unseen) return false;
    kinds[count++] = own;
  }
  return true;
}

/* ---- all of them ---- */

/* Fills `over` and `renewed`, if all slots that change go on. */
static bool put_together(struct sl_turning *t, const struct sl_periods *s, uint32_t copies) {
  const struct linker *k = s->k;
  const uint32_t slots = (uint32_t)k->rank_class->slot_count;
  if (!all_meet(t, s)) return false;
  for (uint32_t i = 0; i < slots; i++) {
    if (!sl_slot_changes(s, i)) continue;
    if (!renewed(t, s, i, copies, &t->renewed[i])) return false;
    /* after the copies a slot has another lifetime than now; with few copies it may have begun before the program */
    const int64_t first = (int32_t)t->renewed[i].first;
    t->renewed[i].slot = sl_slot_turned(s, i, copies);
    if (first <= k->lives->items[k->last_life[t->renewed[i].slot]].first) return false;
  }
  return true;
}

enum sl_status sl_turning_open(struct sl_turning *t, const struct sl_periods *s, uint32_t copies) {
  const size_t slots = s->k->rank_class->slot_count;
  *t = (struct sl_turning){.goes_on = s->longest == 1};
  if (t->goes_on || !ripe(s)) return SL_OK;
  SL_TRY(sl_malloc(&t->over, slots, sizeof *t->over));
  SL_TRY(sl_malloc(&t->renewed, slots, sizeof *t->renewed));
  SL_TRY(sl_malloc(&t->moved, slots, sizeof *t->moved));
  SL_TRY(sl_malloc(&t->newest, slots, sizeof *t->newest));
  SL_TRY(list_pieces(t, s));
  t->goes_on = put_together(t, s, copies);
  return SL_OK;
}

void sl_turning_close(struct sl_turning *t) {
  free(t->over);
  free(t->renewed);
  free(t->moved);
  free(t->newest);
  sl_added_close(&t->added);
  free(t->ahead);
  free(t->back);
}
