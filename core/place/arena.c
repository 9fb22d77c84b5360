/* The static planner: an offset in the arena for every buffer slot, and what is live when.
 *
 * Persistent buffers stand first and share with nobody. Two others may overlap only if every life of one is over before
 * any life of the other starts, under lane order plus waits (place/waits.c's vector clocks). Placement is greedy: largest
 * first, each at the lowest offset that no conflicting neighbour covers; where that leaves more than a few percent over
 * the live bytes, placement in order of first use is tried too and the smaller arena wins. */
#include "core/place/arena.h"

#include "core/program/memory_report.h"

#include <stdlib.h>
#include <string.h>

struct item {
  uint32_t slot;
  int64_t bytes;            /* aligned */
  size_t first_life, lives; /* in planner.order, by program and first use */
  int64_t offset;
  bool compute_only; /* no op of another lane uses it */
  bool at_peak;      /* live when most is */
};

/* Bytes [lo, hi) of the arena. */
struct run {
  int64_t lo, hi;
};

/* What is compared of a life, close together: most are used by compute ops alone. */
struct span {
  uint32_t first, last; /* issues, counted over all programs */
  uint32_t done_compute, known_compute;
  uint32_t others; /* bit l: ops of lane l, not compute, use it */
  enum sl_program_kind program;
};

struct planner {
  struct sl_class *c;
  enum sl_space space;
  const struct sl_lives *all; /* by program and first use */
  uint32_t *order;            /* lives in this space: by slot, program and first use */
  struct span *spans;         /* of each in that order */
  size_t life_count;
  struct item *items;
  size_t item_count;
  int64_t persistent; /* bytes */
  uint32_t peak;      /* issue, counted over all programs, at which most bytes are live */
  struct run *runs;   /* taken by placed items that are live then: sorted, apart from each other */
  size_t run_count, run_capacity;
  int64_t largest;                    /* bytes of an item */
  const struct sl_buffer **buffer_of; /* per slot; NULL: of another space */
  bool curve;                         /* is to be kept */
  size_t curve_capacity;
};

