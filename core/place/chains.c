/* Copies periods of an open run; see chains.h.
 *
 * A slot stands at a place of its chain, and each period moves on by one place: what a period does to the slot at a
 * place, the next does to the slot behind. So each chain has a window, the places that the last period uses, whose end
 * moves on to a slot that the run has not used yet. Copying gives what deriving would (periods.h says why) if what the
 * histories of slots in and behind the window name from before the periods were identical does not matter: no op that is
 * to come has to wait for it, because its lane knows that it is complete.
 *
 * Lifetimes of slots that do not change are left out of the copies, as periods.h says, unless s->whole. That no overlap
 * is missed is proved at the end: a slot of a chain must live through one derived period of its run, and so overlaps all
 * that lives in one. Since a slot may begin to live late, when its window has almost passed, some periods at the end of
 * the run are left to be derived. What is live at a place of the period grows or shrinks by the same from copy to copy,
 * so the peak is in a period that was derived. */
#include "core/place/chains.h"

#include "core/place/added.h"
#include "core/place/copies.h"

#include <stdlib.h>
#include <string.h>

/* The places of a chain that the last period uses. */
struct window {
  uint32_t low, high;
  bool used;
};

struct chains {
  struct sl_periods *s;
  struct sl_added added;
  struct window *windows;          /* by s->order: of the chain that begins there */
  bool *begins;                    /* by piece: a lifetime begins with it */
  uint32_t spare;                  /* periods that are left to be derived */
  uint32_t certain[SL_LANE_COUNT]; /* so many ops of a lane are complete for all that is to come of other lanes */
};

static struct window *window_of(const struct chains *c, uint32_t slot) {
  return &c->windows[c->s->turns[slot].first];
}

/* The slot that stands `further` places behind `slot`. */
static uint32_t slot_behind(const struct sl_periods *s, uint32_t slot, uint32_t further) {
  return s->order[s->turns[slot].first + s->turns[slot].at + further];
}

/* ---- windows ---- */

static void widen(struct window *w, uint32_t place) {
  if (!w->used || place < w->low) w->low = place;
  if (!w->used || place > w->high) w->high = place;
  w->used = true;
}

/* False: a chain is of slots without lifetimes of their own, which are not copied. */
static bool find_windows(struct chains *c) {
  const struct linker *k = c->s->k;
  const struct sl_program *p = k->p;
  const size_t end = p->issue_count - sl_issues_repeated(p);
  for (size_t i = end - c->added.step.issue; i < end; i++) {
    const struct sl_op *op = &p->ops[p->issues[i].op];
    const struct sl_use *uses = &k->uses[k->first_use[p->issues[i].op]];
    for (const struct sl_use *use = uses; use < uses + op->slice_count; use++) {
      const uint32_t slot = sl_use_slot(use, p, &p->instances[p->issues[i].instance]);
      if (!sl_slot_changes(c->s, slot)) continue;
      if (!use->lives || use->pieces) return false;
      widen(window_of(c, slot), c->s->turns[slot].at);
    }
  }
  return true;
}

/* ---- what is certain ---- */

/* The lanes of slots that change on which anything is still to come. */
static enum sl_status lanes_to_come(const struct sl_periods *s, uint32_t *lanes) {
  const struct sl_program *p = s->k->p;
  const struct sl_mark *here = &s->marks[s->count - 1];
  bool *seen; /* by the first op of an instance */
  *lanes = 0;
  SL_TRY(sl_calloc(&seen, p->op_count, sizeof *seen));
  for (uint32_t lane = 0; lane < SL_LANE_COUNT; lane++)
    if (sl_mark_ops(here - 1, here, lane) > 0) *lanes |= UINT32_C(1) << lane;
  for (size_t i = s->r.end; i < p->instance_count && (s->lanes & ~*lanes) != 0; i++) {
    const struct sl_instance *n = &p->instances[i];
    for (int32_t o = n->first_op; !seen[n->first_op] && o < n->first_op + n->op_count; o++)
      *lanes |= UINT32_C(1) << p->ops[o].lane;
    seen[n->first_op] = true;
  }
  *lanes &= s->lanes;
  free(seen);
  return SL_OK;
}

static enum sl_status find_certain(struct chains *c) {
  const struct linker *k = c->s->k;
  uint32_t lanes;
  SL_TRY(lanes_to_come(c->s, &lanes));
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) c->certain[lane] = UINT32_MAX;
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = __builtin_ctz(lanes);
    const uint32_t count = k->p->lane_ops[lane];
    const uint32_t *clock = count > 0 ? sl_clock_behind(k, lane, count) : NULL;
    for (int other = 0; other < SL_LANE_COUNT; other++) {
      const uint32_t known = other == lane ? UINT32_MAX : clock != NULL ? clock[other] : 0;
      if (known < c->certain[other]) c->certain[other] = known;
    }
  }
  return SL_OK;
}

