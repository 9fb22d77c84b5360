/* label: property
 * What is noted as busy is passed over as a search of one after the other finds it, and never a place that is free; and
 * buffers get the offsets that the rule of arena.h gives them when all pairs of their lives are compared. */
#include "core/place/arena.h"
#include "core/place/busy.h"
#include "core/place/live.h"
#include "core/program/memory_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t seed = 17;

/* Of a linear congruence (Knuth's MMIX). */
static uint32_t draw(uint32_t below) {
  seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(seed >> 33) % below;
}

/* ---- busy bytes ---- */

enum { NOTED = 300, ASKED = 300, STARTS = 12, ISSUES = 1000 };

struct noted {
  int64_t lo, hi;
  struct sl_busy_life life;
};

/* Does an issue of `life` lie in a moment that is all of `noted`? A moment ends where the next one starts. */
static bool certain(const uint32_t *starts, struct sl_busy_life noted, struct sl_busy_life life) {
  for (uint32_t m = 0; m < STARTS; m++) { /* the last, which never ends, is never all of a life */
    const uint32_t first = m > 0 ? starts[m - 1] : 0, last = starts[m] - 1;
    if (noted.first <= first && last <= noted.last && life.first <= last && first <= life.last) return true;
  }
  return false;
}

/* The lowest offset for `bytes` beside those noted that are certain to meet `life`; beside those that do, with
 * `all`. */
static int64_t lowest(const struct noted *noted, const uint32_t *starts, int64_t offset, int64_t bytes,
                      struct sl_busy_life life, bool all) {
  for (bool moved = true; moved;) {
    moved = false;
    for (int i = 0; i < NOTED; i++) {
      const struct noted *n = &noted[i];
      const bool meets = n->life.first <= life.last && life.first <= n->life.last;
      if (n->hi <= offset || n->lo >= offset + bytes || !(all ? meets : certain(starts, n->life, life))) continue;
      offset = n->hi;
      moved = true;
    }
  }
  return offset;
}

static struct sl_busy_life draw_life(uint32_t longest) {
  const uint32_t first = draw(ISSUES - longest);
  return (struct sl_busy_life){first, first + draw(longest)};
}

static void what_is_certain_is_passed_over_and_nothing_free(void **state) {
  (void)state;
  int64_t passed = 0;
  struct sl_busy busy = {0};
  uint32_t starts[STARTS];
  for (uint32_t m = 0; m < STARTS; m++) starts[m] = (m + 1) * ISSUES / (STARTS + 1) + draw(60);
  assert_int_equal(sl_busy_open(&busy, starts, STARTS), SL_OK);
  for (int round = 0; round < 3; round++) {
    struct noted noted[NOTED];
    sl_busy_clear(&busy);
    for (int i = 0; i < NOTED; i++) {
      const int64_t lo = draw(2000);
      noted[i] = (struct noted){lo, lo + 1 + draw(40), draw_life(i % 3 == 0 ? 700 : 200)};
      assert_int_equal(sl_busy_add(&busy, noted[i].lo, noted[i].hi, noted[i].life), SL_OK);
    }
    for (int i = 0; i < ASKED; i++) {
      const int64_t from = draw(2100), bytes = 1 + draw(60);
      const struct sl_busy_life life = draw_life(i % 2 == 0 ? 30 : 500);
      const int64_t to = sl_busy_pass(&busy, from, bytes, life);
      assert_int_equal(to, lowest(noted, starts, from, bytes, life, false));
      assert_true(to <= lowest(noted, starts, from, bytes, life, true));
      passed += to - from;
    }
    assert_int_equal(sl_busy_pass(&busy, 3, 2000, (struct sl_busy_life){1, 0}), 3); /* no life */
  }
  assert_true(passed > 0);
  sl_busy_close(&busy);
}

/* ---- an arena ---- */

enum { BUFFERS = 1200, STEPS = 3000, LIVES = 3, LANES = 3 };