static int64_t aligned(int64_t bytes) {
  return (bytes + SL_ALIGN - 1) / SL_ALIGN * SL_ALIGN;
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

static const struct sl_life *life_of(const struct planner *p, const struct span *span) {
  return &p->all->items[p->order[span - p->spans]];
}

/* Is life `a` over, for certain, before `b` starts? */
static bool over_before(const struct planner *p, const struct span *a, const struct span *b) {
  if (a->done_compute > b->known_compute) return false;
  for (uint32_t lanes = a->others; lanes != 0; lanes &= lanes - 1) {
    const int lane = __builtin_ctz(lanes);
    if (life_of(p, a)->done[lane] > life_of(p, b)->known[lane]) return false;
  }
  return true;
}

/* Do two lives overlap in program order? Most pairs that conflict do, so this is asked first, of little memory. */
static bool overlap(const struct planner *p, const struct span *a, const struct span *a_end, const struct span *b,
                    const struct span *b_end) {
  while (a < a_end && b < b_end) {
    p->c->work.compared++;
    if (a->last < b->first) {
      a++;
    } else if (b->last < a->first) {
      b++;
    } else {
      return true;
    }
  }
  return false;
}

/* Neighbours in time decide: a later life of a slot waits for the earlier one, so what is over before the earlier is
 * over before the later too. */
static bool conflict(const struct planner *p, const struct item *x, const struct item *y) {
  const struct span *a = &p->spans[x->first_life], *a_end = a + x->lives;
  const struct span *b = &p->spans[y->first_life], *b_end = b + y->lives;
  if (overlap(p, a, a_end, b, b_end)) return true;
  if (x->compute_only && y->compute_only) return false; /* on one lane what stands first is over first */
  while (a < a_end && b < b_end) {
    const bool a_first = a->last < b->first;
    if (a->program == b->program && !(a_first ? over_before(p, a, b) : over_before(p, b, a))) return true;
    if (a_first) {
      a++;
    } else {
      b++;
    }
  }
  return false;
}

/* Where an item of the placed list (in order of offset) that starts at `offset` or above begins. */
static size_t rank_of_offset(struct item *const *placed, size_t n, int64_t offset) {
  size_t low = 0, high = n;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (placed[middle]->offset < offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* What is live at the peak conflicts with all else that is, and those make up most of the pairs. So what they have taken is
 * kept as runs, which are passed over without a comparison. */

/* The first run that ends above `offset`. */
static size_t first_run(const struct planner *p, int64_t offset) {
  size_t low = 0, high = p->run_count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (p->runs[middle].hi <= offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* The lowest place for `x` from `offset` on that touches no run. */
static int64_t beyond_runs(const struct planner *p, const struct item *x, int64_t offset) {
  if (!x->at_peak) return offset;
  for (size_t i = first_run(p, offset); i < p->run_count && p->runs[i].lo < offset + x->bytes; i++)
    offset = p->runs[i].hi;
  return offset;
}

static enum sl_status add_run(struct planner *p, int64_t lo, int64_t hi) {
  const size_t at = first_run(p, lo);
  const bool joins_left = at > 0 && p->runs[at - 1].hi == lo, joins_right = at < p->run_count && p->runs[at].lo == hi;
  if (joins_left && joins_right) {
    p->runs[at - 1].hi = p->runs[at].hi;
    memmove(&p->runs[at], &p->runs[at + 1], (--p->run_count - at) * sizeof *p->runs);
  } else if (joins_left) {
    p->runs[at - 1].hi = hi;
  } else if (joins_right) {
    p->runs[at].lo = lo;
  } else {
    SL_TRY(sl_grow(&p->runs, &p->run_capacity, p->run_count + 1, sizeof *p->runs));
    memmove(&p->runs[at + 1], &p->runs[at], (p->run_count++ - at) * sizeof *p->runs);
    p->runs[at] = (struct run){lo, hi};
  }
  return SL_OK;
}

/* The lowest offset at which `x` overlaps no placed item that it conflicts with. Going up in order of offset, only what
 * would overlap the place in question is compared in time: a placed item below it or above its end cannot matter. */
static int64_t lowest_free(const struct planner *p, const struct item *x, struct item *const *placed, size_t n) {
  int64_t offset = beyond_runs(p, x, p->persistent);
  size_t i = rank_of_offset(placed, n, offset - p->largest);
  while (i < n && placed[i]->offset < offset + x->bytes) {
    const int64_t end = placed[i]->offset + placed[i]->bytes;
    i++;
    if (end <= offset || !conflict(p, x, placed[i - 1])) continue;
    offset = beyond_runs(p, x, end);
    if (offset == end) continue;
    const size_t near = rank_of_offset(placed, n, offset - p->largest);
    if (near > i) i = near;
  }
  return offset;
}

/* Place items in their present order above the persistent buffers; the arena's size to *top. */
static enum sl_status place(struct planner *p, struct item **placed, int64_t *top) {
  *top = p->persistent;
  p->run_count = 0;
  for (size_t i = 0; i < p->item_count; i++) {
    struct item *x = &p->items[i];
    x->offset = lowest_free(p, x, placed, i);
    const int64_t end = x->offset + x->bytes;
    if (end > *top) *top = end;
    if (x->at_peak && x->bytes > 0) SL_TRY(add_run(p, x->offset, end));
    const size_t at = rank_of_offset(placed, i, x->offset);
    memmove(&placed[at + 1], &placed[at], (i - at) * sizeof *placed);
    placed[at] = x;
  }
  return SL_OK;
}

static void take_offsets(const struct planner *p) {
  for (size_t i = 0; i < p->item_count; i++) p->c->slot_offsets[p->items[i].slot] = p->items[i].offset;
}

static enum sl_status place_best(struct planner *p, int64_t live_peak) {
  struct item **placed = NULL; /* in order of offset */
  enum sl_status status;
  int64_t best, other;
  SL_GO(sl_calloc(&placed, p->item_count, sizeof *placed));
  qsort(p->items, p->item_count, sizeof *p->items, by_size);
  SL_GO(place(p, placed, &best));
  take_offsets(p);
  if (best > live_peak + live_peak / 50) {
    qsort(p->items, p->item_count, sizeof *p->items, by_slot_number); /* slots are numbered in order of first use */
    SL_GO(place(p, placed, &other));
    if (other < best) {
      best = other;
      take_offsets(p);
    }
  }
  p->c->arena_bytes[p->space] = best;
fail:
  free(placed);
  return status;
}

/* ---- what is live when ---- */

/* The lives of a program in the order of their ends, as lists: that of the lives whose last use is issue i begins with
 * last[i] - 1 and goes on with next[life] - 1. */
struct ends {
  uint32_t *last, *next;
};

static int64_t total(const int64_t live[SL_CATEGORY_COUNT]) {
  int64_t sum = 0;
  for (int i = 0; i < SL_CATEGORY_COUNT; i++) sum += live[i];
  return sum;
}

static enum sl_phase phase_of(const struct sl_program *p, uint32_t issue) {
  const size_t last = p->issue_count - 1;
  return p->ops[p->issues[issue < last ? issue : last].op].phase;
}

/* Issues of all programs are counted on: where those of one begin. */
static uint32_t first_issue(const struct sl_class *c, enum sl_program_kind kind) {
  uint32_t first = 0;
  for (int k = 0; k < (int)kind; k++) first += (uint32_t)c->programs[k].issue_count;
  return first;
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

static void change(const struct planner *p, int64_t live[SL_CATEGORY_COUNT], const struct sl_life *life, int sign) {
  const struct sl_buffer *b = p->buffer_of[life->slot];
  live[b->category] += sign * aligned(b->bytes);
}

/* One sample of the curve, where somebody wants it. */
static enum sl_status add_sample(struct planner *p, struct sl_memory_report *r, uint32_t issue, const int64_t *live) {
  if (!p->curve) return SL_OK;
  SL_TRY(sl_grow(&r->curve, &p->curve_capacity, r->curve_count + 1, sizeof *r->curve));
  struct sl_memory_sample *s = &r->curve[r->curve_count++];
  *s = (struct sl_memory_sample){.program = SL_PROGRAM_STEP, .issue = issue};
  memcpy(s->live, live, sizeof s->live);
  return SL_OK;
}

/* Walk over lives *at, of `program`, and those that follow. Only what changes is looked at: a live set or a phase that is
 * as before has been sampled. */
static enum sl_status walk(struct planner *p, struct sl_memory_report *r, const struct sl_program *program,
                           const int64_t base[SL_CATEGORY_COUNT], const struct ends *ends, size_t *at) {
  int64_t live[SL_CATEGORY_COUNT];
  enum sl_phase phase = SL_PHASE_COUNT;
  memcpy(live, base, sizeof live);
  for (uint32_t issue = 0; issue < program->issue_count; issue++) {
    const bool over = issue > 0 && ends->last[issue - 1] > 0;
    bool changes = issue == 0 || over;
    for (uint32_t i = over ? ends->last[issue - 1] : 0; i > 0; i = ends->next[i - 1])
      change(p, live, &p->all->items[i - 1], -1);
    for (; *at < p->all->count && p->all->items[*at].program == program->kind; ++*at) {
      const struct sl_life *x = &p->all->items[*at];
      if (p->buffer_of[x->slot] == NULL) continue;
      if (x->first > issue) break;
      change(p, live, x, 1);
      changes = true;
    }
    if (!changes && phase_of(program, issue) == phase) continue;
    phase = phase_of(program, issue);
    if (total(live) > r->live_peak_bytes) p->peak = first_issue(p->c, program->kind) + issue;
    sample(r, phase, live);
    if (changes && program->kind == SL_PROGRAM_STEP) SL_TRY(add_sample(p, r, issue, live));
  }
  return SL_OK;
}

static void list_ends(const struct planner *p, enum sl_program_kind kind, struct ends *ends) {
  memset(ends->last, 0, p->c->programs[kind].issue_count * sizeof *ends->last);
  for (size_t i = 0; i < p->all->count; i++) {
    const struct sl_life *x = &p->all->items[i];
    if (x->program != kind || p->buffer_of[x->slot] == NULL) continue;
    ends->next[i] = ends->last[x->last];
    ends->last[x->last] = (uint32_t)i + 1;
  }
}

static enum sl_status report(struct planner *p) {
  struct sl_memory_report *r = &p->c->memory[p->space];
  int64_t base[SL_CATEGORY_COUNT] = {0};
  struct ends ends = {0};
  enum sl_status status = SL_OK;
  size_t at = 0, longest = 0;
  for (size_t i = 0; i < p->c->buffer_count; i++) {
    const struct sl_buffer *b = &p->c->buffers[i];
    if (!b->persistent || b->space != p->space) continue;
    base[b->category] += b->slots * aligned(b->bytes);
    r->state_bytes[b->category] += b->slots * b->bytes;
  }
  for (int k = 0; k < SL_PROGRAM_COUNT; k++)
    if (p->c->programs[k].issue_count > longest) longest = p->c->programs[k].issue_count;
  SL_GO(sl_calloc(&ends.last, longest, sizeof *ends.last));
  SL_GO(sl_calloc(&ends.next, p->all->count, sizeof *ends.next));
  for (int k = 0; k < SL_PROGRAM_COUNT; k++) {
    list_ends(p, (enum sl_program_kind)k, &ends);
    SL_GO(walk(p, r, &p->c->programs[k], base, &ends, &at));
  }
fail:
  free(ends.last);
  free(ends.next);
  return status;
}

/* ---- */

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
      p->persistent += aligned(b->bytes);
    }
  }
}

/* Lives in this space by slot: a slot's keep their order, which is that of program and first use. */
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
  SL_TRY(sl_calloc(&p->order, p->all->count, sizeof *p->order));
  SL_TRY(sl_calloc(&p->spans, p->all->count, sizeof *p->spans));
  SL_TRY(sl_calloc(&p->items, c->slot_count, sizeof *p->items));
  SL_TRY(sl_calloc(&p->buffer_of, c->slot_count, sizeof *p->buffer_of));
  place_persistent(p);
  SL_TRY(order_lives(p));
  for (size_t i = 0; i < p->life_count; i++) {
    const struct sl_life *life = life_of(p, &p->spans[i]);
    p->spans[i] = span_of(life, first_issue(c, life->program));
    const uint32_t slot = life->slot;
    if (p->item_count == 0 || p->items[p->item_count - 1].slot != slot) {
      p->items[p->item_count++] = (struct item){
          .slot = slot, .bytes = aligned(p->buffer_of[slot]->bytes), .first_life = i, .compute_only = true};
    }
    struct item *x = &p->items[p->item_count - 1];
    x->lives++;
    if (p->spans[i].others != 0) x->compute_only = false;
  }
  return SL_OK;
}

/* What is known of the items once the peak is. */
static void mark_items(struct planner *p) {
  for (size_t i = 0; i < p->item_count; i++) {
    struct item *x = &p->items[i];
    for (size_t k = x->first_life; k < x->first_life + x->lives; k++)
      x->at_peak = x->at_peak || (p->spans[k].first <= p->peak && p->peak <= p->spans[k].last);
    if (x->bytes > p->largest) p->largest = x->bytes;
  }
}

static enum sl_status place_space(struct sl_class *c, enum sl_space space, const struct sl_lives *lives, bool curve) {
  enum sl_status status;
  struct sl_memory_report *r = &c->memory[space];
  struct planner p = {.c = c, .space = space, .all = lives, .curve = curve};
  SL_GO(gather_items(&p));
  SL_GO(report(&p));
  mark_items(&p);
  SL_GO(place_best(&p, r->live_peak_bytes));
  r->peak_bytes = c->arena_bytes[space];
  r->fragmentation = r->peak_bytes - r->live_peak_bytes;
fail:
  free(p.order);
  free(p.spans);
  free(p.items);
  free(p.buffer_of);
  free(p.runs);
  return status;
}

enum sl_status sl_arena_place(struct sl_class *c, const struct sl_lives *lives, bool curve) {
  SL_TRY(sl_calloc(&c->slot_offsets, c->slot_count, sizeof *c->slot_offsets));
  SL_TRY(sl_calloc(&c->memory, SL_SPACE_COUNT, sizeof *c->memory));
  for (int space = 0; space < SL_SPACE_COUNT; space++) SL_TRY(place_space(c, (enum sl_space)space, lives, curve));
  return SL_OK;
}
