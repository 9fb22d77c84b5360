/* label: unit
 * The nearest known word, printable text, and units. */
#include "core/base/nearest.h"
#include "core/base/printable.h"
#include "core/base/status.h"
#include "core/base/units.h"

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

static void goes_on_where_a_word_ends(void **state) {
  (void)state;
  assert_string_equal(near("band"), "bandwidth_GBps");
  assert_string_equal(near("MEM"), "memory_GiB");
  assert_null(near("me")); /* too short to mean one of them */
}

static void keeps_silent_when_nothing_is_near(void **state) {
  (void)state;
  assert_null(near("optimizer"));
  assert_null(near("xy"));
  assert_null(near(""));
  assert_null(sl_nearest("stage", words, 0));
}

/* What is certain is narrower than what may be meant. */
static void misspellings_are_a_slip_or_two(void **state) {
  (void)state;
  const size_t n = sizeof words / sizeof *words;
  assert_string_equal(sl_misspelt("bandwith_GBps", words, n), "bandwidth_GBps");
  assert_string_equal(sl_misspelt("bandwith_GBs", words, n), "bandwidth_GBps");
  assert_null(sl_misspelt("bandwith_GB", words, n));
  assert_string_equal(sl_misspelt("satge", words, n), "stage");
  assert_null(sl_misspelt("satgs", words, n));
  assert_null(sl_misspelt("band", words, n)); /* a beginning is a word of its own */
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

/* A terminal of single bytes acts on 0x9b alone, and one of UTF-8 writes what stands behind U+202E from right to
 * left. */
static void what_is_no_text_is_escaped(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"\x9b"
       "31m",
       "\\x9b"
       "31m"},
      {"a\xff\xfe", "a\\xff\\xfe"},
      {"\xc0\xaf", "\\xc0\\xaf"},                   /* longer than needed */
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},          /* half of a pair */
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* beyond U+10FFFF */
      {"\xe2\x82", "\\xe2\\x82"},                   /* cut short */
      {"\xe2\x80\xae"
       "gpj",
       "\\u202e"
       "gpj"},
      {"\xe2\x82\xac \xf0\x9f\x98\x80 \xc3\xa9", "\xe2\x82\xac \xf0\x9f\x98\x80 \xc3\xa9"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_string_equal(sl_printable_of(cases[i][0]).text, cases[i][1]);
  char narrow[8] = "abcd\xc3\xa9\xff";
  sl_printable(narrow, sizeof narrow, false); /* the escape has no room: cut before it, not within */
  assert_string_equal(narrow, "abcd\xc3\xa9");
}

static void times_have_a_unit_that_suits_them(void **state) {
  (void)state;
  static const struct {
    double seconds;
    const char *text;
  } cases[] = {{0, "0 s"},         {2.5e-7, "0.250 us"}, {-0.0125, "-12.50 ms"},   {1, "1.000 s"},
               {7199, "7199 s"},   {7200, "2.000 h"},    {47.9 * 3600, "47.90 h"}, {172800, "2.000 days"},
               {1e9, "11574 days"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[32];
    sl_format_seconds(text, sizeof text, cases[i].seconds);
    assert_string_equal(text, cases[i].text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(times_have_a_unit_that_suits_them), cmocka_unit_test(messages_are_tame),
      cmocka_unit_test(what_is_no_text_is_escaped),        cmocka_unit_test(finds_misspellings),
      cmocka_unit_test(goes_on_where_a_word_ends),         cmocka_unit_test(keeps_silent_when_nothing_is_near),
      cmocka_unit_test(misspellings_are_a_slip_or_two),    cmocka_unit_test(long_words_are_safe),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
