/* label: unit
 * The nearest known word. */
#include "core/base/nearest.h"
#include "core/base/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *const words[] = {"tp", "stage", "bandwidth_GBps", "latency_us", "memory_GiB", "launch_us"};

static const char *near(const char *word) {
  return sl_nearest(word, words, sizeof words / sizeof *words);
}

static void finds_misspellings(void **state) {
  (void)state;
  assert_string_equal(near("stage"), "stage");
  assert_string_equal(near("satge"), "stage"); /* an exchange costs 1, so 5 letters allow it */
  assert_string_equal(near("bandwith_gbps"), "bandwidth_GBps");
  assert_string_equal(near("latency_ms"), "latency_us");
  assert_string_equal(near("memory_GB"), "memory_GiB");
  assert_string_equal(near("dp"), "tp");
}

static void keeps_silent_when_nothing_is_near(void **state) {
  (void)state;
  assert_null(near("optimizer"));
  assert_null(near("xy"));
  assert_null(near(""));
  assert_null(sl_nearest("stage", words, 0));
}

static void long_words_are_safe(void **state) {
  (void)state;
  char longer[1000];
  memset(longer, 'a', sizeof longer);
  longer[999] = '\0';
  assert_null(near(longer));
  const char *one[] = {longer};
  assert_ptr_equal(sl_nearest(longer, one, 1), longer);
}

/* What a user named cannot move the cursor, colour the terminal or forge a second line. */
static void messages_are_tame(void **state) {
  (void)state;
  sl_error_clear();
  sl_fail(SL_ERR_INPUT, "%s: is \"%s\"", "a\x1b[31m\r\nshardlab: error: b", "\x7f\xc2\x9b\t\xc3\xa9");
  assert_string_equal(sl_error_message(), "a\\u001b[31m\\u000d\\nshardlab: error: b: is \"\\u007f\\u009b\\t\xc3\xa9\"");
  sl_error_clear();
  sl_fail(SL_ERR_CHECK, "first\n%s", "second\x01");
  assert_string_equal(sl_error_message(), "first\nsecond\\u0001");
  sl_error_clear();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(messages_are_tame),
      cmocka_unit_test(finds_misspellings),
      cmocka_unit_test(keeps_silent_when_nothing_is_near),
      cmocka_unit_test(long_words_are_safe),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
