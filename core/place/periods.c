/* Copies what repeats instead of deriving it again; see periods.h.
 *
 * Why copying gives what deriving would. By repeat.h, a period and the next one run the same ops, and where the one
 * uses slot s of the class the other uses next[s]. So what a period leaves in the history of next[s] is what the one
 * before left in that of s, shifted by the ops of a period. What an op waits for follows from those histories and from
 * the clocks of the ops that they name. Periods are copied once
 *   - three consecutive ones are identical, in waits and in clocks, and
 *   - what the histories of slots that change name from before that does not matter: every lane that uses such slots
 *     knows that it is complete, so nothing waits for it, or nothing of the kind is named.
 * Then the next period finds the same histories and clocks, shifted by a period, as far as they matter, so it is
 * identical as well, and so on. For a slot that does not change, what no period touches stays the same.
 * In copied periods only lifetimes that reach into or out of them are recorded; for slots that change, turning.c puts
 * them together. arena.c needs to know which pairs of slots ever overlap in time, and every such pair is among the
 * recorded lifetimes:
 *   - slots that do not change overlap in each period as in the one before;
 *   - a slot that changes must live through one whole derived period, and so overlaps all that lives in one, or have
 *     completed its cycle twice;
 *   - two slots that change must share a period, or be in positions of their cycles that were derived twice. */
#include "core/place/periods.h"

#include "core/place/turning.h"

#include <stdlib.h>
#include <string.h>

enum {
  SETTLED = 4,   /* periods that are derived at least: one, and three identical ones */
  PATIENCE = 12, /* periods beyond `s->awaited`, after which only whole cycles are considered */
  PAUSE = 3      /* periods that are derived before what failed is tried again, which takes about as long as they do */
};

static struct sl_mark mark_here(const struct linker *k) {
  struct sl_mark m = {.issue = (uint32_t)k->p->issue_count};
  memcpy(m.lane_ops, k->p->lane_ops, sizeof m.lane_ops);
  return m;
}

/* ---- alike ---- */

/* Are the waits of issue `b` those of issue `a`, one period before, and has its clock advanced by the ops of a
 * period? */
static bool alike(const struct linker *k, uint32_t a, uint32_t b, const struct sl_mark *from,
                  const struct sl_mark *to) {
  const struct sl_issue *x = &k->p->issues[a], *y = &k->p->issues[b];
  const uint32_t *before = &k->clocks[(size_t)a * SL_LANE_COUNT], *after = &k->clocks[(size_t)b * SL_LANE_COUNT];
  if (x->op != y->op || x->wait_count != y->wait_count) return false;
  for (uint32_t w = 0; w < x->wait_count; w++) {
    const struct sl_wait *u = &k->p->waits[x->wait + w], *v = &k->p->waits[y->wait + w];
    if (u->lane != v->lane || v->count - u->count != sl_mark_ops(from, to, u->lane)) return false;
  }
  uint32_t differs = 0; /* without a way out of the loop, lanes are compared several at once */
  for (uint32_t lane = 0; lane < SL_LANE_COUNT; lane++)
    differs |= (after[lane] - before[lane]) ^ sl_mark_ops(from, to, lane);
  return differs == 0;
}

/* Is the period at mark `m` identical to the next one? */
static bool period_alike(const struct linker *k, const struct sl_mark *m) {
  if (m[2].issue - m[1].issue != m[1].issue - m[0].issue) return false;
  for (uint32_t i = m[0].issue; i < m[1].issue; i++)
    if (!alike(k, i, i + m[1].issue - m[0].issue, &m[0], &m[1])) return false;
  return true;
}

/* ---- copying ---- */

/* The issue a period before the next one, once more; `step`: a period, of `period` instances. */
static void copy_issue(struct linker *k, const struct sl_mark *step, uint32_t period) {
  struct sl_program *p = k->p;
  const uint32_t at = (uint32_t)p->issue_count;
  const struct sl_issue from = p->issues[at - step->issue];
  const uint32_t lane = p->ops[from.op].lane, own = p->lane_ops[lane];
  struct sl_issue *e = &p->issues[p->issue_count++];
  *e = from;
  e->instance += period;
  e->lane_index = own & 0xffffff;
  e->wait = (uint32_t)p->wait_count;
  for (uint32_t w = 0; w < from.wait_count; w++) {
    const struct sl_wait wait = p->waits[from.wait + w];
    p->waits[p->wait_count++] = (struct sl_wait){wait.lane, wait.count + step->lane_ops[wait.lane]};
  }
  p->lane_ops[lane]++;
}

