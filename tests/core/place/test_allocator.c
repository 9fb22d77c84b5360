/* label: unit
 * The model of PyTorch's caching allocator against sequences worked out by hand, and against what holds of any
 * sequence. */
#include "core/place/allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define MIB INT64_C(1048576)

static uint32_t take(struct sl_allocator *a, int64_t bytes) {
  uint32_t block;
  assert_int_equal(sl_allocator_take(a, bytes, &block), SL_OK);
  return block;
}

static void give(struct sl_allocator *a, uint32_t block) {
  assert_int_equal(sl_allocator_give(a, block), SL_OK);
}

static void sizes_are_rounded(void **state) {
  static const struct {
    int64_t asked, taken, reserved;
  } points[] = {{1, 512, 2 * MIB},
                {513, 1024, 2 * MIB},
                {MIB, MIB, 2 * MIB},
                {MIB + 1, MIB + 512, 20 * MIB},
                {10 * MIB - 512, 10 * MIB - 512, 20 * MIB},
                {10 * MIB, 10 * MIB, 10 * MIB},
                {11 * MIB, 12 * MIB, 12 * MIB}, /* 1 MiB is left over: too little to be cut off */
                {23 * MIB + 7, 24 * MIB, 24 * MIB}};
  (void)state;
  for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
    struct sl_allocator a = {0};
    take(&a, points[i].asked);
    assert_int_equal(a.reserved, points[i].reserved);
    assert_int_equal(a.taken, points[i].taken);
    sl_allocator_free(&a);
  }
}

/* Two small requests share a segment; a large one does not go there, though there is room. */
static void small_and_large_are_apart(void **state) {
  struct sl_allocator a = {0};
  (void)state;
  take(&a, 700000);
  take(&a, 700000);
  assert_int_equal(a.reserved, 2 * MIB);
  take(&a, 700000);
  assert_int_equal(a.reserved, 4 * MIB);
  take(&a, MIB + 512);
  assert_int_equal(a.reserved, 24 * MIB);
  sl_allocator_free(&a);
}

/* 30 and 50 MiB are free: 29 MiB take the smaller whole, for 1 MiB is not worth a cut, 40 MiB leave 10 of the larger
 * one. */
static void the_smallest_that_is_large_enough(void **state) {
  struct sl_allocator a = {0};
  (void)state;
  const uint32_t large = take(&a, 50 * MIB), small = take(&a, 30 * MIB);
  give(&a, large);
  give(&a, small);
  take(&a, 29 * MIB);
  assert_int_equal(a.taken, 30 * MIB);
  take(&a, 40 * MIB);
  assert_int_equal(a.taken, 70 * MIB);
  take(&a, 10 * MIB);
  assert_int_equal(a.reserved, 80 * MIB);
  take(&a, 10 * MIB);
  assert_int_equal(a.reserved, 90 * MIB);
  sl_allocator_free(&a);
}

/* Three blocks of one segment, given back in an order in which the last one joins both neighbours: all of it is free
 * again. */
static void neighbours_join(void **state) {
  struct sl_allocator a = {0};
  (void)state;
  give(&a, take(&a, 60 * MIB));
  const uint32_t first = take(&a, 20 * MIB), second = take(&a, 20 * MIB), third = take(&a, 20 * MIB);
  assert_int_equal(a.reserved, 60 * MIB);
  give(&a, first);
  give(&a, third);
  give(&a, second);
  take(&a, 60 * MIB);
  assert_int_equal(a.reserved, 60 * MIB);
  assert_int_equal(a.taken, 60 * MIB);
  sl_allocator_free(&a);
}

/* 20 MiB are free in two places: 40 MiB find no place, and the reserve grows beyond what was ever live. */
static void what_is_apart_is_no_place(void **state) {
  struct sl_allocator a = {0};
  (void)state;
  const uint32_t first = take(&a, 20 * MIB), second = take(&a, 20 * MIB);
  take(&a, 20 * MIB);
  give(&a, first);
  give(&a, second);
  take(&a, 40 * MIB);
  assert_int_equal(a.taken_peak, 60 * MIB);
  assert_int_equal(a.reserved_peak, 100 * MIB);
  sl_allocator_free(&a);
}

/* In need the two go back to the device first; a segment of which a part is out stays. */
static void in_need_free_segments_go_back(void **state) {
  struct sl_allocator a = {.capacity = 1};
  (void)state;
  const uint32_t first = take(&a, 20 * MIB), second = take(&a, 20 * MIB), third = take(&a, 20 * MIB);
  give(&a, first);
  give(&a, second);
  take(&a, 40 * MIB);
  assert_int_equal(a.reserved, 60 * MIB);
  give(&a, third);
  take(&a, 5 * MIB);
  take(&a, 30 * MIB);
  assert_int_equal(a.reserved, 90 * MIB);
  sl_allocator_free(&a);
}

