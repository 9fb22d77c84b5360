/* Finds what repeats in a schedule; see repeat.h. The search begins in the middle, where a schedule is steady if it ever
 * is, and extends the period to both sides for as long as slots correspond consistently. What is in front of that run
 * and behind it is searched in the same way. */
#include "core/place/repeat.h"

#include <stdlib.h>
#include <string.h>

enum {
  MOST_NUMBERS = 64,  /* slot numbers of an instance, a bit each */
  SHORT_TURN = 3,     /* slots of a pool whose cycle is at most this long hold short-lived data */
  FEWEST_PERIODS = 5, /* fewer are not worth it */
  LONGEST_TURN = 1 << 24
};

/* How slots of one pool correspond in consecutive periods: next[s] of s and the reverse, -1 not seen. */
struct turn {
  int32_t *next, *back;
};

struct finder {
  const struct sl_class *c;
  const struct sl_program *p;
  uint64_t *used; /* by first op of an instance: which slot numbers its ops use */
  bool *listed;   /* ... and whether that has been determined */
  int32_t width;  /* slots of a pool, at most */
  bool *seen;     /* by slot of a pool, while its cycles are looked at */
  struct turn pools[MOST_NUMBERS];
  uint32_t begin, behind; /* the instances in question */
  bool open;              /* a run may be open */
  uint32_t period;
  int32_t micro_batches;
};

/* ---- which slots an instance uses ---- */

/* IN and OUT are slots of one buffer. */
static int pool_of_number(int number) {
  return number == SL_SLOT_OUT ? SL_SLOT_IN : number;
}

static uint64_t used_by(const struct finder *f, const struct sl_instance *n) {
  if (f->listed[n->first_op]) return f->used[n->first_op];
  uint64_t bits = 0;
  for (const struct sl_op *op = &f->p->ops[n->first_op]; op < &f->p->ops[n->first_op + n->op_count]; op++)
    for (int i = 0; i < op->slice_count; i++) {
      const struct sl_slice *s = &f->p->slices[op->slice + i];
      const int number = sl_slice_number(&f->c->buffers[s->buffer], s);
      if (number >= 0) bits |= UINT64_C(1) << number;
    }
  f->listed[n->first_op] = true;
  return f->used[n->first_op] = bits;
}

/* ---- do two periods repeat? ---- */

static bool same_ops(const struct finder *f, uint32_t at) {
  const struct sl_instance *a = &f->p->instances[at], *b = &f->p->instances[at + f->period];
  if (a->first_op != b->first_op || a->op_count != b->op_count || a->action.kind == SL_ACTION_STEP) return false;
  const int32_t further = a->micro_batch >= 0 ? f->micro_batches : 0;
  return b->micro_batch - a->micro_batch == further;
}

/* Do instance `at` and the one a period later use corresponding slots, consistent with all others? */
static bool turns(struct finder *f, uint32_t at) {
  const struct sl_instance *a = &f->p->instances[at], *b = &f->p->instances[at + f->period];
  const uint64_t used = used_by(f, a);
  uint64_t taken = 0;
  for (uint64_t bits = used; bits != 0; bits &= bits - 1) {
    const int number = __builtin_ctzll(bits);
    const struct turn *t = &f->pools[pool_of_number(number)];
    const int32_t from = f->p->slots[a->slots + number], to = f->p->slots[b->slots + number];
    if (t->next[from] == to && t->back[to] == from) continue;
    if (t->next[from] < 0 && t->back[to] < 0) {
      t->next[from] = to, t->back[to] = from;
      taken |= UINT64_C(1) << number;
      continue;
    }
    for (; taken != 0; taken &= taken - 1) { /* undo what this instance added */
      const int undo = __builtin_ctzll(taken);
      const struct turn *u = &f->pools[pool_of_number(undo)];
      u->next[f->p->slots[a->slots + undo]] = u->back[f->p->slots[b->slots + undo]] = -1;
    }
    return false;
  }
  return true;
}

static void forget_turns(struct finder *f) {
  for (int k = 0; k < MOST_NUMBERS; k++) {
    if (f->pools[k].next == NULL) continue;
    memset(f->pools[k].next, 0xff, (size_t)f->width * sizeof *f->pools[k].next);
    memset(f->pools[k].back, 0xff, (size_t)f->width * sizeof *f->pools[k].back);
  }
}

/* Is every slot that another maps to itself mapped? */
static bool closed(const struct finder *f) {
  for (int k = 0; k < MOST_NUMBERS; k++)
    for (int32_t s = 0; f->pools[k].next != NULL && s < f->width; s++)
      if ((f->pools[k].next[s] < 0) != (f->pools[k].back[s] < 0)) return false;
  return true;
}

