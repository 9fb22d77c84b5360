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
 *   - two slots that change must share a period, or be in positions of their cycles that were derived twice.
 * In an open run slots that change do not come back; chains.c says what holds there. */
#include "core/place/periods.h"

#include "core/place/chains.h"
#include "core/place/copies.h"
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
 * period, as far as it knows anything of a lane? */
static bool alike(const struct linker *k, uint32_t a, uint32_t b, const struct sl_mark *from,
                  const struct sl_mark *to) {
  const struct sl_issue *x = sl_issue_at(k, a), *y = sl_issue_at(k, b);
  const uint32_t *before = sl_clock_of(k, a), *after = sl_clock_of(k, b);
  if (x->op != y->op || x->wait_count != y->wait_count) return false;
  for (uint32_t w = 0; w < x->wait_count; w++) {
    const struct sl_wait *u = &k->p->waits[x->wait + w], *v = &k->p->waits[y->wait + w];
    if (u->lane != v->lane || v->count - u->count != sl_mark_ops(from, to, u->lane)) return false;
  }
  uint32_t differs = 0; /* without a way out of the loop, lanes are compared several at once */
  for (uint32_t lane = 0; lane < SL_LANE_COUNT; lane++)
    differs |= ((after[lane] - before[lane]) ^ sl_mark_ops(from, to, lane)) & -(uint32_t)(after[lane] != 0);
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

/* For a slot that changes: its newest lifetime ends in the copies, and the one after them is that of the slot whose
 * place it takes. */
static enum sl_status turn_slot(struct sl_periods *s, struct sl_turning *t, size_t slot, const struct sl_mark *jump) {
  struct linker *k = s->k;
  const struct sl_life *renewed = &t->renewed[slot];
  SL_TRY(sl_lives_room(k->lives, k->rank_class->slot_count));
  k->lives->items[k->last_life[slot]] = t->over[slot];
  t->newest[renewed->slot] = (int32_t)k->lives->count;
  k->lives->items[k->lives->count++] = *renewed;
  sl_copies_move_history(k, slot, &s->marks[s->alike], jump);
  t->moved[renewed->slot] = k->histories[slot];
  return SL_OK;
}

static enum sl_status turn_slots(struct sl_periods *s, struct sl_turning *t, uint32_t copies) {
  struct linker *k = s->k;
  const size_t slots = k->rank_class->slot_count;
  const struct sl_mark *here = &s->marks[s->count - 1], jump = sl_mark_distance(here - 1, here, copies);
  for (size_t i = 0; i < slots; i++)
    if (sl_slot_changes(s, i)) SL_TRY(turn_slot(s, t, i, &jump));
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
  const bool turns = s->longest > 1;
  struct sl_turning t = {0};
  *done = false;
  SL_GO(sl_turning_open(&t, s, copies));
  s->awaited = t.unseen ? 2 * s->r.turn : s->longest; /* all slots have met in all ways twice, or completed a cycle */
  if (!t.goes_on) goto done;
  SL_GO(sl_copies_store(s, &s->marks[turns ? s->alike : s->count - 2], copies));
  sl_copies_move_slots(s, copies, true);
  SL_GO(turn_slots(s, &t, copies));
  *done = true;
done:
  sl_turning_close(&t);
  return status;
}

/* ---- from instance to instance ---- */

/* Lists slots cycle by cycle, and chain by chain, from its beginning. */
static enum sl_status list_turns(struct sl_periods *s) {
  const uint32_t slots = (uint32_t)s->k->rank_class->slot_count;
  uint32_t listed = 0;
  bool *behind; /* another slot of a chain */
  SL_TRY(sl_calloc(&behind, slots, sizeof *behind));
  for (uint32_t i = 0; s->r.open && i < slots; i++)
    if (sl_slot_changes(s, i) && s->r.next[i] != SL_NO_SLOT) behind[s->r.next[i]] = true;
  s->longest = 1;
  for (uint32_t i = 0; i < slots; i++) {
    const uint32_t first = listed;
    for (uint32_t at = i; !behind[i] && at != SL_NO_SLOT && s->turns[at].length == 0; at = s->r.next[at]) {
      s->turns[at] = (struct sl_turn){.first = first, .at = listed - first, .length = 1};
      s->order[listed++] = at;
    }
    for (uint32_t j = first; j < listed; j++) s->turns[s->order[j]].length = listed - first;
    if (listed - first > s->longest) s->longest = listed - first;
  }
  free(behind);
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

/* Goes on to the next run. */
static enum sl_status begin_run(struct sl_periods *s) {
  sl_chains_end(s);
  free(s->turns);
  free(s->order);
  s->turns = NULL, s->order = NULL;
  s->r = s->all.runs[s->begun++];
  s->lanes = 0;
  s->count = s->alike = s->awaited = s->pause = 0;
  SL_TRY(sl_calloc(&s->turns, s->k->rank_class->slot_count, sizeof *s->turns));
  SL_TRY(sl_calloc(&s->order, s->k->rank_class->slot_count, sizeof *s->order));
  SL_TRY(list_turns(s));
  if (s->longest > 1 && !s->r.open) s->pause = SETTLED + PAUSE; /* slots that change have hardly met before */
  find_lanes(s);
  return SL_OK;
}

enum sl_status sl_periods_open(struct sl_periods *s, struct linker *k, enum sl_copying copying) {
  *s = (struct sl_periods){.k = k, .whole = copying == SL_COPY_WHOLE};
  return copying != SL_COPY_NOTHING ? sl_repeat_find(k->rank_class, k->p, &s->all) : SL_OK;
}

void sl_periods_close(struct sl_periods *s) {
  free(s->marks);
  free(s->turns);
  free(s->order);
  free(s->chained);
  sl_repeat_free(&s->all);
}

/* From here on considers only periods in which every slot maps to itself. */
static void take_whole_turns(struct sl_periods *s, uint32_t instance) {
  sl_repeat_whole_turns(s->k->rank_class, &s->r, instance);
  s->marks[0] = s->marks[s->count - 1];
  s->count = 1;
  s->alike = s->pause = 0;
  s->longest = 1;
}

/* Copies what is known to be identical of the `left` periods that the run has left; *copies: how many. */
static enum sl_status copy_some(struct sl_periods *s, uint32_t left, uint32_t at, uint32_t *copies) {
  const size_t derived = s->count - 1;
  s->pause = derived + PAUSE;
  if (s->r.open) return sl_chains_copy(s, left, copies);
  bool done;
  SL_TRY(try_copies(s, left, &done));
  *copies = done ? left : 0;
  if (!done && derived > s->awaited + PATIENCE) take_whole_turns(s, at);
  return SL_OK;
}

enum sl_status sl_periods_skip(struct sl_periods *s, uint32_t *instance) {
  const uint32_t at = *instance;
  uint32_t copies = 0;
  if (s->r.period == 0 && at >= s->r.end && s->begun < s->all.count) SL_TRY(begin_run(s));
  if (s->r.period == 0 || at < s->r.first || (at - s->r.first) % s->r.period != 0) return SL_OK;
  SL_TRY(sl_grow(&s->marks, &s->capacity, s->count + 1, sizeof *s->marks));
  s->marks[s->count++] = mark_here(s->k);
  const size_t derived = s->count - 1;
  const uint32_t left = at < s->r.end ? (s->r.end - at) / s->r.period : 0;
  if (left == 0) s->r.period = 0;
  if (derived >= 2 && !period_alike(s->k, &s->marks[s->count - 3])) s->alike = derived - 1;
  if (left == 0 || derived < SETTLED || derived - s->alike < SL_ALIKE || derived < s->pause) return SL_OK;
  SL_TRY(copy_some(s, left, at, &copies));
  *instance += copies * s->r.period;
  if (copies > 0) s->r.period = 0;
  return SL_OK;
}