/* A step of ops on lanes, each of which waits for an earlier one of another lane now and then: what is complete for
 * certain at its start, and how many ops its lane has with it. */
struct step {
  int lane[STEPS];
  uint32_t known[STEPS][SL_LANE_COUNT], own[STEPS];
};

static void draw_step(struct step *s) {
  uint32_t count[LANES] = {0}, clock[LANES][SL_LANE_COUNT] = {{0}};
  for (uint32_t i = 0; i < STEPS; i++) {
    const int lane = draw(4) > 0 ? SL_LANE_COMPUTE : (int)draw(LANES);
    if (i > 0 && draw(6) == 0) {
      const uint32_t other = i - 1 - draw(i < 40 ? i : 40);
      for (int l = 0; l < SL_LANE_COUNT; l++)
        if (s->known[other][l] > clock[lane][l]) clock[lane][l] = s->known[other][l];
      if (s->own[other] > clock[lane][s->lane[other]]) clock[lane][s->lane[other]] = s->own[other];
    }
    clock[lane][lane] = count[lane]++;
    memcpy(s->known[i], clock[lane], sizeof clock[lane]);
    s->lane[i] = lane;
    s->own[i] = count[lane];
  }
}

/* A life of a slot that is used by two ops. */
static struct sl_life life_of(const struct step *s, uint32_t slot, uint32_t first, uint32_t last) {
  struct sl_life life = {.slot = slot,
                         .buffer = (int32_t)slot,
                         .program = SL_PROGRAM_STEP,
                         .first = first,
                         .last = last,
                         .lanes = UINT32_C(1) << s->lane[first] | UINT32_C(1) << s->lane[last]};
  life.done[s->lane[first]] = s->own[first];
  life.done[s->lane[last]] = s->own[last];
  for (int l = 0; l < SL_LANE_COUNT; l++)
    life.known[l] = s->known[last][l] < s->known[first][l] ? s->known[last][l] : s->known[first][l];
  return life;
}

/* May two lives not share bytes, since neither is certain to be over before the other begins? */
static bool collide(const struct sl_life *a, const struct sl_life *b) {
  if (b->first < a->first) return collide(b, a);
  if (b->first <= a->last) return true;
  for (int l = 0; l < SL_LANE_COUNT; l++)
    if (a->done[l] > b->known[l]) return true;
  return false;
}

/* Buffers with a slot each, and the lives of slot i: lives[i][0 ... LIVES - 1]. */
struct drawn {
  struct step step;
  struct sl_buffer buffers[BUFFERS];
  struct sl_life lives[BUFFERS][LIVES];
  int64_t plain[BUFFERS];
};

static bool collide_ever(const struct drawn *d, int x, int y) {
  for (int i = 0; i < LIVES; i++)
    for (int k = 0; k < LIVES; k++)
      if (collide(&d->lives[x][i], &d->lives[y][k])) return true;
  return false;
}

/* Places buffers in an order, each at the lowest offset beside those placed that it collides with; the arena's size. */
static int64_t place_plainly(struct drawn *d, const int *order) {
  int64_t top = 0;
  for (int n = 0; n < BUFFERS; n++) {
    const int x = order[n];
    const int64_t bytes = sl_live_aligned(d->buffers[x].bytes);
    bool met[BUFFERS];
    for (int k = 0; k < n; k++) met[k] = collide_ever(d, x, order[k]);
    int64_t offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (int k = 0; k < n; k++) {
        const int64_t lo = d->plain[order[k]], hi = lo + sl_live_aligned(d->buffers[order[k]].bytes);
        if (!met[k] || hi <= offset || lo >= offset + bytes) continue;
        offset = hi;
        moved = true;
      }
    }
    d->plain[x] = offset;
    if (offset + bytes > top) top = offset + bytes;
  }
  return top;
}

static const struct sl_buffer *sizes; /* of the buffers that are sorted */