/* They stay while the device has room, and what does not fit even without them goes beyond its end. */
static void the_device_ends(void **state) {
  struct sl_allocator a = {.capacity = 100 * MIB};
  (void)state;
  const uint32_t first = take(&a, 40 * MIB);
  give(&a, first);
  take(&a, 60 * MIB);
  assert_int_equal(a.reserved, 100 * MIB);
  take(&a, 41 * MIB);
  assert_int_equal(a.reserved, 102 * MIB); /* of an even number of MiB */
  assert_int_equal(a.reserved_peak, 102 * MIB);
  sl_allocator_free(&a);
}
/* An expandable segment grows by pages of 20 MiB; what is free at its end counts for the next request. */
static void pages_are_mapped_behind_the_last_block(void **state) {
  struct sl_allocator a = {.expandable = true};
  (void)state;
  take(&a, 10 * MIB);
  assert_int_equal(a.reserved, 20 * MIB);
  take(&a, 23 * MIB + 7);
  assert_int_equal(a.reserved, 40 * MIB);
  assert_int_equal(a.taken, 33 * MIB + 512);
  take(&a, 6 * MIB); /* of the 7 MiB less 512 that are left */
  assert_int_equal(a.reserved, 40 * MIB);
  take(&a, 700000); /* small ones have segments of their own */
  assert_int_equal(a.reserved, 42 * MIB);
  sl_allocator_free(&a);
}

/* Where segments of 20 MiB are apart (above), blocks of one segment are a place. */
static void neighbours_of_an_expandable_segment_are_a_place(void **state) {
  struct sl_allocator a = {.expandable = true};
  (void)state;
  const uint32_t first = take(&a, 20 * MIB), second = take(&a, 20 * MIB);
  take(&a, 20 * MIB);
  give(&a, first);
  give(&a, second);
  take(&a, 40 * MIB);
  assert_int_equal(a.reserved_peak, 60 * MIB);
  sl_allocator_free(&a);
}

/* A hole of 20 MiB is chosen before the 15 at the end, which could become more: then 20 MiB find only the end. */
static void the_end_is_chosen_last(void **state) {
  struct sl_allocator a = {.expandable = true};
  (void)state;
  const uint32_t first = take(&a, 20 * MIB);
  take(&a, 20 * MIB);
  take(&a, 25 * MIB);
  assert_int_equal(a.reserved, 80 * MIB);
  give(&a, first);
  take(&a, 15 * MIB);
  take(&a, 20 * MIB);
  assert_int_equal(a.reserved, 100 * MIB);
  sl_allocator_free(&a);
}

/* In need pages within the segment go back, and are mapped again when the hole is used. */
static void in_need_free_pages_go_back(void **state) {
  struct sl_allocator a = {.capacity = 120 * MIB, .expandable = true};
  (void)state;
  const uint32_t first = take(&a, 40 * MIB);
  take(&a, 20 * MIB);
  take(&a, 40 * MIB);
  give(&a, first);
  assert_int_equal(a.reserved, 100 * MIB);
  take(&a, 50 * MIB);
  assert_int_equal(a.reserved, 120 * MIB);
  take(&a, 40 * MIB);
  assert_int_equal(a.reserved, 150 * MIB); /* the 10 MiB behind the 50 went back for it, and it was not enough */
  assert_int_equal(a.taken, 150 * MIB);
  sl_allocator_free(&a);
}

static uint64_t random_number(uint64_t *seed) {
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *seed >> 33;
}

/* Requests and returns in a random order. The reserve holds what is taken, and it falls only where segments go back. */
static void at_random(struct sl_allocator *a, uint64_t seed) {
  uint32_t out[100];
  size_t count = 0;
  for (int i = 0; i < 2000; i++) {
    const int64_t before = a->reserved;
    if (count < 100 && random_number(&seed) % 3 > 0) {
      const int shift = (int)(random_number(&seed) % 18);
      out[count++] = take(a, 1 + (int64_t)(random_number(&seed) % (UINT64_C(1000) << shift)));
    } else if (count > 0) {
      const size_t which = random_number(&seed) % count;
      give(a, out[which]);
      out[which] = out[--count];
    }
    assert_true(a->taken <= a->reserved && a->reserved <= a->reserved_peak && a->taken_peak <= a->reserved_peak);
    assert_true(a->capacity > 0 || a->reserved >= before);
  }
  while (count > 0) give(a, out[--count]);
}

/* When all is given back, every segment is one free block: in need, the device gets all of them. */
static void holds_for_any_sequence(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 40; seed++) {
    struct sl_allocator a = {.capacity = seed % 2, .expandable = seed / 2 % 2};
    at_random(&a, seed);
    assert_int_equal(a.taken, 0);
    assert_true(a.reserved > 0);
    a.capacity = 1;
    take(&a, 4096 * MIB);
    assert_true(a.reserved >= 4096 * MIB && a.reserved < (a.expandable ? 4116 : 4097) * MIB);
    sl_allocator_free(&a);
  }
}

