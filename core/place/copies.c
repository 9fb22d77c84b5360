/* Writes copies of the last period, and moves what it left behind to where they end; see copies.h. */
#include "core/place/copies.h"

#include <string.h>

/* ---- issues ---- */

/* The issue a period before the next one, once more; `step`: a period, of `period` instances. */
static void copy_issue(struct linker *k, const struct sl_mark *step, uint32_t period) {
  struct sl_program *p = k->p;
  const uint32_t at = (uint32_t)p->issue_count;
  const struct sl_issue from = *sl_issue_at(k, at - step->issue);
  const uint32_t lane = p->ops[from.op].lane, own = p->lane_ops[lane];
  struct sl_issue *e = sl_issue_at(k, at);
  p->issue_count++;
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

/* What was known at the start of the issue a period before is known, a period later, at that of the newest. */
static void copy_clock(struct linker *k, const struct sl_mark *step) {
  const struct sl_program *p = k->p;
  const uint32_t issue = (uint32_t)p->issue_count - 1;
  const int lane = (int)p->ops[sl_issue_at(k, issue)->op].lane;
  uint32_t *clock = sl_clock_of(k, issue);
  memcpy(clock, sl_clock_of(k, issue - step->issue), SL_LANE_COUNT * sizeof *clock);
  sl_clock_advance(clock, step->lane_ops);
  k->lane_rows[lane][sl_lane_place(k, lane, p->lane_ops[lane] - 1)] = issue - k->copied.issue;
}

/* Makes room for waits of `copies` more periods like the last. */
static enum sl_status make_wait_room(struct sl_periods *s, uint32_t copies) {
  struct sl_program *p = s->k->p;
  const size_t waits = p->wait_count - sl_issue_at(s->k, s->marks[s->count - 2].issue)->wait;
  return sl_room(&p->waits, &p->wait_capacity, p->wait_count + waits * copies, sizeof *p->waits);
}

/* Advances a count of `lane` that was reached after `since`. */
static void move_on(uint32_t *count, int lane, const struct sl_mark *since, const struct sl_mark *jump) {
  if (*count > since->lane_ops[lane]) *count += jump->lane_ops[lane];
}

/* Ops of lanes that compute waits for. */
static void move_blocking(struct linker *k, const struct sl_mark *since, const struct sl_mark *jump) {
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) move_on(&k->blocking[lane], lane, since, jump);
}

enum sl_status sl_copies_write(struct sl_periods *s, uint32_t copies) {
  struct linker *k = s->k;
  const struct sl_mark *here = &s->marks[s->count - 1], *since = here - 1;
  const struct sl_mark step = sl_mark_distance(since, here, 1), jump = sl_mark_distance(since, here, copies);
  SL_TRY(make_wait_room(s, copies));
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) {
    const size_t rows = sl_lane_place(k, lane, k->p->lane_ops[lane]) + jump.lane_ops[lane];
    if (jump.lane_ops[lane] > 0) SL_TRY(sl_room(&k->lane_rows[lane], &k->lane_capacity[lane], rows, sizeof(uint32_t)));
  }
  for (uint32_t i = 0; i < jump.issue; i++) {
    copy_issue(k, &step, s->r.period);
    copy_clock(k, &step);
  }
  move_blocking(k, since, &jump);
  return SL_OK;
}

/* What follows the copies looks at no op of a lane but those in front of `since`, and those from there on as they stand
 * in the last copies: these take the rows of the ones that were derived. */
static void move_clocks(struct linker *k, const struct sl_mark *since, const struct sl_mark *here,
                        const struct sl_mark *jump) {
  for (uint32_t i = since->issue; i < here->issue; i++) sl_clock_advance(sl_clock_of(k, i), jump->lane_ops);
  k->kept = *since;
  k->copied = *jump;
}

enum sl_status sl_copies_store(struct sl_periods *s, const struct sl_mark *since, uint32_t copies) {
  struct linker *k = s->k;
  struct sl_program *p = k->p;
  const struct sl_mark *here = &s->marks[s->count - 1];
  const struct sl_mark step = sl_mark_distance(here - 1, here, 1), jump = sl_mark_distance(here - 1, here, copies);
  if (k->repeated) {
    p->repeated = (struct sl_repetition){here[-1].issue, step.issue, copies, s->r.period, {0}};
    memcpy(p->repeated.lane_ops, step.lane_ops, sizeof p->repeated.lane_ops);
    p->issue_count += jump.issue;
    for (int lane = 0; lane < SL_LANE_COUNT; lane++) p->lane_ops[lane] += jump.lane_ops[lane];
  } else {
    SL_TRY(make_wait_room(s, copies));
    for (uint32_t i = 0; i < jump.issue; i++) copy_issue(k, &step, s->r.period);
  }
  move_clocks(k, since, here, &jump);
  move_blocking(k, here - 1, &jump);
  return SL_OK;
}

/* ---- slots ---- */

void sl_copies_move_history(struct linker *k, size_t slot, const struct sl_mark *since, const struct sl_mark *jump) {
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
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) move_on(&life->done[lane], lane, since, jump);
  sl_clock_advance(life->known, jump->lane_ops);
  if (life->micro_batch >= 0) life->micro_batch += further;
}

/* The newest lifetime of a slot that does not change continues after the copies: as one that began there, if each
 * period begins one. */
static void move_newest(const struct sl_periods *s, size_t slot, const struct sl_mark *jump, int32_t further) {
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

void sl_copies_move_slots(struct sl_periods *s, uint32_t copies, bool lives) {
  const struct sl_mark *here = &s->marks[s->count - 1];
  const struct sl_mark jump = sl_mark_distance(here - 1, here, copies);
  for (size_t i = 0; i < s->k->rank_class->slot_count; i++) {
    if (sl_slot_changes(s, i)) continue;
    sl_copies_move_history(s->k, i, here - 1, &jump);
    if (lives) move_newest(s, i, &jump, (int32_t)copies * s->r.micro_batches);
  }
}
