/* label: unit
 * YAML as PyYAML's safe_load reads it, as JSON, with places; what would need more than one look to understand is
 * refused. */
#include "core/base/json_places.h"
#include "core/interop/yaml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void scalars_are_pyyamls(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"a: 'no'\nb: no\nc: On\nd: ~\ne:\nf: null\ng: 'null'",
       "{\"a\":\"no\",\"b\":false,\"c\":true,\"d\":null,\"e\":null,\"f\":null,\"g\":\"null\"}"},
      {"a: 8\nb: -1_000\nc: 0x1F\nd: 010\ne: 0b11\nf: 08\ng: +3",
       "{\"a\":8,\"b\":-1000,\"c\":31,\"d\":8,\"e\":3,\"f\":\"08\",\"g\":3}"},
      {"a: 1.5\nb: 1.\nc: .5\nh: -.5\nd: 1e-5\ne: 1.0e-5\nf: 1.0e5\ng: .inf",
       "{\"a\":1.5,\"b\":1.0,\"c\":0.5,\"h\":\"-.5\",\"d\":\"1e-5\",\"e\":1e-5,\"f\":\"1.0e5\",\"g\":\".inf\"}"},
      {"a: [1, {b: 2}]\nc:\n- x\n- y: z", "{\"a\":[1,{\"b\":2}],\"c\":[\"x\",{\"y\":\"z\"}]}"},
      {"# c\n---\na: |\n  one\n  two\n...\n", "{\"a\":\"one\\ntwo\\n\"}"},
      {"a: 99999999999999999999", "{\"a\":\"99999999999999999999\"}"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct sl_json doc;
    json_t *want = json_loads(cases[i][1], 0, NULL);
    sl_error_clear();
    if (sl_yaml_parse(&doc, "t.yaml", cases[i][0], strlen(cases[i][0])) != SL_OK) fail_msg("%s", sl_error_message());
    if (!json_equal(doc.root, want)) fail_msg("%s\nis %s", cases[i][0], json_dumps(doc.root, JSON_COMPACT));
    json_decref(want);
    sl_json_free(&doc);
  }
}

static void what_is_none_is_refused_at_its_place(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"", "t.yaml: is empty; expected keys"},
      {"a: 1\na: 2", "t.yaml:2:1: a: duplicate key"},
      {"a: &x 1", "t.yaml:1:4: is an anchor; expected the value itself wherever it holds"},
      {"a: *x", "t.yaml:1:4: is an alias; expected the value itself"},
      {"a: !!str 1", "t.yaml:1:4: is a tag; expected a value without one"},
      {"? [1]\n: 2", "t.yaml:1:3: expected a key that is plain text"},
      {"a: 1\n---\nb: 2", "t.yaml:2:1: expected one document, found a second"},
      {"a: [1", "t.yaml:2:1: did not find expected ',' or ']'"},
      {"a: b: c", "t.yaml:1:5: mapping values are not allowed in this context"},
      {"a: \x01", "t.yaml: byte 4: control characters are not allowed"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct sl_json doc;
    sl_error_clear();
    if (sl_yaml_parse(&doc, "t.yaml", cases[i][0], strlen(cases[i][0])) != SL_ERR_INPUT)
      fail_msg("taken: %s", cases[i][0]);
    assert_string_equal(sl_error_message(), cases[i][1]);
  }
  sl_error_clear();
}

static void keys_know_their_places(void **state) {
  (void)state;
  struct sl_json doc;
  char where[64];
  const char *text = "a:\n  b: 1\n  c: [1, 2]";
  assert_int_equal(sl_yaml_parse(&doc, "t.yaml", text, strlen(text)), SL_OK);
  sl_json_where(&doc, "a.b", where, sizeof where);
  assert_string_equal(where, "t.yaml:2:3");
  sl_json_where(&doc, "a.c[1]", where, sizeof where);
  assert_string_equal(where, "t.yaml:3:10");
  sl_json_free(&doc);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(scalars_are_pyyamls),
                                     cmocka_unit_test(what_is_none_is_refused_at_its_place),
                                     cmocka_unit_test(keys_know_their_places)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