/* Is all that the history of a slot names complete for certain, or after `since`? */
static bool history_known(const struct chains *c, uint32_t slot, const struct sl_mark *since) {
  const struct sl_history *h = &c->s->k->histories[slot];
  for (size_t i = 0; i < h->count; i++) {
    const struct sl_span *x = sl_span_at(h, i);
    const int writer = x->writer_lane;
    if (writer >= 0 && x->written > c->certain[writer] && x->written <= since->lane_ops[writer]) return false;
    for (uint32_t lanes = x->readers; lanes != 0; lanes &= lanes - 1) {
      const int lane = __builtin_ctz(lanes);
      if (x->read[lane] > c->certain[lane] && x->read[lane] <= since->lane_ops[lane]) return false;
    }
  }
  return true;
}

static bool histories_known(const struct chains *c, uint32_t copies) {
  const struct sl_periods *s = c->s;
  const struct sl_mark *since = &s->marks[s->alike + 1];
  for (uint32_t first = 0; first < s->k->rank_class->slot_count; first += s->turns[s->order[first]].length) {
    const struct window *w = &c->windows[first];
    for (uint32_t place = w->low; w->used && place <= w->high + copies; place++)
      if (!history_known(c, s->order[first + place], since)) return false;
  }
  return true;
}

/* Does a copy begin, or go on with, the lifetimes of slots that the run has not used yet as the last period did? */
static bool lives_alike(const struct chains *c, uint32_t copies) {
  const struct linker *k = c->s->k;
  for (size_t i = 0; i < c->added.pieces.count; i++) {
    const struct sl_life *piece = &c->added.pieces.items[i];
    if (!sl_slot_changes(c->s, piece->slot) || piece->before >= 0) continue;
    if (c->s->turns[piece->slot].at < window_of(c, piece->slot)->high) continue;
    for (uint32_t n = 1; n <= copies; n++) {
      const int32_t newest = k->last_life[slot_behind(c->s, piece->slot, n)];
      const struct sl_life *life = newest >= 0 ? &k->lives->items[newest] : NULL;
      const int32_t key = piece->micro_batch >= 0 ? piece->micro_batch + (int32_t)n * c->added.micro_batches : -1;
      const bool same = life != NULL && life->buffer == piece->buffer && life->micro_batch == key;
      if (same == c->begins[i]) return false;
    }
  }
  return true;
}

/* ---- what copies leave behind ---- */

/* Lifetimes, copy by copy; those of slots that do not change only if nothing is left out. */
static enum sl_status copy_lives(const struct chains *c, uint32_t copies) {
  struct linker *k = c->s->k;
  for (uint32_t n = 1; n <= copies; n++) {
    for (size_t i = 0; i < c->added.pieces.count; i++) {
      const struct sl_life *piece = &c->added.pieces.items[i];
      if (!sl_slot_changes(c->s, piece->slot) && !c->s->whole) continue;
      struct sl_life life = sl_added_shifted(&c->added, piece, n);
      if (sl_slot_changes(c->s, piece->slot)) life.slot = slot_behind(c->s, piece->slot, n);
      life.before = k->last_life[life.slot];
      if (!c->begins[i]) {
        sl_added_join(&k->lives->items[life.before], &life);
        continue;
      }
      SL_TRY(sl_lives_room(k->lives, k->rank_class->slot_count));
      k->last_life[life.slot] = (int32_t)k->lives->count;
      k->lives->items[k->lives->count++] = life;
    }
  }
  return SL_OK;
}

/* The history of `to` becomes that of `from`. */
static enum sl_status copy_history(struct linker *k, uint32_t from, uint32_t to) {
  const struct sl_history *x = &k->histories[from];
  struct sl_history *h = &k->histories[to];
  if (x->count > h->capacity) {
    if (h->capacity > 1) free(h->spans);
    *h = (struct sl_history){.spans = &k->first_spans[to], .capacity = 1};
    struct sl_span *spans;
    SL_TRY(sl_malloc(&spans, x->count, sizeof *spans));
    *h = (struct sl_history){.spans = spans, .capacity = x->count};
  }
  for (size_t i = 0; i < x->count; i++) h->spans[i] = *sl_span_at(x, i);
  h->count = h->low = x->count;
  return SL_OK;
}

/* After the copies a slot in the window, or that the copies have passed, has the history that another has now: the one
 * that stands where it stands then, or that the last period has left behind. */