/* Adds `copies` more periods like the last, of `step`: as one repetition, or written out. */
static enum sl_status copy_issues(struct sl_periods *s, const struct sl_mark *step, uint32_t copies) {
  struct sl_program *p = s->k->p;
  const size_t waits = p->wait_count - p->issues[s->marks[s->count - 2].issue].wait;
  if (s->k->repeated) {
    p->repeated = (struct sl_repetition){s->marks[s->count - 2].issue, step->issue, copies, s->r.period, {0}};
    memcpy(p->repeated.lane_ops, step->lane_ops, sizeof p->repeated.lane_ops);
    p->issue_count += (size_t)copies * step->issue;
    for (int lane = 0; lane < SL_LANE_COUNT; lane++) p->lane_ops[lane] += copies * step->lane_ops[lane];
    return SL_OK;
  }
  SL_TRY(sl_grow(&p->waits, &p->wait_capacity, p->wait_count + waits * copies, sizeof *p->waits));
  for (uint32_t i = 0; i < copies * step->issue; i++) copy_issue(s->k, step, s->r.period);
  return SL_OK;
}

/* What follows the copies looks at no op of a lane but those in front of `since`, and those from there on as they stand
 * in the last copies: these take the rows of the ones that were derived. */
static void move_clocks(struct linker *k, const struct sl_mark *since, const struct sl_mark *here,
                        const struct sl_mark *jump) {
  for (uint32_t i = since->issue; i < here->issue; i++) {
    uint32_t *clock = &k->clocks[(size_t)i * SL_LANE_COUNT];
    for (int lane = 0; lane < SL_LANE_COUNT; lane++) clock[lane] += jump->lane_ops[lane];
  }
  k->kept = *since;
  k->copied = *jump;
}

/* Advances a count of `lane` that was reached after `since`. */
static void move_on(uint32_t *count, int lane, const struct sl_mark *since, const struct sl_mark *jump) {
  if (*count > since->lane_ops[lane]) *count += jump->lane_ops[lane];
}

static void move_history(struct linker *k, size_t slot, const struct sl_mark *since, const struct sl_mark *jump) {
  for (size_t i = 0; i < k->histories[slot].count; i++) {
    struct sl_span *x = sl_span_at(&k->histories[slot], i);
    if (x->writer_lane >= 0) move_on(&x->written, x->writer_lane, since, jump);
    for (uint32_t lanes = x->readers; lanes != 0; lanes &= lanes - 1) {
      const int lane = __builtin_ctz(lanes);
      move_on(&x->read[lane], lane, since, jump);
    }
  }
}

static void move_life(struct sl_life *life, const struct sl_mark *since, const struct sl_mark *jump, int32_t further) {
  life->first += jump->issue;
  life->last += jump->issue;
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) {
    move_on(&life->done[lane], lane, since, jump);
    life->known[lane] += jump->lane_ops[lane];
  }
  if (life->micro_batch >= 0) life->micro_batch += further;
}

/* The newest lifetime of a slot that does not change continues after the copies: as one that began there, if each
 * period begins one. */
static void move_newest(struct sl_periods *s, size_t slot, const struct sl_mark *jump, int32_t further) {
  const struct sl_mark *since = &s->marks[s->count - 2];
  if (s->k->last_life[slot] < 0) return;
  struct sl_life *life = &s->k->lives->items[s->k->last_life[slot]];
  if (life->last < since->issue) return;
  if (life->first >= s->marks[s->count - 3].issue) {
    move_life(life, since, jump, further);
    return;
  }
  life->last += jump->issue;
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) move_on(&life->done[lane], lane, since, jump);
}

/* For a slot that changes: its newest lifetime ends in the copies, and the one after them is that of the slot whose
 * place it takes. */
static enum sl_status turn_slot(struct sl_periods *s, struct sl_turning *t, size_t slot, const struct sl_mark *jump) {
  struct linker *k = s->k;
  const struct sl_life *renewed = &t->renewed[slot];
  SL_TRY(sl_lives_room(k->lives, k->rank_class->slot_count));
  k->lives->items[k->last_life[slot]] = t->over[slot];
  t->newest[renewed->slot] = (int32_t)k->lives->count;
  k->lives->items[k->lives->count++] = *renewed;
  move_history(k, slot, &s->marks[s->alike], jump);
  t->moved[renewed->slot] = k->histories[slot];
  return SL_OK;
}

static enum sl_status move_slots(struct sl_periods *s, struct sl_turning *t, const struct sl_mark *jump,
                                 uint32_t copies) {
  struct linker *k = s->k;
  const size_t slots = k->rank_class->slot_count;
  const int32_t further = (int32_t)copies * s->r.micro_batches;
  for (size_t i = 0; i < slots; i++) {
    if (sl_slot_changes(s, i)) {
      SL_TRY(turn_slot(s, t, i, jump));
    } else {
      move_history(k, i, &s->marks[s->count - 2], jump);
      move_newest(s, i, jump, further);
    }
  }
  for (size_t i = 0; i < slots; i++) {
    if (!sl_slot_changes(s, i)) continue;
    k->histories[i] = t->moved[i];
    k->last_life[i] = t->newest[i];
  }
  return SL_OK;
}

