/* label: unit
 * TOML 1.0: what a text means, as JSON, and where what is none is refused. Expectations are those of the
 * specification's own examples. */
#include "core/base/json_places.h"
#include "core/interop/toml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void check(const char *toml, const char *json) {
  struct sl_json doc;
  sl_error_clear();
  if (sl_toml_parse(&doc, "t.toml", toml, strlen(toml)) != SL_OK) fail_msg("%s: %s", toml, sl_error_message());
  json_t *want = json_loads(json, 0, NULL);
  assert_non_null(want);
  if (!json_equal(doc.root, want)) fail_msg("%s\nis %s", toml, json_dumps(doc.root, JSON_COMPACT));
  json_decref(want);
  sl_json_free(&doc);
}

static void texts_mean_what_the_specification_says(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"", "{}"},
      {"\xef\xbb\xbf# only a comment\r\n", "{}"},
      {"a = 1 # one\nb=-17\nc = +99\nd = 1_000\ne = 0xDEAD_beef\nf = 0o755\ng = 0b1101\nh = -0",
       "{\"a\":1,\"b\":-17,\"c\":99,\"d\":1000,\"e\":3735928559,\"f\":493,\"g\":13,\"h\":0}"},
      {"a = 1.5\nb = -0.01\nc = 5e+22\nd = 6.626e-34\ne = 224_617.445_991\nf = 1e06",
       "{\"a\":1.5,\"b\":-0.01,\"c\":5e22,\"d\":6.626e-34,\"e\":224617.445991,\"f\":1000000.0}"},
      {"a = inf\nb = -nan\nc = true\nd = false", "{\"a\":\"inf\",\"b\":\"-nan\",\"c\":true,\"d\":false}"},
      {"a = 1979-05-27T07:32:00Z\nb = 1979-05-27 07:32:00.999-07:00\nc = 1979-05-27\nd = 07:32:00.5",
       "{\"a\":\"1979-05-27T07:32:00Z\",\"b\":\"1979-05-27 "
       "07:32:00.999-07:00\",\"c\":\"1979-05-27\",\"d\":\"07:32:00.5\"}"},
      {"a = \"\\t\\\"\\u00e9\\U0001F600\"\nb = 'C:\\n'", "{\"a\":\"\\t\\\"\\u00e9\\uD83D\\uDE00\",\"b\":\"C:\\\\n\"}"},
      {"a = \"\"\"\none\\\n   two \"\" three\"\"\"\"\"\nb = '''\nx\ny'''",
       "{\"a\":\"onetwo \\\"\\\" three\\\"\\\"\",\"b\":\"x\\ny\"}"},
      {"a = [1, 2.0, \"x\", [ ], # more\n { b = 1 },\n]", "{\"a\":[1,2.0,\"x\",[],{\"b\":1}]}"},
      {"a.b.c = 1\na.b.d = 2\na . \"e f\" = 3\n3.14 = 4",
       "{\"a\":{\"b\":{\"c\":1,\"d\":2},\"e f\":3},\"3\":{\"14\":4}}"},
      {"[a.b.c]\nx = 1\n[a]\ny = 2\n[ a . d ]", "{\"a\":{\"b\":{\"c\":{\"x\":1}},\"y\":2,\"d\":{}}}"},
      {"[[p]]\nn = 1\n[p.q]\nm = 2\n[[p]]\n[[p.r]]\n[[p.r]]\nk=3",
       "{\"p\":[{\"n\":1,\"q\":{\"m\":2}},{\"r\":[{},{\"k\":3}]}]}"},
      {"[a.b.c]\n[a]\nb.d = 1", "{\"a\":{\"b\":{\"c\":{},\"d\":1}}}"},
      {"[f]\na.b = 1\n[f.a.c]\nd = 2\n[f.g]\n", "{\"f\":{\"a\":{\"b\":1,\"c\":{\"d\":2}},\"g\":{}}}"},
      {"p = { x.y = 1, z = [ { } ] }", "{\"p\":{\"x\":{\"y\":1},\"z\":[{}]}}"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check(cases[i][0], cases[i][1]);
}

