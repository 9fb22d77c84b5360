/* label: unit
 * When others are busy on a machine, and that its load can be read. */
#include "core/base/machine.h"

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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_busy_machine), cmocka_unit_test(the_load_is_no_nonsense)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
