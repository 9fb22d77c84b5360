/* label: unit
 * When others are busy on a machine, and that its load can be read; memory for large blocks is of huge pages. */
#include "core/base/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_busy_machine(void **state) {
  (void)state;
  assert_true(sl_machine_is_busy(15, 2));
  assert_true(sl_machine_is_busy(1, 2));
  assert_false(sl_machine_is_busy(0.12, 2));
  assert_false(sl_machine_is_busy(0, 1));
  assert_true(sl_machine_is_busy(40, 192));
  assert_false(sl_machine_is_busy(3, 192));
}

static void the_load_is_no_nonsense(void **state) {
  (void)state;
  const double load = sl_machine_load();
  assert_true(load >= 0 && load < 1e6);
  assert_true(sl_machine_cores() >= 1);
}

/* Has the program asked the system for huge pages at `at`? */
static bool is_huge(const void *at) {
  FILE *maps = fopen("/proc/self/smaps", "re");
  char line[512];
  bool here = false, found = false;
  assert_non_null(maps);
  while (!found && fgets(line, sizeof line, maps) != NULL) {
    uintptr_t first, end;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &first, &end) == 2)
      here = first <= (uintptr_t)at && (uintptr_t)at < end;
    found = here && strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " hg") != NULL;
  }
  fclose(maps);
  return found;
}

/* Sizes of no whole pages, below and above what malloc maps by itself. */
static void large_blocks_are_of_huge_pages(void **state) {
  (void)state;
  if (access("/sys/kernel/mm/transparent_hugepage", R_OK) != 0) skip(); /* the system has none */
  const size_t sizes[] = {1, 5 << 20 | 13, 71 << 20 | 5};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    char *at = sl_machine_huge(sizes[i]);
    assert_non_null(at);
    assert_int_equal((uintptr_t)at % (2 << 20), 0);
    memset(at, 1, sizes[i]);
    assert_true(is_huge(at));
    assert_true(is_huge(at + sizes[i] - 1));
    free(at);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_busy_machine), cmocka_unit_test(the_load_is_no_nonsense),
                                     cmocka_unit_test(large_blocks_are_of_huge_pages)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
