/* The static planner: assigns an offset in the arena to every buffer slot.
 *
 * Persistent buffers come first and share with nothing; behind them stand those that consist of pieces
 * (place/pieces.h), whose pieces may share like any other buffer but are placed by the whole. Two others may overlap
 * only if every lifetime of one is over before any lifetime of the other starts, under lane order plus waits
 * (place/waits.c's vector clocks). Placement is greedy: largest first, each at the lowest offset that no conflicting
 * item covers. If the result is more than a percent above the live bytes, placement in order of first use is tried too,
 * and if the better one is above two, where there are pieces, in order of last use; the smallest arena wins. */
#include "core/place/arena.h"

#include "core/place/busy.h"
#include "core/place/items.h"
#include "core/place/live.h"
#include "core/place/pieces.h"
#include "core/program/memory_report.h"

#include <stdlib.h>
#include <string.h>

enum {
  MOMENT_LIVES = 256,  /* that begin in a moment of sl_busy */
  MANY_CONFLICTS = 32, /* after which an item asks what is busy during its lives ... */
  OF_NOTING = 40       /* ... once so many were met for each item that is not noted yet, which takes about as long */
};

/* The part of a lifetime that is compared, stored compactly: most are used only by compute ops. */
struct span {
  uint32_t first, last; /* issues, counted over all programs */
  uint32_t done_compute, known_compute;
  uint32_t others; /* bit l: ops of lane l, other than compute, use it */
  enum sl_program_kind program;
};

struct planner {
  struct sl_class *c;
  enum sl_space space;
  const struct sl_lives *all; /* by program and first use */
  uint32_t *order;            /* lives in this space: by slot, program and first use */
  struct span *spans;         /* of each in that order */
  size_t life_count;
  struct sl_item *items; /* by slot */
  struct sl_item **turn; /* the same in the order in which they are placed */
  size_t item_count;
  int64_t persistent; /* bytes */
  int64_t fixed;      /* the end of buffers that consist of pieces, which begin behind those */
  uint32_t peak;      /* issue, counted over all programs, at which most bytes are live */
  struct sl_items placed[SL_SIZE_CLASSES];
  uint64_t used;                  /* bit n: placed[n] has items */
  struct sl_busy_life around;     /* issues around the peak, within which most of what is short-lived begins to live */
  struct sl_busy_runs at_peak;    /* occupied by placed items that are live at the peak ... */
  struct sl_busy_runs throughout; /* ... and by those that are live throughout `around` */
  size_t placed_count;            /* items, from the first in turn on, that have a place */
  size_t noted;                   /* those of them that `busy` has */
  size_t met;                     /* conflicts, as far as asking `busy` has not wasted as much time */
  struct sl_busy busy;            /* by placed items, during their noted lives */
  const struct sl_buffer **buffer_of; /* per slot; NULL: of another space */
};

static const struct sl_life *life_of(const struct planner *p, const struct span *span) {
  return &p->all->items[p->order[span - p->spans]];
}

/* Is lifetime `a` certain to be over before `b` starts? */
static bool over_before(const struct planner *p, const struct span *a, const struct span *b) {
  if (a->done_compute > b->known_compute) return false;
  for (uint32_t lanes = a->others; lanes != 0; lanes &= lanes - 1) {
    const int lane = __builtin_ctz(lanes);
    if (life_of(p, a)->done[lane] > life_of(p, b)->known[lane]) return false;
  }
  return true;
}

/* Spans in order of time, without overlap: those of an item, or of all items at the same place. */
struct line {
  const uint32_t *at; /* NULL: all from `first` on */
  size_t first, count;
};

static const struct span *span_at(const struct planner *p, const struct line *line, size_t i) {
  return &p->spans[line->at != NULL ? line->at[i] : line->first + i];
}

