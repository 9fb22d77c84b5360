/* The static planner: an offset in the arena for every buffer slot, and what is live when.
 *
 * Persistent buffers stand first and share with nobody. Two others may overlap only if every life of one is over before
 * any life of the other starts, under lane order plus waits (link.c's vector clocks). Placement is greedy: largest
 * first, each at the lowest offset that no conflicting neighbour covers; where that leaves more than a few percent over
 * the live bytes, placement in order of first use is tried too and the smaller arena wins. */
#include <stdlib.h>
#include <string.h>

#include "core/lower.h"
#include "core/memory.h"

struct item {
  uint32_t slot;
  int64_t bytes;            /* aligned */
  size_t first_life, lives; /* in planner.lives, sorted by program and first use */
  int64_t offset;
};

struct planner {
  struct sl_class *c;
  enum sl_space space;
  struct sl_life *lives; /* sorted by slot, program, first use */
  size_t life_count;
  struct item *items;
  size_t item_count;
  int64_t persistent;                 /* bytes */
  const struct sl_buffer **buffer_of; /* per slot */
};

static int64_t aligned(int64_t bytes) {
  return (bytes + SL_ALIGN - 1) / SL_ALIGN * SL_ALIGN;
}

static int by_slot(const void *a, const void *b) {
  const struct sl_life *x = a, *y = b;
  if (x->slot != y->slot) return x->slot < y->slot ? -1 : 1;
  if (x->program != y->program) return x->program < y->program ? -1 : 1;
  return x->first < y->first ? -1 : x->first > y->first;
}

static int by_size(const void *a, const void *b) {
  const struct item *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
  return x->slot < y->slot ? -1 : 1;
}

static int by_slot_number(const void *a, const void *b) {
  const struct item *x = a, *y = b;
  return x->slot < y->slot ? -1 : 1;
}

static bool over_before(const struct sl_life *a, const struct sl_life *b) {
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) {
    if (a->done[lane] > b->known[lane]) return false;
  }
  return true;
}

/* Neighbours in time decide: a later life of a slot waits for the earlier one, so what is over before the earlier is
 * over before the later too. */
static bool conflict(const struct planner *p, const struct item *x, const struct item *y) {
  const struct sl_life *a = &p->lives[x->first_life], *a_end = a + x->lives;
  const struct sl_life *b = &p->lives[y->first_life], *b_end = b + y->lives;
  while (a < a_end && b < b_end) {
    if (a->program != b->program) {
      if (a->program < b->program) {
        a++;
      } else {
        b++;
      }
      continue;
    }
    if (a->first <= b->last && b->first <= a->last) return true;
    const bool a_first = a->last < b->first;
    if (!(a_first ? over_before(a, b) : over_before(b, a))) return true;
    if (a_first) {
      a++;
    } else {
      b++;
    }
  }
  return false;
}