/* The run of period f->period around `middle`; returns its length in instances, 0: there is none. */
static uint32_t run_around(struct finder *f, uint32_t middle, uint32_t *first, uint32_t *end) {
  f->micro_batches = f->p->instances[middle + f->period].micro_batch - f->p->instances[middle].micro_batch;
  for (uint32_t i = 0; i < f->period; i++)
    if (!same_ops(f, middle + i)) return 0;
  forget_turns(f);
  uint32_t at = middle;
  while (at + f->period < f->behind && same_ops(f, at) && turns(f, at)) at++;
  *end = at + f->period;
  for (at = middle; at > f->begin && same_ops(f, at - 1) && turns(f, at - 1);) at--;
  *first = at;
  return *end - *first >= FEWEST_PERIODS * f->period && (f->open || closed(f)) ? *end - *first : 0;
}

/* ---- turns ---- */

uint32_t sl_repeat_multiple(uint32_t a, uint32_t b) {
  uint32_t x = a, y = b;
  while (y != 0) {
    const uint32_t rest = x % y;
    x = y, y = rest;
  }
  const uint64_t multiple = (uint64_t)a / x * b;
  return multiple < LONGEST_TURN ? (uint32_t)multiple : LONGEST_TURN;
}

/* The number of periods after which all slots of a pool that are in cycles map to themselves. */
static uint32_t turn_of(const struct finder *f, const struct turn *t) {
  uint32_t all = 1;
  if (t->next == NULL) return 1;
  memset(f->seen, 0, (size_t)f->width * sizeof *f->seen);
  for (int32_t s = 0; s < f->width; s++) {
    uint32_t own = 0;
    int32_t at = s;
    for (; at >= 0 && !f->seen[at]; at = t->next[at]) f->seen[at] = true, own++;
    if (own > 0 && at == s) all = sl_repeat_multiple(all, own);
  }
  return all;
}

/* The slot that `s` becomes after `periods` of them; -1: the run has ended by then. */
static int32_t after(const struct turn *t, int32_t s, uint32_t periods) {
  if (t->next[s] < 0 && t->back[s] < 0) return s; /* the run does not use it */
  for (; periods > 0 && s >= 0; periods--) s = t->next[s];
  return s;
}

static int pool_of_buffer(const struct sl_buffer *b) {
  return b->slot < SL_SLOT_ACTIVATION ? pool_of_number((int)b->slot) : SL_SLOT_ACTIVATION + b->pool;
}

/* Extends the period to cover short cycles, and determines the mapping of every slot of the class. */
static enum sl_status take(const struct finder *f, struct sl_repeat *r) {
  uint32_t periods = 1, all = 1;
  for (int k = 0; k < MOST_NUMBERS; k++) {
    const uint32_t own = turn_of(f, &f->pools[k]);
    if (own <= SHORT_TURN) periods = sl_repeat_multiple(periods, own);
    all = sl_repeat_multiple(all, own);
  }
  r->open = !closed(f);
  r->period = f->period * periods;
  r->micro_batches = f->micro_batches * (int32_t)periods;
  r->turn = sl_repeat_multiple(all, periods) / periods;
  SL_TRY(sl_calloc(&r->next, f->c->slot_count, sizeof *r->next));
  for (uint32_t s = 0; s < f->c->slot_count; s++) r->next[s] = s;
  for (size_t i = 0; i < f->c->buffer_count; i++) {
    const struct sl_buffer *b = &f->c->buffers[i];
    for (int32_t s = 0; b->slots > 1 && s < b->slots && s < f->width; s++) {
      const int32_t to = after(&f->pools[pool_of_buffer(b)], s, periods);
      r->next[b->first_slot + s] = to >= 0 ? (uint32_t)(b->first_slot + to) : SL_NO_SLOT;
    }
  }
  return SL_OK;
}

/* ---- the search ---- */

static enum sl_status open_finder(struct finder *f, int numbers) {
  for (size_t i = 0; i < f->p->slot_count; i++)
    if (f->p->slots[i] >= f->width) f->width = f->p->slots[i] + 1;
  SL_TRY(sl_calloc(&f->used, f->p->op_count, sizeof *f->used));
  SL_TRY(sl_calloc(&f->listed, f->p->op_count, sizeof *f->listed));
  SL_TRY(sl_calloc(&f->seen, (size_t)f->width, sizeof *f->seen));
  for (int k = 0; k < numbers; k++) {
    SL_TRY(sl_calloc(&f->pools[k].next, (size_t)f->width, sizeof *f->pools[k].next));
    SL_TRY(sl_calloc(&f->pools[k].back, (size_t)f->width, sizeof *f->pools[k].back));
  }
  return SL_OK;
}

static void close_finder(struct finder *f) {
  free(f->used);
  free(f->listed);
  free(f->seen);
  for (int k = 0; k < MOST_NUMBERS; k++) {
    free(f->pools[k].next);
    free(f->pools[k].back);
  }
}

