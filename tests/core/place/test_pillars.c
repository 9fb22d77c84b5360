/* label: property
 * Passing over pillars block by block never leaves out room: what is passed over is kept by pillars that stand in one of the lives, as
 * a search of place after place finds; and where all stand all the time, nothing is left to be found. */
#include "core/place/pillars.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 3000, ASKED = 300 };

static uint64_t seed = 17;

/* Of a linear congruence (Knuth's MMIX). */
static uint32_t draw(uint32_t below) {
  seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(seed >> 33) % below;
}

static bool stands(const struct sl_pillar *p, const struct sl_pillar_life lives[SL_PILLAR_LIVES]) {
  for (int i = 0; i < SL_PILLAR_LIVES; i++)
    for (int k = 0; k < SL_PILLAR_LIVES; k++)
      if (lives[i].first <= lives[i].last && p->lives[k].first <= lives[i].last && lives[i].first <= p->lives[k].last &&
          p->lives[k].first <= p->lives[k].last)
        return true;
  return false;
}

/* The lowest offset that pillars which stand leave room at. */
static int64_t lowest(const struct sl_pillar *all, int64_t offset, int64_t bytes,
                      const struct sl_pillar_life lives[SL_PILLAR_LIVES]) {
  for (size_t i = 0; i < COUNT; i++) {
    if (all[i].hi <= offset || !stands(&all[i], lives)) continue;
    if (all[i].lo >= offset + bytes) break;
    offset = all[i].hi;
  }
  return offset;
}

/* Life k of a pillar or of what is asked for: some of a step of 1000 issues each. */
static void draw_lives(struct sl_pillar_life lives[SL_PILLAR_LIVES], uint32_t around, uint32_t width) {
  for (uint32_t k = 0; k < SL_PILLAR_LIVES; k++) {
    const uint32_t middle = 1000 * k + around;
    lives[k] = (struct sl_pillar_life){middle - draw(width), middle + draw(width)};
  }
  if (draw(7) == 0) lives[SL_PILLAR_LIVES - 1] = (struct sl_pillar_life){1, 0};
}

static void nothing_free_is_passed_over(void **state) {
  (void)state;
  static struct sl_pillar all[COUNT];
  struct sl_pillars pillars = {0};
  for (int round = 0; round < 4; round++) {
    int64_t at = 512;
    sl_pillars_clear(&pillars);
    for (uint32_t i = 0; i < COUNT; i++) {
      at += draw(5) == 0 ? draw(3) : 0;
      all[i] = (struct sl_pillar){.lo = at, .hi = at + 1 + draw(9)};
      at = all[i].hi;
      draw_lives(all[i].lives, 500, round < 2 ? 400 : 450);
    }
    for (uint32_t i = 0; i < COUNT;
         i++) { /* half in order, then the others between them; some are asked for in between */
      assert_int_equal(sl_pillars_add(&pillars, all[i < COUNT / 2 ? 2 * i : 2 * (i - COUNT / 2) + 1]), SL_OK);
      if (i % 100 == 0) sl_pillars_pass(&pillars, 0, 1 << 20, (struct sl_pillar_life[SL_PILLAR_LIVES]){{0, 9999}});
    }
    int64_t passed = 0;
    for (int i = 0; i < ASKED; i++) {
      struct sl_pillar_life lives[SL_PILLAR_LIVES];
      const int64_t bytes = 1 + draw(6), from = draw((uint32_t)at);
      draw_lives(lives, 500 + draw(200), 1 + draw(20));
      const int64_t to = sl_pillars_pass(&pillars, from, bytes, lives);
      assert_in_range(to, from, lowest(all, from, bytes, lives));
      passed += to - from;
    }
    assert_true(passed > 0);
  }
  sl_pillars_free(&pillars);
}

static void what_always_stands_is_passed_over_whole(void **state) {
  (void)state;
  const struct sl_pillar_life always[SL_PILLAR_LIVES] = {{0, 9}, {1, 0}, {1, 0}, {1, 0}};
  struct sl_pillars pillars = {0};
  const int64_t count = SL_PILLAR_FAN * SL_PILLAR_FAN;
  for (int64_t i = 0; i < count; i++) {
    struct sl_pillar p = {.lo = 2 * i, .hi = 2 * i + 2};
    memcpy(p.lives, always, sizeof always);
    assert_int_equal(sl_pillars_add(&pillars, p), SL_OK);
  }
  assert_int_equal(sl_pillars_pass(&pillars, 1, 3, always), 2 * count);
  const struct sl_pillar_life later[SL_PILLAR_LIVES] = {{10, 12}, {1, 0}, {1, 0}, {1, 0}};
  assert_int_equal(sl_pillars_pass(&pillars, 1, 3, later), 1);
  sl_pillars_free(&pillars);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_free_is_passed_over),
      cmocka_unit_test(what_always_stands_is_passed_over_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
