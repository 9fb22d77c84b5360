/* What is live when, from the lives of buffer slots; see live.h. */
#include "core/place/live.h"

#include "core/program/memory_report.h"

#include <stdlib.h>
#include <string.h>

struct live {
  const struct sl_class *c;
  enum sl_space space;
  const struct sl_lives *all;               /* by program and first use */
  const struct sl_buffer *const *buffer_of; /* per slot; NULL: of another space */
  bool curve;                               /* is to be kept */
  size_t curve_capacity;
  uint32_t peak; /* see sl_live_report */
};

/* The lifetimes of a program by their ends, as linked lists: the list of the lifetimes whose last use is issue i begins
 * with last[i] - 1 and continues with next[life] - 1. */
struct ends {
  uint32_t *last, *next;
};

static int64_t total(const int64_t live[SL_CATEGORY_COUNT]) {
  int64_t sum = 0;
  for (int i = 0; i < SL_CATEGORY_COUNT; i++) sum += live[i];
  return sum;
}

/* Issues are counted over all programs: the first one of a program. */
uint32_t sl_live_first_issue(const struct sl_class *c, enum sl_program_kind kind) {
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

static void change(const struct live *p, int64_t live[SL_CATEGORY_COUNT], const struct sl_life *life, int sign) {
  const struct sl_buffer *b = p->buffer_of[life->slot];
  live[b->category] += sign * sl_live_aligned(b->bytes);
}

/* One sample of the curve, where somebody wants it. */
static enum sl_status add_sample(struct live *p, struct sl_memory_report *r, uint32_t issue, const int64_t *live) {
  if (!p->curve) return SL_OK;
  SL_TRY(sl_grow(&r->curve, &p->curve_capacity, r->curve_count + 1, sizeof *r->curve));
  struct sl_memory_sample *s = &r->curve[r->curve_count++];
  *s = (struct sl_memory_sample){.program = SL_PROGRAM_STEP, .issue = issue};
  memcpy(s->live, live, sizeof s->live);
  return SL_OK;
}

/* The issue at which the next lifetime of `program` in this space begins, to which *at is moved; UINT32_MAX: none. */
static uint32_t next_begin(const struct live *p, enum sl_program_kind program, size_t *at) {
  for (; *at < p->all->count && p->all->items[*at].program == program; ++*at)
    if (p->buffer_of[p->all->items[*at].slot] != NULL) return p->all->items[*at].first;
  return UINT32_MAX;
}

/* The next issue from `issue` on, within the repeated runs, at which a lifetime begins or after which one has ended;
 * otherwise the one after those runs. */
static uint32_t next_change(const struct sl_program *program, const struct ends *ends, uint32_t begin, uint32_t issue) {
  const struct sl_repetition *r = &program->repeated;
  const uint32_t behind = (uint32_t)(r->first + r->length + sl_issues_repeated(program));
  const uint32_t last = begin < behind ? begin : behind;
  while (issue < last && ends->last[issue - 1] == 0) issue++;
  return issue;
}

/* Walks over lifetimes *at of `program` and the following. Only changes are examined: an unchanged live set or phase
 * has been sampled. */
static enum sl_status walk(struct live *p, struct sl_memory_report *r, const struct sl_program *program,
                           const int64_t base[SL_CATEGORY_COUNT], const struct ends *ends, size_t *at) {
  int64_t live[SL_CATEGORY_COUNT];
  enum sl_phase phase = SL_PHASE_COUNT;
  uint32_t begin = next_begin(p, program->kind, at);
  memcpy(live, base, sizeof live);
  struct sl_issue_ref of = sl_issue_find(program, 0);
  for (uint32_t issue = 0, changed = 0; issue < program->issue_count; issue++, sl_issue_next(program, &of)) {
    const uint32_t over = issue > 0 ? ends->last[issue - 1] : 0;
    const bool changes = issue == 0 || over > 0 || begin <= issue;
    const enum sl_phase now = program->ops[of.stored->op].phase;
    if (changes) changed = issue;
    if (!changes && of.turn > 0 && issue - changed >= program->repeated.length) {
      issue = next_change(program, ends, begin, issue) - 1; /* all phases of a run have been seen */
      of = sl_issue_find(program, issue);
      continue;
    }
    if (!changes && now == phase) continue;
    for (uint32_t i = over; i > 0; i = ends->next[i - 1]) change(p, live, &p->all->items[i - 1], -1);
    for (; begin <= issue; begin = next_begin(p, program->kind, at)) change(p, live, &p->all->items[(*at)++], 1);
    phase = now;
    if (total(live) > r->live_peak_bytes) {
      p->peak = sl_live_first_issue(p->c, program->kind) + issue;
      r->peak_program = program->kind, r->peak_issue = issue;
    }
    sample(r, phase, live);
    if (changes && program->kind == SL_PROGRAM_STEP) SL_TRY(add_sample(p, r, issue, live));
  }
  return SL_OK;
}

/* The program's lifetimes begin with the from-th. */
static void list_ends(const struct live *p, enum sl_program_kind kind, size_t from, struct ends *ends) {
  memset(ends->last, 0, p->c->programs[kind].issue_count * sizeof *ends->last);
  for (size_t i = from; i < p->all->count && p->all->items[i].program == kind; i++) {
    const struct sl_life *x = &p->all->items[i];
    if (p->buffer_of[x->slot] == NULL) continue;
    ends->next[i] = ends->last[x->last];
    ends->last[x->last] = (uint32_t)i + 1;
  }
}

static enum sl_status walk_all(struct live *p) {
  struct sl_memory_report *r = &p->c->memory[p->space];
  int64_t base[SL_CATEGORY_COUNT] = {0};
  struct ends ends = {0};
  enum sl_status status = SL_OK;
  size_t at = 0, longest = 0;
  for (size_t i = 0; i < p->c->buffer_count; i++) {
    const struct sl_buffer *b = &p->c->buffers[i];
    if (!b->persistent || b->space != p->space) continue;
    base[b->category] += b->slots * sl_live_aligned(b->bytes);
    r->state_bytes[b->category] += b->slots * b->bytes;
  }
  for (int k = 0; k < SL_PROGRAM_COUNT; k++)
    if (p->c->programs[k].issue_count > longest) longest = p->c->programs[k].issue_count;
  SL_GO(sl_malloc(&ends.last, longest, sizeof *ends.last));
  SL_GO(sl_malloc(&ends.next, p->all->count, sizeof *ends.next));
  for (int k = 0; k < SL_PROGRAM_COUNT; k++) {
    list_ends(p, (enum sl_program_kind)k, at, &ends);
    SL_GO(walk(p, r, &p->c->programs[k], base, &ends, &at));
  }
done:
  free(ends.last);
  free(ends.next);
  return status;
}

/* The LM head's outputs are recognised by the names of their buffers (core/models/ends.c), since nothing that runs a
 * program needs to know them. */
static void find_logits(const struct live *p, struct sl_memory_report *r) {
  for (size_t i = 0; i < p->all->count; i++) {
    const struct sl_life *x = &p->all->items[i];
    if (x->program != r->peak_program || x->first > r->peak_issue || x->last < r->peak_issue) continue;
    const struct sl_buffer *b = p->buffer_of[x->slot];
    if (b != NULL && strstr(b->name, "logits") != NULL) r->logits_at_peak += sl_live_aligned(b->bytes);
  }
}

enum sl_status sl_live_report(const struct sl_class *c, enum sl_space space, const struct sl_lives *lives,
                              const struct sl_buffer *const *buffer_of, bool curve, uint32_t *peak) {
  struct live live = {.c = c, .space = space, .all = lives, .buffer_of = buffer_of, .curve = curve};
  SL_TRY(walk_all(&live));
  find_logits(&live, &c->memory[space]);
  *peak = live.peak;
  return SL_OK;
}