static int by_offset(const void *a, const void *b) {
  const struct item *x = *(const struct item *const *)a, *y = *(const struct item *const *)b;
  return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Place items in their present order above the persistent buffers; returns the arena's size. */
static int64_t place(const struct planner *p, const struct item **scratch) {
  int64_t top = p->persistent;
  for (size_t i = 0; i < p->item_count; i++) {
    struct item *x = &p->items[i];
    size_t n = 0;
    for (size_t j = 0; j < i; j++) {
      if (conflict(p, x, &p->items[j])) scratch[n++] = &p->items[j];
    }
    qsort(scratch, n, sizeof *scratch, by_offset);
    x->offset = p->persistent;
    for (size_t j = 0; j < n && scratch[j]->offset < x->offset + x->bytes; j++) {
      const int64_t end = scratch[j]->offset + scratch[j]->bytes;
      if (end > x->offset) x->offset = end;
    }
    if (x->offset + x->bytes > top) top = x->offset + x->bytes;
  }
  return top;
}

static void take_offsets(const struct planner *p) {
  for (size_t i = 0; i < p->item_count; i++) p->c->slot_offsets[p->items[i].slot] = p->items[i].offset;
}

static enum sl_status place_best(struct planner *p, int64_t live_peak) {
  const struct item **scratch;
  SL_TRY(sl_calloc(&scratch, p->item_count, sizeof *scratch));
  qsort(p->items, p->item_count, sizeof *p->items, by_size);
  int64_t best = place(p, scratch);
  take_offsets(p);
  if (best > live_peak + live_peak / 50) {
    qsort(p->items, p->item_count, sizeof *p->items, by_slot_number); /* slots are numbered in order of first use */
    const int64_t other = place(p, scratch);
    if (other < best) {
      best = other;
      take_offsets(p);
    }
  }
  p->c->arena_bytes[p->space] = best;
  free(scratch);
  return SL_OK;
}

/* ---- what is live when ---- */

struct event {
  uint32_t issue;
  bool starts;
  uint32_t slot;
};

static int by_time(const void *a, const void *b) {
  const struct event *x = a, *y = b;
  if (x->issue != y->issue) return x->issue < y->issue ? -1 : 1;
  return x->starts != y->starts ? (x->starts ? 1 : -1) : 0; /* an end is stamped one issue later, so it goes first */
}

static int64_t total(const int64_t live[SL_CATEGORY_COUNT]) {
  int64_t sum = 0;
  for (int i = 0; i < SL_CATEGORY_COUNT; i++) sum += live[i];
  return sum;
}

static enum sl_phase phase_of(const struct sl_program *p, uint32_t issue) {
  const size_t last = p->issue_count - 1;
  return p->ops[p->issues[issue < last ? issue : last].op].phase;
}

/* One sample of the live set: peaks, by category and by phase. */
static void sample(struct sl_memory_report *r, enum sl_phase phase, const int64_t live[SL_CATEGORY_COUNT]) {
  const int64_t sum = total(live);
  for (int i = 0; i < SL_CATEGORY_COUNT; i++) {
    if (live[i] > r->category_max[i]) r->category_max[i] = live[i];
  }
  if (sum > r->phase_peak[phase]) r->phase_peak[phase] = sum;
  if (sum <= r->live_peak_bytes) return;
  r->live_peak_bytes = sum;
  r->peak_phase = phase;
  memcpy(r->at_peak, live, sizeof r->at_peak);
}

static enum sl_status walk(const struct planner *p, struct sl_memory_report *r, const struct sl_program *program,
                           const int64_t base[SL_CATEGORY_COUNT], struct event *events) {
  int64_t live[SL_CATEGORY_COUNT];
  size_t n = 0, capacity = r->curve_count;
  memcpy(live, base, sizeof live);
  for (size_t i = 0; i < p->life_count; i++) {
    const struct sl_life *x = &p->lives[i];
    if (x->program != program->kind) continue;
    events[n++] = (struct event){x->first, true, x->slot};
    events[n++] = (struct event){x->last + 1, false, x->slot};
  }
  qsort(events, n, sizeof *events, by_time);
  for (uint32_t issue = 0, i = 0; issue < program->issue_count; issue++) {
    const uint32_t from = i;
    for (; i < n && events[i].issue <= issue; i++) {
      const struct sl_buffer *b = p->buffer_of[events[i].slot];
      live[b->category] += (events[i].starts ? 1 : -1) * aligned(b->bytes);
    }
    sample(r, phase_of(program, issue), live);
    if (program->kind != SL_PROGRAM_STEP || (i == from && issue > 0)) continue;
    SL_TRY(sl_grow(&r->curve, &capacity, r->curve_count + 1, sizeof *r->curve));
    struct sl_memory_sample *s = &r->curve[r->curve_count++];
    *s = (struct sl_memory_sample){.program = program->kind, .issue = issue};
    memcpy(s->live, live, sizeof live);
  }
  return SL_OK;
}

static enum sl_status report(struct planner *p) {
  struct sl_memory_report *r = &p->c->memory[p->space];
  int64_t base[SL_CATEGORY_COUNT] = {0};
  struct event *events;
  enum sl_status status = SL_OK;
  for (size_t i = 0; i < p->c->buffer_count; i++) {
    const struct sl_buffer *b = &p->c->buffers[i];
    if (!b->persistent || b->space != p->space) continue;
    base[b->category] += b->slots * aligned(b->bytes);
    r->state_bytes[b->category] += b->slots * b->bytes;
  }
  SL_TRY(sl_calloc(&events, 2 * p->life_count, sizeof *events));
  for (int k = 0; k < SL_PROGRAM_COUNT; k++) SL_GO(walk(p, r, &p->c->programs[k], base, events));
fail:
  free(events);
  return status;
}

/* ---- */

static enum sl_status gather_items(struct planner *p, const struct sl_lives *lives) {
  struct sl_class *c = p->c;
  SL_TRY(sl_calloc(&p->lives, lives->count, sizeof *p->lives));
  SL_TRY(sl_calloc(&p->items, c->slot_count, sizeof *p->items));
  SL_TRY(sl_calloc(&p->buffer_of, c->slot_count, sizeof *p->buffer_of));
  for (size_t i = 0; i < c->buffer_count; i++) {
    const struct sl_buffer *b = &c->buffers[i];
    for (int s = 0; s < b->slots && b->space == p->space; s++) {
      p->buffer_of[b->first_slot + s] = b;
      if (!b->persistent) continue;
      c->slot_offsets[b->first_slot + s] = p->persistent;
      p->persistent += aligned(b->bytes);
    }
  }
  for (size_t i = 0; i < lives->count; i++) {
    if (p->buffer_of[lives->items[i].slot] != NULL) p->lives[p->life_count++] = lives->items[i];
  }
  qsort(p->lives, p->life_count, sizeof *p->lives, by_slot);
  for (size_t i = 0; i < p->life_count; i++) {
    const uint32_t slot = p->lives[i].slot;
    if (i == 0 || p->lives[i - 1].slot != slot) {
      p->items[p->item_count++] =
          (struct item){.slot = slot, .bytes = aligned(p->buffer_of[slot]->bytes), .first_life = i};
    }
    p->items[p->item_count - 1].lives++;
  }
  return SL_OK;
}

static enum sl_status place_space(struct sl_class *c, enum sl_space space, const struct sl_lives *lives) {
  enum sl_status status;
  struct sl_memory_report *r = &c->memory[space];
  struct planner p = {.c = c, .space = space};
  SL_GO(gather_items(&p, lives));
  SL_GO(report(&p));
  SL_GO(place_best(&p, r->live_peak_bytes));
  r->peak_bytes = c->arena_bytes[space];
  r->fragmentation = r->peak_bytes - r->live_peak_bytes;
fail:
  free(p.lives);
  free(p.items);
  free(p.buffer_of);
  return status;
}

enum sl_status sl_arena_place(const struct sl_lowering *l, const struct sl_lives *lives) {
  struct sl_class *c = l->rank_class;
  SL_TRY(sl_calloc(&c->slot_offsets, c->slot_count, sizeof *c->slot_offsets));
  SL_TRY(sl_calloc(&c->memory, SL_SPACE_COUNT, sizeof *c->memory));
  for (int space = 0; space < SL_SPACE_COUNT; space++) SL_TRY(place_space(c, (enum sl_space)space, lives));
  return SL_OK;
}