static void what_is_none_is_refused_at_its_place(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"a = 1\na = 2", "t.toml:2:1: a: duplicate key; first given at t.toml:1:1"},
      {"[a]\n[a]", "t.toml:2:2: a: duplicate table; first given at t.toml:1:2"},
      {"a.b = 1\n[a]", "t.toml:2:2: a: duplicate table; first given at t.toml:1:1"},
      {"[a.b]\n[a]\nb.c = 1", "t.toml:3:1: a.b: is a table of its own, which a dotted key does not change; first given "
                              "at t.toml:1:4"},
      {"a = {b = 1}\na.c = 2", "t.toml:2:1: a: is no table that takes more keys; first given at t.toml:1:1"},
      {"a = {b = 1}\n[a.c]", "t.toml:2:2: a: is no table that takes more keys; first given at t.toml:1:1"},
      {"a = []\n[[a]]", "t.toml:2:3: a: is no array of tables; first given at t.toml:1:1"},
      {"[a]\n[[a]]", "t.toml:2:3: a: is no array of tables; first given at t.toml:1:2"},
      {"a = 01", "t.toml:1:5: is 01; expected a text in quotes, a number, a date, true or false"},
      {"a = 1__0", "t.toml:1:5: is 1__0; expected a text in quotes, a number, a date, true or false"},
      {"a = 1.", "t.toml:1:5: is 1.; expected a text in quotes, a number, a date, true or false"},
      {"a = .5", "t.toml:1:5: is .5; expected a text in quotes, a number, a date, true or false"},
      {"a = +0x1", "t.toml:1:5: is +0x1; expected a text in quotes, a number, a date, true or false"},
      {"a = 9223372036854775808",
       "t.toml:1:5: is 9223372036854775808; expected a text in quotes, a number, a date, true or false"},
      {"a = 1e999", "t.toml:1:5: is 1e999; expected a text in quotes, a number, a date, true or false"},
      {"a = 1979-02-30", "t.toml:1:5: is 1979-02-30; expected a text in quotes, a number, a date, true or false"},
      {"a = yes", "t.toml:1:5: is yes; expected a text in quotes, a number, a date, true or false"},
      {"a = \"x", "t.toml:1:5: expected a string that is closed, found '\"'"},
      {"a = \"x\ny\"", "t.toml:1:7: expected text or the closing quote, on this line, found the line's end"},
      {"a = \"\\q\"", "t.toml:1:7: expected b, t, n, f, r, u, U, a quote or a backslash behind a backslash, found 'q'"},
      {"a = \"\\ud800\"", "t.toml:1:12: expected the code of a character before this, found '\"'"},
      {"a = \"\xff\"", "t.toml:1:5: expected UTF-8, found '\"'"},
      {"a = {b = 1,}", "t.toml:1:12: expected a key, found '}'"},
      {"a = {b = 1\n}", "t.toml:1:11: expected ',' or '}' behind a pair, on one line, found the line's end"},
      {"a = [1 2]", "t.toml:1:8: expected ',' or ']' behind an element, found '2'"},
      {"a = 1 b = 2", "t.toml:1:7: expected the line's end, found 'b'"},
      {"[a] x = 1", "t.toml:1:5: expected the line's end, found 'x'"},
      {"a =", "t.toml:1:4: expected a value, found the end of the file"},
      {"= 1", "t.toml:1:1: expected a key, found '='"},
      {"a b = 1", "t.toml:1:3: expected '=' or '.' behind a key, found 'b'"},
      {"\"\"\"a\"\"\" = 1", "t.toml:1:1: expected a key on one line, found '\"'"},
      {"# \x01", "t.toml:1:3: expected text, a tab or the line's end in a comment, found byte 0x01"},
      {"[[a]", "t.toml:1:5: expected ']]' behind a name, found the end of the file"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct sl_json doc;
    sl_error_clear();
    if (sl_toml_parse(&doc, "t.toml", cases[i][0], strlen(cases[i][0])) != SL_ERR_INPUT)
      fail_msg("taken: %s", cases[i][0]);
    assert_string_equal(sl_error_message(), cases[i][1]);
  }
  sl_error_clear();
}

static void depths_and_lengths_have_an_end(void **state) {
  (void)state;
  static char text[70000];
  struct sl_json doc;
  const size_t at = (size_t)snprintf(text, sizeof text, "a = ");
  memset(text + at, '[', 65);
  assert_int_equal(sl_toml_parse(&doc, "t.toml", text, at + 65), SL_ERR_INPUT);
  assert_string_equal(sl_error_message(), "t.toml:1:69: nested too deep; expected at most 64 levels");
  sl_error_clear();
  memset(text, 'k', 600);
  memcpy(text + 600, "=1", 3);
  assert_int_equal(sl_toml_parse(&doc, "t.toml", text, 602), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "a key's path has more than 511 bytes"));
  sl_error_clear();
  size_t used = 0;
  for (int i = 0; i <= 4096; i++) used += (size_t)snprintf(text + used, sizeof text - used, "[t%d]\n", i);
  assert_int_equal(sl_toml_parse(&doc, "t.toml", text, used), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "has more than 4096 tables"));
  sl_error_clear();
}

static void keys_know_their_places(void **state) {
  (void)state;
  struct sl_json doc;
  char where[64];
  const char *text = "[a]\n  b.c = [1,\n 2]\n[[d]]\nx = 1\n[[d]]\n x = 2";
  assert_int_equal(sl_toml_parse(&doc, "t.toml", text, strlen(text)), SL_OK);
  static const char *const places[][2] = {{"a", "t.toml:1:2"},
                                          {"a.b.c", "t.toml:2:5"},
                                          {"a.b.c[1]", "t.toml:3:2"},
                                          {"d[1].x", "t.toml:7:2"},
                                          {"a.nowhere", "t.toml:1:2"}};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    sl_json_where(&doc, places[i][0], where, sizeof where);
    assert_string_equal(where, places[i][1]);
  }
  sl_json_free(&doc);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(texts_mean_what_the_specification_says), cmocka_unit_test(what_is_none_is_refused_at_its_place),
      cmocka_unit_test(depths_and_lengths_have_an_end), cmocka_unit_test(keys_know_their_places)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