static enum sl_status copy_histories(const struct chains *c, uint32_t copies) {
  const struct sl_periods *s = c->s;
  const struct sl_mark *here = &s->marks[s->count - 1];
  for (uint32_t first = 0; first < s->k->rank_class->slot_count; first += s->turns[s->order[first]].length) {
    const struct window *w = &c->windows[first];
    if (!w->used) continue;
    for (uint32_t place = w->high + copies; place > w->low; place--) {
      const uint32_t back = place - w->low < copies ? place - w->low : copies;
      const struct sl_mark jump = sl_mark_distance(here - 1, here, back);
      SL_TRY(copy_history(s->k, s->order[first + place - back], s->order[first + place]));
      sl_copies_move_history(s->k, s->order[first + place], &s->marks[s->alike], &jump);
    }
  }
  return SL_OK;
}

/* ---- what copies leave out ---- */

/* So many periods are left to be derived at the end of the run, that every slot that the copies use begins to live in
 * front of the last. */
static uint32_t spare_periods(const struct chains *c) {
  uint32_t widest = 0;
  for (uint32_t i = 0; i < c->s->k->rank_class->slot_count; i++) {
    const struct window *w = &c->windows[i];
    if (w->used && w->high - w->low > widest) widest = w->high - w->low;
  }
  return c->s->whole ? 0 : widest + 1;
}

/* Lists the slots of chains that the copies have used. */
static enum sl_status list_chained(const struct chains *c, uint32_t copies) {
  struct sl_periods *s = c->s;
  const uint32_t length = c->added.step.issue, here = s->marks[s->count - 1].issue;
  const struct sl_chained own = {
      .length = length, .derived = {s->marks[0].issue, here - length, here + (copies + c->spare - 1) * length}};
  for (uint32_t first = 0; first < s->k->rank_class->slot_count; first += s->turns[s->order[first]].length) {
    const struct window *w = &c->windows[first];
    for (uint32_t place = w->low + 1; w->used && place <= w->high + copies; place++) {
      SL_TRY(sl_room(&s->chained, &s->chained_capacity, s->chained_count + 1, sizeof *s->chained));
      s->chained[s->chained_count] = own;
      s->chained[s->chained_count++].slot = s->order[first + place];
    }
  }
  return SL_OK;
}

void sl_chains_end(struct sl_periods *s) {
  for (; s->chained_over < s->chained_count; s->chained_over++)
    s->chained[s->chained_over].life = s->k->last_life[s->chained[s->chained_over].slot];
}

static bool lives_through(const struct linker *k, const struct sl_chained *x) {
  for (int32_t i = x->life; i >= 0; i = k->lives->items[i].before) {
    const struct sl_life *life = &k->lives->items[i];
    for (int w = 0; w < SL_CHAINED_PERIODS; w++)
      if (life->first <= x->derived[w] && life->last >= x->derived[w] + x->length - 1) return true;
  }
  return false;
}

bool sl_chains_met(const struct sl_periods *s) {
  for (size_t i = 0; i < s->chained_count; i++)
    if (!lives_through(s->k, &s->chained[i])) return false;
  return true;
}

/* ---- all of it ---- */

static enum sl_status open_chains(struct chains *c) {
  const struct sl_periods *s = c->s;
  SL_TRY(sl_calloc(&c->windows, s->k->rank_class->slot_count, sizeof *c->windows));
  SL_TRY(sl_added_open(&c->added, s));
  SL_TRY(sl_malloc(&c->begins, c->added.pieces.count, sizeof *c->begins));
  for (size_t i = 0; i < c->added.pieces.count; i++) c->begins[i] = sl_added_begins(s, &c->added.pieces.items[i]);
  return find_certain(c);
}

static void close_chains(struct chains *c) {
  sl_added_close(&c->added);
  free(c->windows);
  free(c->begins);
}

enum sl_status sl_chains_copy(struct sl_periods *s, uint32_t left, uint32_t *copies) {
  enum sl_status status;
  struct chains c = {.s = s};
  *copies = 0;
  SL_GO(open_chains(&c));
  if (!find_windows(&c)) goto done;
  c.spare = spare_periods(&c);
  const uint32_t count = left > c.spare ? left - c.spare : 0;
  if (count == 0 || !histories_known(&c, count) || !lives_alike(&c, count)) goto done;
  SL_GO(sl_copies_write(s, count));
  sl_copies_move_slots(s, count, !s->whole);
  SL_GO(copy_lives(&c, count));
  SL_GO(copy_histories(&c, count));
  if (!s->whole) SL_GO(list_chained(&c, count));
  *copies = count;
done:
  close_chains(&c);
  return status;
}