/* Those at the place of `item`, the first that got it. */
static struct line line_of(const struct sl_item *item) {
  const bool alone = item->shared_count == 0;
  return (struct line){
      .at = alone ? NULL : item->shared, .first = item->first_life, .count = alone ? item->lives : item->shared_count};
}

/* The first span of a line, from `low` on, that is not over before issue `first`. */
static size_t not_over(const struct planner *p, const struct line *line, size_t low, uint32_t first) {
  for (size_t high = line->count; low < high;) {
    const size_t middle = (low + high) / 2;
    if (span_at(p, line, middle)->last < first) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static bool apart(const struct planner *p, const struct span *a, const struct span *b) {
  return a->program != b->program || over_before(p, a, b);
}

/* Do two items have noted lives that overlap? Of those that conflict, most do. */
static bool noted_at_once(const struct sl_item *x, const struct sl_item *y) {
  for (int i = 0; i < SL_NOTED_LIVES; i++)
    for (int j = 0; j < SL_NOTED_LIVES; j++)
      if (x->noted[i].first <= y->noted[j].last && y->noted[j].first <= x->noted[i].last) return true;
  return false;
}

/* Only neighbours in time need comparing: of items at the same place the later one waits for the earlier, so what is
 * over before the earlier is over before the later too. */
static bool conflict(const struct planner *p, const struct sl_item *x, const struct sl_item *placed) {
  struct line few = {.first = x->first_life, .count = x->lives};
  struct line many = line_of(placed);
  if (noted_at_once(x, placed)) return true;
  if (few.count > many.count) {
    const struct line other = few;
    few = many, many = other;
  }
  for (size_t i = 0, at = 0; i < few.count; i++) {
    const struct span *a = span_at(p, &few, i);
    p->c->work.compared++;
    at = not_over(p, &many, at, a->first);
    const struct span *next = at < many.count ? span_at(p, &many, at) : NULL;
    if (next != NULL && (next->first <= a->last || !apart(p, a, next))) return true;
    if (at > 0 && !apart(p, span_at(p, &many, at - 1), a)) return true;
  }
  return false;
}

/* Adds the spans of `x`, which gets the place of `placed`, to those that share it. */
static enum sl_status share(const struct planner *p, struct sl_item *placed, const struct sl_item *x) {
  if (placed->shared_count == 0 && placed != x) SL_TRY(share(p, placed, placed));
  SL_TRY(sl_room(&placed->shared, &placed->shared_capacity, placed->shared_count + x->lives, sizeof *placed->shared));
  size_t to = placed->shared_count += x->lives, kept = to - x->lives;
  for (size_t left = x->lives; left > 0; to--) { /* from the latest on, as in merging two sorted lists */
    const uint32_t own = (uint32_t)(x->first_life + left - 1);
    const bool theirs = kept > 0 && p->spans[placed->shared[kept - 1]].first > p->spans[own].first;
    placed->shared[to - 1] = theirs ? placed->shared[--kept] : own;
    left -= !theirs;
  }
  return SL_OK;
}

/* A search for the place of an item. */
struct search {
  const struct sl_item *x;
  int64_t offset; /* all below it is in the way of something */
  int met;        /* conflicts so far */
  int ask, wait;  /* what is busy is asked for after so many of them, and then after so many more */
};

/* Moments are as long as some lives take to begin, so that what is shorter conflicts with few. */
static enum sl_status open_busy(struct planner *p) {
  enum sl_status status;
  uint32_t *starts = NULL, last = 0;
  size_t count = 0, seen = 0;
  SL_GO(sl_malloc(&starts, p->life_count / MOMENT_LIVES, sizeof *starts));
  for (size_t i = 0; i < p->all->count; i++) {
    const struct sl_life *life = &p->all->items[i];
    if (p->buffer_of[life->slot] == NULL || ++seen % MOMENT_LIVES > 0) continue;
    const uint32_t first = sl_live_first_issue(p->c, life->program) + life->first;
    if (first > last) starts[count++] = last = first;
  }
  SL_GO(sl_busy_open(&p->busy, starts, count));
done:
  free(starts);
  return status;
}

/* Notes what the placed items occupy, as far as that has not been done. */
static enum sl_status note_placed(struct planner *p) {
  if (p->busy.nodes == NULL) SL_TRY(open_busy(p));
  for (; p->noted < p->placed_count; p->noted++) {
    const struct sl_item *other = p->turn[p->noted];
    for (int i = 0; i < SL_NOTED_LIVES && other->bytes > 0; i++)
      SL_TRY(sl_busy_add(&p->busy, other->offset, other->offset + other->bytes, other->noted[i]));
  }
  return SL_OK;
}

/* Items that are live at once, most of all at the peak, make up most of the pairs. What they occupy is therefore passed
 * over without comparing them one by one; some of it is left to be found by that. Most items meet few others, and ask
 * only what is occupied at the peak; those that asked in vain, since what they meet is over when they begin but not
 * certain to be, wait ever longer before they ask again. Nor is anything noted before what was met has taken as long as
 * noting will, less what asking in vain has wasted of that. */
static enum sl_status pass_noted(struct planner *p, struct search *s) {
  const int64_t before = s->offset;
  SL_TRY(note_placed(p));
  for (int i = 0; i < SL_NOTED_LIVES; i++) s->offset = sl_busy_pass(&p->busy, s->offset, s->x->bytes, s->x->noted[i]);
  s->wait = s->offset > before ? 1 : 2 * s->wait;
  if (s->offset == before) p->met /= 2;
  s->ask = s->met + s->wait;
  return SL_OK;
}

static inline enum sl_status pass_busy(struct planner *p, struct search *s) {
  if (s->x->at_peak) s->offset = sl_busy_runs_pass(&p->at_peak, s->offset, s->x->bytes);
  if (s->x->near_peak) s->offset = sl_busy_runs_pass(&p->throughout, s->offset, s->x->bytes);
  const bool asks = s->met >= s->ask && p->met >= OF_NOTING * (p->placed_count - p->noted);
  return asks ? pass_noted(p, s) : SL_OK;
}

/* Goes on to where nothing of a size class is in the way; *at: the first of them that was not compared yet. */
static enum sl_status pass_class(struct planner *p, struct search *s, int n, size_t *at) {
  const struct sl_items *l = &p->placed[n];
  const int64_t reach = (INT64_C(2) << n) - 1; /* most bytes of one of them */
  *at = sl_items_from(l, *at, s->offset - reach + 1);
  while (*at < l->count && sl_items_at(l, *at)->offset < s->offset + s->x->bytes) {
    const struct sl_item *other = sl_items_at(l, (*at)++);
    const int64_t end = other->offset + other->bytes;
    if (end <= s->offset || !conflict(p, s->x, other)) continue;
    s->offset = end;
    s->met++, p->met++;
    SL_TRY(pass_busy(p, s));
    *at = sl_items_from(l, *at, s->offset - reach + 1);
  }
  return SL_OK;
}

/* Gives `x` the lowest offset at which it overlaps no placed item that it conflicts with. Only items that would overlap
 * the place in question are compared in time: items below it or above its end do not matter. */
static enum sl_status find_place(struct planner *p, struct sl_item *x) {
  size_t at[SL_SIZE_CLASSES] = {0};
  struct search s = {.x = x, .offset = p->persistent, .ask = MANY_CONFLICTS, .wait = 1};
  if (x->fixed) return SL_OK;
  SL_TRY(pass_busy(p, &s));
  for (int64_t before = -1; before < s.offset;) { /* what makes way for one item may be in the way of another */
    before = s.offset;
    for (uint64_t rest = p->used; rest != 0; rest &= rest - 1) {
      const int n = __builtin_ctzll(rest);
      if (p->placed[n].top > s.offset) SL_TRY(pass_class(p, &s, n, &at[n]));
    }
  }
  x->offset = s.offset;
  return SL_OK;
}

/* Adds `x` to the placed items: to one that has the same bytes, or by itself. */
static enum sl_status put(struct planner *p, struct sl_item *x) {
  struct sl_items *l = &p->placed[sl_size_class(x->bytes)];
  const size_t at = sl_items_from(l, 0, x->offset);
  for (size_t i = at; i < l->count && sl_items_at(l, i)->offset == x->offset; i++)
    if (sl_items_at(l, i)->bytes == x->bytes) return share(p, sl_items_at(l, i), x);
  sl_items_insert(l, at, x);
  p->used |= UINT64_C(1) << sl_size_class(x->bytes);
  return SL_OK;
}

/* Places items in their turn above the persistent buffers; *top: the arena's size, or, once one ends there or above,
 * `limit`. */
static enum sl_status place(struct planner *p, int64_t limit, int64_t *top) {
  for (int n = 0; n < SL_SIZE_CLASSES; n++) p->placed[n].count = p->placed[n].low = 0, p->placed[n].top = 0;
  p->used = 0;
  *top = p->fixed;
  p->at_peak.count = p->throughout.count = p->placed_count = p->noted = p->met = 0;
  sl_busy_clear(&p->busy);
  for (size_t i = 0; i < p->item_count; i++) p->items[i].shared_count = 0;
  for (; p->placed_count < p->item_count && *top < limit; p->placed_count++) {
    struct sl_item *x = p->turn[p->placed_count];
    SL_TRY(find_place(p, x));
    const int64_t end = x->offset + x->bytes;
    if (end > *top) *top = end < limit ? end : limit;
    if (x->at_peak && x->bytes > 0) SL_TRY(sl_busy_runs_add(&p->at_peak, x->offset, end));
    if (x->stays && x->bytes > 0) SL_TRY(sl_busy_runs_add(&p->throughout, x->offset, end));
    SL_TRY(put(p, x));
  }
  return SL_OK;
}

static void take_offsets(const struct planner *p) {
  for (size_t i = 0; i < p->item_count; i++) p->c->slot_offsets[p->items[i].slot] = p->items[i].offset;
}

static enum sl_status place_best(struct planner *p, int64_t live_peak) {
  enum sl_status status;
  struct sl_item **room;
  /* slots are numbered in order of first use */
  int (*const orders[])(const void *, const void *) = {sl_items_by_size, sl_items_by_slot, sl_items_by_end};
  const int64_t enough[] = {0, live_peak + live_peak / 100, live_peak + live_peak / 50};
  const int count = p->fixed > p->persistent ? 3 : 2;
  int64_t best = INT64_MAX, other;
  SL_GO(sl_malloc(&room, p->item_count, sizeof *room));
  sl_items_deal(p->placed, p->items, p->item_count, room);
  for (int i = 0; i < count && best > enough[i]; i++) {
    qsort(p->turn, p->item_count, sizeof *p->turn, orders[i]);
    SL_GO(place(p, best, &other));
    if (other >= best) continue;
    best = other;
    take_offsets(p);
  }
  p->c->arena_bytes[p->space] = best;
done:
  free(room);
  return status;
}

static struct span span_of(const struct sl_life *life, uint32_t base) {
  _Static_assert(SL_LANE_COUNT <= 32, "a bit for every lane");
  return (struct span){.first = base + life->first,
                       .last = base + life->last,
                       .done_compute = life->done[SL_LANE_COMPUTE],
                       .known_compute = life->known[SL_LANE_COMPUTE],
                       .others = life->lanes & ~(UINT32_C(1) << SL_LANE_COMPUTE),
                       .program = life->program};
}

static void place_persistent(struct planner *p) {
  struct sl_class *c = p->c;
  for (size_t i = 0; i < c->buffer_count; i++) {
    const struct sl_buffer *b = &c->buffers[i];
    for (int s = 0; s < b->slots && b->space == p->space; s++) {
      p->buffer_of[b->first_slot + s] = b;
      if (!b->persistent) continue;
      c->slot_offsets[b->first_slot + s] = p->persistent;
      p->persistent += sl_live_aligned(b->bytes);
    }
  }
  p->fixed = sl_pieces_place(c, p->space, p->persistent);
}

/* Sorts the lifetimes in this space by slot; those of a slot keep their order, by program and first use. */
static enum sl_status order_lives(struct planner *p) {
  uint32_t *next; /* by slot: where its next life goes */
  SL_TRY(sl_calloc(&next, p->c->slot_count + 1, sizeof *next));
  for (size_t i = 0; i < p->all->count; i++)
    if (p->buffer_of[p->all->items[i].slot] != NULL) next[p->all->items[i].slot + 1]++;
  for (size_t i = 0; i < p->c->slot_count; i++) next[i + 1] += next[i];
  p->life_count = next[p->c->slot_count];
  for (size_t i = 0; i < p->all->count; i++)
    if (p->buffer_of[p->all->items[i].slot] != NULL) p->order[next[p->all->items[i].slot]++] = (uint32_t)i;
  free(next);
  return SL_OK;
}

static enum sl_status gather_items(struct planner *p) {
  struct sl_class *c = p->c;
  SL_TRY(sl_malloc(&p->order, p->all->count, sizeof *p->order));
  SL_TRY(sl_malloc(&p->spans, p->all->count, sizeof *p->spans));
  SL_TRY(sl_calloc(&p->items, c->slot_count, sizeof *p->items));
  SL_TRY(sl_malloc(&p->turn, c->slot_count, sizeof *p->turn));
  SL_TRY(order_lives(p));
  for (size_t i = 0; i < p->life_count; i++) {
    const struct sl_life *life = life_of(p, &p->spans[i]);
    p->spans[i] = span_of(life, sl_live_first_issue(c, life->program));
    const uint32_t slot = life->slot;
    if (p->item_count == 0 || p->items[p->item_count - 1].slot != slot) {
      p->items[p->item_count++] = (struct sl_item){.slot = slot,
                                                   .bytes = sl_live_aligned(p->buffer_of[slot]->bytes),
                                                   .first_life = i,
                                                   .fixed = p->buffer_of[slot]->piece,
                                                   .offset = c->slot_offsets[slot]};
    }
    p->items[p->item_count - 1].lives++;
    if (life->program == SL_PROGRAM_STEP) p->items[p->item_count - 1].over = p->spans[i].last;
  }
  for (size_t i = 0; i < p->item_count; i++) p->turn[i] = &p->items[i];
  return SL_OK;
}

/* How far from the peak the last life before it begins of an item that is over then; without one, its first life. */
static uint32_t beyond_peak(const struct planner *p, const struct sl_item *x) {
  const struct line own = {.first = x->first_life, .count = x->lives};
  const size_t next = not_over(p, &own, 0, p->peak);
  const uint32_t first = span_at(p, &own, next > 0 ? next - 1 : 0)->first;
  return first < p->peak ? p->peak - first : first - p->peak;
}

/* What lives again and again, for a short time, meets all that stays meanwhile, as what lives at the peak meets all that
 * lives there. `around` reaches as far as three in four of such items need, to the next power of two. */
static void find_around(struct planner *p) {
  size_t within[32] = {0}, all = 0; /* by bits of the distance: there are fewer than 2^31 issues */
  int bits = 0;
  for (const struct sl_item *x = p->items; x < p->items + p->item_count; x++)
    if (!x->at_peak && x->lives >= SL_NOTED_LIVES) within[31 - __builtin_clz(2 * beyond_peak(p, x) + 1)]++, all++;
  for (size_t reached = within[0]; 4 * reached < 3 * all;) reached += within[++bits];
  const uint32_t reach = (uint32_t)((UINT64_C(1) << bits) - 1);
  p->around.first = p->peak > reach ? p->peak - reach : 0;
  p->around.last = p->peak < UINT32_MAX - reach ? p->peak + reach : UINT32_MAX;
}

/* Marks the items that are live at the peak, or around it, once it is known. */
static void mark_items(struct planner *p) {
  for (size_t i = 0; i < p->item_count; i++) {
    struct sl_item *x = &p->items[i];
    for (size_t k = x->first_life; k < x->first_life + x->lives; k++)
      x->at_peak = x->at_peak || (p->spans[k].first <= p->peak && p->peak <= p->spans[k].last);
    const struct span *a = &p->spans[x->first_life], *z = a + x->lives - 1, *second = a < z ? a + 1 : a;
    for (int n = 0; n < SL_NOTED_LIVES; n++) x->noted[n] = (struct sl_busy_life){UINT32_MAX, 0}; /* none */
    x->noted[0] = (struct sl_busy_life){a->first, a->last};
    if (x->lives > 1) x->noted[1] = (struct sl_busy_life){second->first, second->last};
    if (x->lives > 2) x->noted[2] = (struct sl_busy_life){z->first, z->last};
  }
  find_around(p);
  for (struct sl_item *x = p->items; x < p->items + p->item_count; x++) {
    x->near_peak = !x->at_peak && beyond_peak(p, x) <= p->around.last - p->peak;
    for (int k = 0; k < SL_NOTED_LIVES; k++)
      x->stays |= x->noted[k].first <= p->around.first && p->around.last <= x->noted[k].last;
  }
}

static enum sl_status place_space(struct sl_class *c, enum sl_space space, const struct sl_lives *lives,
                                  const struct sl_build_options *options) {
  enum sl_status status;
  struct sl_memory_report *r = &c->memory[space];
  struct planner p = {.c = c, .space = space, .all = lives};
  SL_GO(sl_calloc(&p.buffer_of, c->slot_count, sizeof *p.buffer_of));
  place_persistent(&p);
  SL_GO(sl_live_report(c, space, lives, p.buffer_of, options->memory_curve, &p.peak));
  if (space == SL_SPACE_DEVICE && options->most_live > 0 && r->live_peak_bytes > options->most_live) SL_GO(SL_DONE);
  if (options->unplaced) goto done;
  SL_GO(gather_items(&p));
  mark_items(&p);
  SL_GO(place_best(&p, r->live_peak_bytes));
  r->peak_bytes = c->arena_bytes[space];
  r->fragmentation = r->peak_bytes - r->live_peak_bytes;
done:
  free(p.order);
  free(p.spans);
  for (size_t i = 0; p.items != NULL && i < p.item_count; i++) free(p.items[i].shared);
  free(p.items);
  free(p.turn);
  free(p.buffer_of);
  free(p.at_peak.at);
  free(p.throughout.at);
  sl_busy_close(&p.busy);
  return status;
}

/* An empty space has nothing to report but a flat curve. */
static bool is_used(const struct sl_class *c, enum sl_space space) {
  for (size_t i = 0; i < c->buffer_count; i++)
    if (c->buffers[i].space == space) return true;
  return false;
}

enum sl_status sl_arena_place(struct sl_class *c, const struct sl_lives *lives,
                              const struct sl_build_options *options) {
  SL_TRY(sl_calloc(&c->slot_offsets, c->slot_count, sizeof *c->slot_offsets));
  SL_TRY(sl_calloc(&c->memory, SL_SPACE_COUNT, sizeof *c->memory));
  for (int space = 0; space < SL_SPACE_COUNT; space++)
    if (options->memory_curve || is_used(c, (enum sl_space)space))
      SL_TRY(place_space(c, (enum sl_space)space, lives, options));
  return SL_OK;
}
