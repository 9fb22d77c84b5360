/* label: unit
 * The checker's cells against a byte map: drawn insertions, removals and searches over many blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/check/cells.h"

enum { BYTES = 6000, DRAWS = 40000 };

/* What every byte belongs to: a number above 0 for each cell, told by its slot; 0 for a gap. */
static int64_t map[BYTES];

static void expect_map(const struct sl_cells *s) {
  struct sl_cells_place p = {0, 0};
  int64_t at = 0;
  for (const struct sl_cell *x; (x = sl_cells_at(s, p)) != NULL; p = sl_cells_next(s, p)) {
    for (; at < x->lo; at++) assert_int_equal(map[at], 0);
    assert_int_equal(at, x->lo);
    for (; at < x->hi; at++) assert_int_equal(map[at], x->slot);
  }
  for (; at < BYTES; at++) assert_int_equal(map[at], 0);
}

/* The first cell that ends above `byte` is the one that has the first byte from there on that is no gap. */
static void expect_found(const struct sl_cells *s, int64_t byte) {
  const struct sl_cell *x = sl_cells_at(s, sl_cells_find(s, byte));
  while (byte < BYTES && map[byte] == 0) byte++;
  if (byte == BYTES) {
    assert_null(x);
    return;
  }
  assert_non_null(x);
  assert_int_equal(x->slot, map[byte]);
}

static void as_a_map(void **state) {
  (void)state;
  struct sl_cells s = {0};
  unsigned seed = 1;
  int64_t slot = 0;
  size_t most = 0;
  for (int draw = 0; draw < DRAWS; draw++) {
    const unsigned kind = (unsigned)(rand_r(&seed) % 16);
    const int64_t byte = rand_r(&seed) % BYTES;
    const struct sl_cells_place p = sl_cells_find(&s, byte);
    const struct sl_cell *x = sl_cells_at(&s, p);
    expect_found(&s, byte);
    if (x != NULL && kind < (draw / 5000 % 2 ? 12u : 4u)) { /* by turns it grows and shrinks */
      for (int64_t i = x->lo; i < x->hi; i++) map[i] = 0;
      const int64_t end = x->hi;
      const struct sl_cells_place behind = sl_cells_remove(&s, p);
      expect_found(&s, end);
      assert_ptr_equal(sl_cells_at(&s, behind), sl_cells_at(&s, sl_cells_find(&s, end)));
    } else if (map[byte] == 0) { /* up to three bytes, as the gap has room */
      int64_t end = byte;
      for (slot++; end < BYTES && end < byte + 1 + (int64_t)kind % 3 && map[end] == 0; end++) map[end] = slot;
      assert_int_equal(sl_cells_insert(&s, p, (struct sl_cell){.lo = byte, .hi = end, .slot = slot}), SL_OK);
    } else { /* both parts keep the slot, so the map stays; but now a cell starts here */
      assert_int_equal(sl_cells_split(&s, byte), SL_OK);
      assert_int_equal(sl_cells_at(&s, sl_cells_find(&s, byte))->lo, byte);
    }
    if (s.block_count > most) most = s.block_count;
    if (draw % 500 == 0) expect_map(&s);
  }
  assert_true(most > 8);
  expect_map(&s);
  sl_cells_free(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(as_a_map)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