static int larger_first(const void *a, const void *b) {
  const int x = *(const int *)a, y = *(const int *)b;
  const int64_t p = sl_live_aligned(sizes[x].bytes), q = sl_live_aligned(sizes[y].bytes);
  return p != q ? (p > q ? -1 : 1) : x - y;
}

static int by_first(const void *a, const void *b) {
  const struct sl_life *x = a, *y = b;
  return x->first != y->first ? (x->first < y->first ? -1 : 1) : x->slot < y->slot ? -1 : 1;
}

static void draw_buffers(struct drawn *d, uint32_t longest) {
  draw_step(&d->step);
  for (uint32_t i = 0; i < BUFFERS; i++) {
    d->buffers[i] = (struct sl_buffer){.name = "b",
                                       .category = SL_CATEGORY_ACTIVATION,
                                       .slots = 1,
                                       .bytes = draw(5) == 0 ? draw(40000) + 1 : 256 * (1 + draw(6)),
                                       .first_slot = (int32_t)i};
    for (uint32_t k = 0; k < LIVES; k++) { /* each in its third of the step, and when the one before is over */
      do {
        const uint32_t length = draw(3) == 0 ? longest : 12, first = k * STEPS / LIVES + draw(STEPS / LIVES - length);
        d->lives[i][k] = life_of(&d->step, i, first, first + draw(length));
      } while (k > 0 && collide(&d->lives[i][k - 1], &d->lives[i][k]));
    }
  }
}

/* The larger buffers first or, where that leaves much unused and this is less, in order of their numbers. */
static void place_by_the_rule(struct drawn *d, int64_t live_peak, int64_t *top) {
  int order[BUFFERS];
  for (int i = 0; i < BUFFERS; i++) order[i] = i;
  const int64_t in_order = place_plainly(d, order);
  sizes = d->buffers;
  qsort(order, BUFFERS, sizeof *order, larger_first);
  *top = place_plainly(d, order);
  if (*top <= live_peak + live_peak / 50 || in_order >= *top) return;
  for (int i = 0; i < BUFFERS; i++) order[i] = i;
  *top = place_plainly(d, order);
}

static void buffers_lie_where_all_pairs_put_them(void **state) {
  (void)state;
  static struct drawn d;
  static const uint32_t longest[] = {900, 500, 100};
  for (size_t round = 0; round < sizeof longest / sizeof *longest; round++) {
    draw_buffers(&d, longest[round]);
    struct sl_op op = {.phase = SL_PHASE_FORWARD};
    struct sl_issue *issues = calloc(STEPS, sizeof *issues);
    struct sl_life *all = malloc(sizeof d.lives);
    assert_non_null(issues);
    assert_non_null(all);
    memcpy(all, d.lives, sizeof d.lives);
    qsort(all, (size_t)BUFFERS * LIVES, sizeof *all, by_first);
    struct sl_class c = {.buffers = d.buffers, .buffer_count = BUFFERS, .slot_count = BUFFERS};
    for (int k = 0; k < SL_PROGRAM_COUNT; k++) c.programs[k].kind = (enum sl_program_kind)k;
    c.programs[SL_PROGRAM_STEP].ops = &op;
    c.programs[SL_PROGRAM_STEP].issues = issues;
    c.programs[SL_PROGRAM_STEP].issue_count = STEPS;
    const struct sl_lives lives = {.items = all, .count = (size_t)BUFFERS * LIVES};
    assert_int_equal(sl_arena_place(&c, &lives, &(struct sl_build_options){0}), SL_OK);
    int64_t top;
    place_by_the_rule(&d, c.memory[SL_SPACE_DEVICE].live_peak_bytes, &top);
    assert_int_equal(c.arena_bytes[SL_SPACE_DEVICE], top);
    assert_memory_equal(c.slot_offsets, d.plain, sizeof d.plain);
    free(c.slot_offsets);
    free(c.memory);
    free(issues);
    free(all);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_certain_is_passed_over_and_nothing_free),
      cmocka_unit_test(buffers_lie_where_all_pairs_put_them),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