/* Slot numbers that an instance of the class's programs has. */
static int slot_numbers(const struct sl_class *c) {
  int numbers = SL_SLOT_ACTIVATION;
  for (size_t i = 0; i < c->buffer_count; i++) {
    const struct sl_buffer *b = &c->buffers[i];
    if (b->slots > 1 && b->slot >= SL_SLOT_ACTIVATION && SL_SLOT_ACTIVATION + b->pool >= numbers)
      numbers = SL_SLOT_ACTIVATION + b->pool + 1;
  }
  return numbers;
}

/* Finds the shortest period whose run is a quarter of the instances in question, otherwise the one with the longest run,
 * and that run; false: there is none. */
static bool find_best(struct finder *f, uint32_t *first, uint32_t *end) {
  const uint32_t count = f->behind - f->begin, middle = f->begin + count / 2;
  uint32_t best = 0, longest = 0;
  for (f->period = 1; middle + 2 * f->period < f->behind; f->period++) {
    const uint32_t length = run_around(f, middle, first, end);
    if (length <= longest) continue;
    best = f->period, longest = length;
    if (longest >= count / 4) return true;
  }
  if (best == 0) return false;
  f->period = best;
  run_around(f, middle, first, end); /* once more: the slots have turned by other periods since */
  return true;
}

/* The run around the middle of instances from `begin` on, before `behind`; its period is 0 if there is none. */
static enum sl_status find_run(struct finder *f, uint32_t begin, uint32_t behind, struct sl_repeat *out) {
  *out = (struct sl_repeat){.turn = 1};
  f->begin = begin, f->behind = behind;
  if (begin == behind || !find_best(f, &out->first, &out->end)) return SL_OK;
  return take(f, out);
}

/* The same for a run that may be open, in which no slot turns. */
static enum sl_status find_open(struct finder *f, uint32_t begin, uint32_t behind, struct sl_repeat *out) {
  f->open = true;
  SL_TRY(find_run(f, begin, behind, out));
  out->open = true;
  if (out->turn == 1) return SL_OK;
  free(out->next);
  *out = (struct sl_repeat){.turn = 1};
  return SL_OK;
}

/* The run becomes the list's. */
static enum sl_status add(struct sl_repeats *all, struct sl_repeat *run) {
  if (run->period == 0) return SL_OK;
  const enum sl_status status = sl_room(&all->runs, &all->capacity, all->count + 1, sizeof *all->runs);
  if (status == SL_OK)
    all->runs[all->count++] = *run;
  else
    free(run->next);
  return status;
}

static enum sl_status add_open(struct finder *f, uint32_t begin, uint32_t behind, struct sl_repeats *all) {
  struct sl_repeat run;
  SL_TRY(find_open(f, begin, behind, &run));
  return add(all, &run);
}

/* Without a run around the middle, each half is searched. */
static enum sl_status find_all(struct finder *f, struct sl_repeats *all) {
  const uint32_t count = (uint32_t)f->p->instance_count;
  struct sl_repeat run;
  SL_TRY(find_run(f, 0, count, &run));
  if (run.period == 0) SL_TRY(find_open(f, 0, count, &run));
  const uint32_t first = run.period > 0 ? run.first : count / 2, end = run.period > 0 ? run.end : first;
  const enum sl_status status = add_open(f, 0, first, all);
  if (status != SL_OK) {
    free(run.next);
    return status;
  }
  SL_TRY(add(all, &run));
  return add_open(f, end, count, all);
}

enum sl_status sl_repeat_find(const struct sl_class *c, const struct sl_program *p, struct sl_repeats *out) {
  enum sl_status status = SL_OK;
  struct finder f = {.c = c, .p = p};
  const int numbers = slot_numbers(c);
  *out = (struct sl_repeats){0};
  if (numbers > MOST_NUMBERS) return SL_OK;
  SL_GO(open_finder(&f, numbers));
  SL_GO(find_all(&f, out));
done:
  close_finder(&f);
  return status;
}

void sl_repeat_whole_turns(const struct sl_class *c, struct sl_repeat *r, uint32_t from) {
  const uint64_t period = (uint64_t)r->period * r->turn;
  r->first = from;
  r->period = from < r->end && period * FEWEST_PERIODS <= r->end - from ? (uint32_t)period : 0;
  r->micro_batches = r->period > 0 ? r->micro_batches * (int32_t)r->turn : 0;
  r->turn = 1;
  for (uint32_t s = 0; s < c->slot_count; s++) r->next[s] = s;
}

void sl_repeat_free(struct sl_repeats *repeats) {
  for (size_t i = 0; i < repeats->count; i++) free(repeats->runs[i].next);
  free(repeats->runs);
  *repeats = (struct sl_repeats){0};
}