/* Copies all periods that the run has left, if they are known to be identical to the last. */
static enum sl_status try_copies(struct sl_periods *s, uint32_t copies, bool *done) {
  enum sl_status status;
  struct linker *k = s->k;
  const struct sl_mark *here = &s->marks[s->count - 1], step = sl_mark_distance(here - 1, here, 1),
                       jump = sl_mark_distance(here - 1, here, copies);
  const bool turns = s->longest > 1;
  struct sl_turning t = {0};
  *done = false;
  SL_GO(sl_turning_open(&t, s, copies));
  s->awaited = t.unseen ? 2 * s->r.turn : s->longest; /* all slots have met in all ways twice, or completed a cycle */
  if (!t.goes_on) goto done;
  const struct sl_mark *const since = turns ? &s->marks[s->alike] : here - 1;
  SL_GO(copy_issues(s, &step, copies));
  move_clocks(k, since, here, &jump);
  SL_GO(move_slots(s, &t, &jump, copies));
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) move_on(&k->blocking[lane], lane, here - 1, &jump);
  *done = true;
done:
  sl_turning_close(&t);
  return status;
}

/* ---- from instance to instance ---- */

/* List slots turn by turn. */
static enum sl_status list_turns(struct sl_periods *s) {
  const uint32_t slots = (uint32_t)s->k->rank_class->slot_count;
  uint32_t listed = 0;
  SL_TRY(sl_calloc(&s->turns, slots, sizeof *s->turns));
  SL_TRY(sl_calloc(&s->order, slots, sizeof *s->order));
  s->longest = 1;
  for (uint32_t i = 0; i < slots; i++) {
    const uint32_t first = listed;
    for (uint32_t at = i; s->turns[at].length == 0; at = s->r.next[at]) {
      s->turns[at] = (struct sl_turn){.first = first, .at = listed - first, .length = 1};
      s->order[listed++] = at;
    }
    for (uint32_t j = first; j < listed; j++) s->turns[s->order[j]].length = listed - first;
    if (listed - first > s->longest) s->longest = listed - first;
  }
  return SL_OK;
}

/* Finds the lanes that use slots that change. */
static void find_lanes(struct sl_periods *s) {
  const struct linker *k = s->k;
  for (size_t i = 0; i < k->p->op_count; i++) {
    const struct sl_op *op = &k->p->ops[i];
    const struct sl_use *uses = &k->uses[k->first_use[i]];
    for (const struct sl_use *use = uses; use < uses + op->slice_count; use++) {
      const uint32_t slots = use->number >= 0 ? (uint32_t)k->rank_class->buffers[use->buffer].slots : 0;
      for (uint32_t slot = use->slot; slot < use->slot + slots; slot++)
        if (sl_slot_changes(s, slot)) s->lanes |= UINT32_C(1) << op->lane;
    }
  }
}

enum sl_status sl_periods_open(struct sl_periods *s, struct linker *k, bool active) {
  *s = (struct sl_periods){.k = k};
  if (!active) return SL_OK;
  SL_TRY(sl_repeat_find(k->rank_class, k->p, &s->r));
  if (s->r.period == 0) return SL_OK;
  SL_TRY(list_turns(s));
  find_lanes(s);
  return SL_OK;
}

void sl_periods_close(struct sl_periods *s) {
  free(s->marks);
  free(s->turns);
  free(s->order);
  sl_repeat_free(&s->r);
}

/* From here on considers only periods in which every slot maps to itself. */
static void take_whole_turns(struct sl_periods *s, uint32_t instance) {
  sl_repeat_whole_turns(s->k->rank_class, &s->r, instance);
  s->marks[0] = s->marks[s->count - 1];
  s->count = 1;
  s->alike = s->pause = 0;
  s->longest = 1;
}

enum sl_status sl_periods_skip(struct sl_periods *s, uint32_t *instance) {
  const uint32_t at = *instance;
  bool done;
  if (s->r.period == 0 || at < s->r.first || (at - s->r.first) % s->r.period != 0) return SL_OK;
  SL_TRY(sl_grow(&s->marks, &s->capacity, s->count + 1, sizeof *s->marks));
  s->marks[s->count++] = mark_here(s->k);
  const size_t derived = s->count - 1;
  const uint32_t copies = at < s->r.end ? (s->r.end - at) / s->r.period : 0;
  if (copies == 0) s->r.period = 0;
  if (derived >= 2 && !period_alike(s->k, &s->marks[s->count - 3])) s->alike = derived - 1;
  if (copies == 0 || derived < SETTLED || derived - s->alike < SL_ALIKE || derived < s->pause) return SL_OK;
  SL_TRY(try_copies(s, copies, &done));
  s->pause = derived + PAUSE;
  if (done) {
    *instance += copies * s->r.period;
    s->r.period = 0;
  } else if (derived > s->awaited + PATIENCE) {
    take_whole_turns(s, at);
  }
  return SL_OK;
}