/* ---- an expandable segment of equal pages, looked through page by page ---- */

enum { PAGES = 600, HELD = 60, NOBODY = 0 };

struct pages {
  uint32_t owner[PAGES]; /* whose request has a page, counted from 1; NOBODY: free */
  int mapped;
};

/* The end of a run of free pages. */
static int end_of_run(const struct pages *p, int from) {
  while (from < p->mapped && p->owner[from] == NOBODY) from++;
  return from;
}

/* The shortest run of at least `count` free pages, of those the one in front, but not the run at `but`; -1: none. */
static int shortest_run(const struct pages *p, int count, int but) {
  int best = -1, shortest = PAGES + 1;
  for (int at = 0; at < p->mapped; at = end_of_run(p, at) + 1) {
    const int length = end_of_run(p, at) - at;
    if (at != but && length >= count && length < shortest) best = at, shortest = length;
  }
  return best;
}

/* The first page for a request of `count`. The run at the end is taken if there is no other, and is made longer if need
 * be. */
static int place_in(struct pages *p, int count) {
  int at = shortest_run(p, count, -1);
  if (at >= 0 && end_of_run(p, at) == p->mapped) {
    const int other = shortest_run(p, count, at);
    if (other >= 0) at = other;
  }
  if (at >= 0) return at;
  for (at = p->mapped; at > 0 && p->owner[at - 1] == NOBODY;) at--;
  p->mapped = at + count;
  return at;
}

static void is_as_page_by_page(uint64_t seed) {
  struct sl_allocator a = {.expandable = true};
  struct pages p = {.mapped = 0};
  uint32_t out[HELD], whose[HELD], requests = 0;
  int held = 0;
  for (int i = 0; i < 3000; i++) {
    if (held < HELD && random_number(&seed) % 2 > 0) {
      const int count = 1 + (int)(random_number(&seed) % 8), at = place_in(&p, count);
      assert_true(p.mapped <= PAGES);
      out[held] = take(&a, count * 20 * MIB);
      whose[held++] = ++requests;
      for (int page = at; page < at + count; page++) p.owner[page] = requests;
    } else if (held > 0) {
      const int which = (int)(random_number(&seed) % (uint64_t)held);
      for (int page = 0; page < p.mapped; page++)
        if (p.owner[page] == whose[which]) p.owner[page] = NOBODY;
      give(&a, out[which]);
      out[which] = out[--held], whose[which] = whose[held];
    }
    assert_int_equal(a.reserved, p.mapped * 20 * MIB);
  }
  sl_allocator_free(&a);
}

/* Which hole is chosen shows in what later requests find. */
static void holes_are_chosen_as_page_by_page(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 30; seed++) is_as_page_by_page(seed);
}

/* Whole segments of one size are taken again by address, in whichever order they were given back. */
static void the_lowest_address_comes_first(void **state) {
  enum { SEGMENTS = 50 };
  struct sl_allocator a = {0};
  uint32_t blocks[SEGMENTS];
  uint64_t seed = 5;
  (void)state;
  for (int i = 0; i < SEGMENTS; i++) blocks[i] = take(&a, 30 * MIB);
  for (int round = 0; round < 20; round++) {
    int order[SEGMENTS];
    for (int i = 0; i < SEGMENTS; i++) {
      const int other = (int)(random_number(&seed) % (uint64_t)(i + 1));
      order[i] = order[other], order[other] = i;
    }
    for (int i = 0; i < SEGMENTS; i++) give(&a, blocks[order[i]]);
    for (int i = 0; i < SEGMENTS; i++) assert_int_equal(take(&a, 30 * MIB), blocks[i]);
  }
  assert_int_equal(a.reserved, SEGMENTS * 30 * MIB);
  sl_allocator_free(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_are_rounded),
      cmocka_unit_test(small_and_large_are_apart),
      cmocka_unit_test(the_smallest_that_is_large_enough),
      cmocka_unit_test(neighbours_join),
      cmocka_unit_test(what_is_apart_is_no_place),
      cmocka_unit_test(in_need_free_segments_go_back),
      cmocka_unit_test(the_device_ends),
      cmocka_unit_test(pages_are_mapped_behind_the_last_block),
      cmocka_unit_test(neighbours_of_an_expandable_segment_are_a_place),
      cmocka_unit_test(the_end_is_chosen_last),
      cmocka_unit_test(in_need_free_pages_go_back),
      cmocka_unit_test(holds_for_any_sequence),
      cmocka_unit_test(holes_are_chosen_as_page_by_page),
      cmocka_unit_test(the_lowest_address_comes_first),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
