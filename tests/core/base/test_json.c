/* label: unit
 * JSON with places: hjson's liberties, places, refusals, and saving without leaving halves behind. */
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/json_places.h"
#include "core/base/json_write.h"
#include "core/base/piped.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void parse(struct sl_json *doc, const char *text) {
  sl_error_clear();
  const enum sl_status status = sl_hjson_parse(doc, "f.json", text, strlen(text));
  if (status != SL_OK) fail_msg("%s", sl_error_message());
}

/* The text must read as the strict JSON `same`. */
static void reads_as(const char *text, const char *same) {
  struct sl_json doc;
  parse(&doc, text);
  json_t *other = json_loads(same, JSON_DECODE_ANY, NULL);
  assert_non_null(other);
  if (!json_equal(doc.root, other)) fail_msg("%s is not %s", text, same);
  json_decref(other);
  sl_json_free(&doc);
}

static void hjson_liberties(void **state) {
  (void)state;
  reads_as("{}", "{}");
  reads_as("\xef\xbb\xbf{\"a\": 1}", "{\"a\":1}");
  reads_as("{\"a\": 1,}", "{\"a\":1}");
  reads_as("[1, 2, 3,]", "[1,2,3]");
  reads_as("// one\n{ # two\n\"a\": /* three, \"b\": 4 */ 5 }\n# four", "{\"a\":5}");
  reads_as("{\"a\": \"// # /* no comment */\"}", "{\"a\":\"// # /* no comment */\"}");
  reads_as("{a: 1, b-c_2: [true, false, null]}", "{\"a\":1,\"b-c_2\":[true,false,null]}");
  reads_as("{\"a\": 1\n \"b\": 2 // no commas\n}", "{\"a\":1,\"b\":2}");
  reads_as("{\"a\": 1 /* no\n comma */ \"b\": 2}", "{\"a\":1,\"b\":2}");
}

static void scalars(void **state) {
  (void)state;
  reads_as("[0, -7, 5e8, 2.385, -1E-3, 9223372036854775807]", "[0,-7,5e8,2.385,-1e-3,9223372036854775807]");
  reads_as("[\"\", \"\\u00e9\\n\\\"\\\\\", \"\xc3\xa9\"]", "[\"\",\"\xc3\xa9\\n\\\"\\\\\",\"\xc3\xa9\"]");
  reads_as("\"root\"", "\"root\"");
}

static void hjson_strings(void **state) {
  (void)state;
  reads_as("{'a': 'it\\'s \"so\"', \"b\": \"it's\\'\"}", "{\"a\":\"it's \\\"so\\\"\",\"b\":\"it's'\"}");
  reads_as("{a: some text, with } and # all \t\n b: 2}", "{\"a\":\"some text, with } and # all\",\"b\":2}");
  reads_as("{a: truely\n b: null # no\n c: 01\r\n d: -\n e: 1.5e\n f: 2 // two\n}",
           "{\"a\":\"truely\",\"b\":null,\"c\":\"01\",\"d\":\"-\",\"e\":\"1.5e\",\"f\":2}");
  reads_as("{a: '''\n    one\n      two\r\n   three\n    '''}", "{\"a\":\"one\\n  two\\nthree\"}");
  reads_as("{a: '''it's'' so''' b: ''''''}", "{\"a\":\"it's'' so\",\"b\":\"\"}");
  reads_as("{\"a\": \"x\" \"b\": [1, {}] c: {}}", "{\"a\":\"x\",\"b\":[1,{}],\"c\":{}}");
  reads_as("# no brackets\na: 1\n'b c': {d: e\n}\n", "{\"a\":1,\"b c\":{\"d\":\"e\"}}");
  reads_as("\"a\": 1, b: 2,", "{\"a\":1,\"b\":2}");
  reads_as("{train#1/2'@: x}\n}", "{\"train#1/2'@\":\"x}\"}");
}

static void check_place(const struct sl_json *doc, const char *path, const char *expected) {
  char where[64];
  sl_json_where(doc, path, where, sizeof where);
  assert_string_equal(where, expected);
}

static void places(void **state) {
  (void)state;
  struct sl_json doc;
  parse(&doc, "{\n  \"a\": {\"b\": [10, 20,\n 30], c: 4},\n\t\"\xc3\xa9\": 1, \"d\": 2 /*\xc3\xa9*/, \"e\": 3\n}");
  check_place(&doc, "a", "f.json:2:3");
  check_place(&doc, "a.b", "f.json:2:9");
  check_place(&doc, "a.b[0]", "f.json:2:15");
  check_place(&doc, "a.b[2]", "f.json:3:2");
  check_place(&doc, "a.c", "f.json:3:7");
  check_place(&doc, "d", "f.json:4:10"); /* a tab and an e with accent are one column each */
  check_place(&doc, "e", "f.json:4:24");
  check_place(&doc, "a.missing", "f.json:2:3");
  check_place(&doc, "a.b[7].x", "f.json:2:9");
  check_place(&doc, "nowhere", "f.json");
  check_place(&doc, "", "f.json");
  sl_error_clear();
  assert_int_equal(sl_json_fail(&doc, "a.c", "is %d; expected %s", 4, "5"), SL_ERR_INPUT);
  assert_string_equal(sl_error_message(), "f.json:3:7: a.c: is 4; expected 5");
  sl_json_free(&doc);
}

static void refusals(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } bad[] = {
      {"", "f.json:1:1: expected a value, found the end of the file"},
      {"  \n # only a comment", "f.json:2:18: expected a value, found the end of the file"},
      {"{\"a\": 1, \"b\": {\"a\": 2},\n \"a\": 3}", "f.json:2:2: a: duplicate key; first given at f.json:1:2"},
      {"{\"b\": {a: 2, \"a\": 2}}", "f.json:1:14: b.a: duplicate key; first given at f.json:1:8"},
      {"{\"a\": 4", "f.json:1:8: expected ',' or '}' after a value, found the end of the file"},
      {"{\"a\" 4}", "f.json:1:6: expected ':' after a key, found '4'"},
      {"{\"a\": 4 \"b\": 1}", "f.json:1:9: expected ',' or a closing bracket after a value, found '\"'"},
      {"{\"a\": true \"b\": 1}", "f.json:1:12: expected ',' or a closing bracket after a value, found '\"'"},
      {"{'a\": 1}", "f.json:1:2: string is not closed; expected ''' before the end of the line"},
      {"{a: '''one\ntwo''", "f.json:1:5: string is not closed; expected ''' before the end of the file"},
      {"a: 1\n}", "f.json:2:1: expected ',' or a key after a value, found '}'"},
      {"a: 1\nb", "f.json:2:2: expected ':' after a key, found the end of the file"},
      {"{a b: 1}", "f.json:1:4: expected ':' after a key, found 'b'"},
      {"{a: b\x01\n}", "f.json:1:5: a: b\\u0001 is malformed; expected text without control bytes"},
      {"{a: \xff\n}", "f.json:1:5: a: \\xff is malformed; expected text in UTF-8"},
      {"{, \"a\": 1}", "f.json:1:2: expected a key or '}', found ','"},
      {"{\"a\": 1,, \"b\": 2}", "f.json:1:9: expected a key or '}', found ','"},
      {"{\"a\": }", "f.json:1:7: expected a value, found '}'"},
      {"{\"a\":\x01}", "f.json:1:6: expected a value, found byte 0x01"},
      {"{\"a\": \"text\n}", "f.json:1:7: string is not closed; expected '\"' before the end of the line"},
      {"{\"a\": \"tail\\", "f.json:1:7: string is not closed; expected '\"' before the end of the line"},
      {"{\"a\": \"\\q\"}", "f.json:1:7: a: \"\\q\" is malformed; expected a string with JSON's escapes in UTF-8"},
      {"[\"\xff\"]", "f.json:1:2: [0]: \"\\xff\" is malformed; expected a string with JSON's escapes in UTF-8"},
      {"{\"a\": [1, 2}", "f.json:1:12: expected ',' or ']' after a value, found '}'"},
      {"{\"a\": [1, 2", "f.json:1:12: expected ',' or ']' after a value, found the end of the file"},
      {"[1,", "f.json:1:4: expected a value or ']', found the end of the file"},
      {"/* open\n\n", "f.json:1:1: comment is not closed; expected */ before the end of the file"},
      {"{} 5", "f.json:1:4: expected nothing after the closing bracket, found '5'"},
      {"{\"a\": {b: NaN}}",
       "f.json:1:11: a.b: NaN is no value; expected a finite number, true, false, null or a \"string\""},
      {"{\"a\": -Infinity}", "f.json:1:7: a: -Infinity is malformed; expected a finite number"},
      {"{\"a\": 1e999}", "f.json:1:7: a: 1e999 is too large; expected a finite number"},
      {"{\"a\": 01}", "f.json:1:7: a: 01 is malformed; expected a finite number"},
      {"{\"a\": 99999999999999999999}", "f.json:1:7: a: 99999999999999999999 is too large; expected a finite number"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    struct sl_json doc;
    sl_error_clear();
    assert_int_equal(sl_hjson_parse(&doc, "f.json", bad[i].text, strlen(bad[i].text)), SL_ERR_INPUT);
    assert_string_equal(sl_error_message(), bad[i].message);
    assert_null(doc.root);
    assert_null(doc.places);
  }
}

/* Only ds_config.json may use hjson; another file that is no JSON at all is told so at its first byte. */
static void plain_json(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } bad[] = {
      {"", "f.json:1:1: expected '{', found the end of the file"},
      {"id,step_s\n1,2\n", "f.json:1:1: expected '{', found 'i'"},
      {"7", "f.json:1:1: expected '{', found '7'"},
      {"a: 1", "f.json:1:1: expected '{', found 'a'"},
      {"\"a\": 1", "f.json:1:1: expected '{', found '\"'"},
      {"# one\nid,step_s", "f.json:2:1: expected '{', found 'i'"},
      {"{a: 1}", "f.json:1:2: expected a key in double quotes or '}', found 'a'"},
      {"{'a': 1}", "f.json:1:2: expected a key in double quotes or '}', found '''"},
      {"{\"a\": 1\n \"b\": 2}", "f.json:2:2: expected ',' or '}' after a value, found '\"'"},
      {"{\"a\": '''b'''}", "f.json:1:7: a:  is no value; expected a finite number, true, false, null or a \"string\""},
      {"{\"a\": some text\n}",
       "f.json:1:7: a: some is no value; expected a finite number, true, false, null or a \"string\""},
      {"{\"a\": 1} 2", "f.json:1:10: expected nothing after the closing bracket, found '2'"},
  };
  struct sl_json doc;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    sl_error_clear();
    assert_int_equal(sl_json_parse(&doc, "f.json", bad[i].text, strlen(bad[i].text)), SL_ERR_INPUT);
    assert_string_equal(sl_error_message(), bad[i].message);
  }
  static const char good[] =
      "\xef\xbb\xbf {\"a\": [1, -2.5e3, true, null, {}, []], \"b\": {\"c\": \"\\u00e9 // #\"}}\n// one\n";
  static const char trailing[] = "/* one */ {\"a\": [1, 2,], # two\n}";
  sl_error_clear();
  assert_int_equal(sl_json_parse(&doc, "f.json", good, strlen(good)), SL_OK);
  json_t *other = json_loads(good + 3, JSON_DISABLE_EOF_CHECK, NULL);
  assert_true(json_equal(doc.root, other));
  json_decref(other);
  sl_json_free(&doc);
  assert_int_equal(sl_json_parse(&doc, "f.json", trailing, strlen(trailing)), SL_OK);
  assert_int_equal(json_array_size(json_object_get(doc.root, "a")), 2);
  sl_json_free(&doc);
}

/* 64 levels are read, 65 are refused; so are a hundred thousand, without touching the stack. */
static void depth(void **state) {
  (void)state;
  enum { MANY = 100000 };
  static char text[MANY + 1];
  struct sl_json doc;
  memset(text, '[', 64);
  memset(text + 64, ']', 64);
  parse(&doc, text);
  sl_json_free(&doc);
  memset(text, '[', MANY);
  sl_error_clear();
  assert_int_equal(sl_hjson_parse(&doc, "f.json", text, MANY), SL_ERR_INPUT);
  assert_string_equal(sl_error_message(), "f.json:1:65: nested too deep; expected at most 64 levels");
}

static void embedded_zero(void **state) {
  (void)state;
  struct sl_json doc;
  sl_error_clear();
  assert_int_equal(sl_hjson_parse(&doc, "f.json", "{\0}", 3), SL_ERR_INPUT);
  assert_string_equal(sl_error_message(), "f.json:1:2: expected a key or '}', found byte 0x00");
}

/* A pipe that nobody writes to is not waited for without end, and a device is not read. */
static void pipes_that_nothing_comes_from(void **state) {
  (void)state;
  struct sl_json doc;
  char folder[] = "/tmp/shardlab-pipe-XXXXXX", path[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/pipe", folder);
  assert_int_equal(mkfifo(path, 0600), 0);
  sl_error_clear();
  assert_int_equal(sl_json_load(&doc, path), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "is a pipe that nothing comes from"));
  sl_error_clear();
  assert_int_equal(sl_json_load(&doc, "/dev/zero"), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "is a device; expected a JSON file, or a pipe"));
  struct sl_file file;
  sl_error_clear();
  assert_int_equal(sl_file_open(&file, path), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "is a folder, a pipe or a device"));
  sl_error_clear();
  unlink(path);
  rmdir(folder);
}

/* What the shell makes of <(command) is read, and again only by a program that asked for that: a library lives on, and
 * another pipe may have the name. */
static void pipes_are_read(void **state) {
  (void)state;
  struct sl_json doc;
  for (int kept = 0; kept < 2; kept++) {
    int ends[2];
    char path[32];
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    assert_int_equal(write(ends[1], "{\"a\": 7}", 8), 8);
    close(ends[1]);
    if (kept) sl_piped_begin();
    assert_true(sl_json_is_piped(path));
    for (int again = 0; again < 2; again++) {
      sl_error_clear();
      assert_int_equal(sl_json_load(&doc, path), again && !kept ? SL_ERR_INPUT : SL_OK);
      if (again && !kept) continue;
      assert_int_equal(json_integer_value(json_object_get(doc.root, "a")), 7);
      sl_json_free(&doc);
    }
    close(ends[0]);
  }
}

static void unreadable_files(void **state) {
  (void)state;
  struct sl_json doc;
  sl_error_clear();
  assert_int_equal(sl_json_load(&doc, "no/such.json"), SL_ERR_INPUT);
  assert_string_equal(sl_error_message(),
                      "no/such.json: cannot be opened: No such file or directory; expected a JSON file");
  sl_error_clear();
  assert_int_equal(sl_json_load(&doc, "/"), SL_ERR_INPUT);
  assert_string_equal(sl_error_message(), "/: cannot be read: Is a directory; expected a JSON file");
}

static void save_and_load(void **state) {
  (void)state;
  char directory[] = "/tmp/sl_json_XXXXXX", path[64];
  struct sl_json doc;
  assert_non_null(mkdtemp(directory));
  snprintf(path, sizeof path, "%s/r.json", directory);
  json_t *root = json_pack("{s:f, s:[i,i], s:s}", "x", 2.385, "list", 3, 7, "name", "\xc3\xa9");
  for (int twice = 0; twice < 2; twice++) { /* the second replaces the first */
    assert_int_equal(sl_json_save(root, path), SL_OK);
    assert_int_equal(sl_json_load(&doc, path), SL_OK);
    assert_true(json_equal(doc.root, root));
    sl_json_free(&doc);
  }
  /* A target that cannot be replaced: the error names it and the temporary file is gone, so the directory can go too.
   */
  assert_int_equal(unlink(path), 0);
  assert_int_equal(mkdir(path, 0700), 0);
  sl_error_clear();
  assert_int_equal(sl_json_save(root, path), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "r.json: is not a plain file; expected a file to write"));
  assert_int_equal(rmdir(path), 0);
  assert_int_equal(rmdir(directory), 0);
  sl_error_clear();
  assert_int_equal(sl_json_save(root, path), SL_ERR_IO);
  assert_non_null(strstr(sl_error_message(), "r.json: cannot be created: No such file or directory"));
  json_decref(root);
}

/* Any double reads back the same, and a decimal one as it was written; what stands in strings is no number. */
static void reals_in_few_digits(void **state) {
  (void)state;
  static const char written[] =
      "{\"a\\\"0.90000000000000002\":[0.9,5e-5,-1e300,0.1,123456789012345678,true,null,0.30000000000000004]}";
  uint64_t bits = 88172645463325252ULL;
  json_t *array = json_array(), *object = json_loads(written, 0, NULL);
  char *text = sl_json_text(object, JSON_COMPACT);
  assert_string_equal(text, written);
  free(text);
  for (int i = 0; i < 20000; i++) {
    double x;
    bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
    memcpy(&x, &bits, sizeof x);
    if (isfinite(x)) json_array_append_new(array, json_real(i % 2 == 0 ? x : (double)(bits % 1000003) / 1000));
  }
  text = sl_json_text(array, JSON_INDENT(1));
  json_t *again = json_loads(text, 0, NULL);
  assert_true(json_equal(array, again));
  free(text);
  json_decref(object), json_decref(array), json_decref(again);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hjson_liberties),
      cmocka_unit_test(scalars),
      cmocka_unit_test(hjson_strings),
      cmocka_unit_test(places),
      cmocka_unit_test(refusals),
      cmocka_unit_test(plain_json),
      cmocka_unit_test(depth),
      cmocka_unit_test(embedded_zero),
      cmocka_unit_test(pipes_that_nothing_comes_from),
      cmocka_unit_test(pipes_are_read),
      cmocka_unit_test(unreadable_files),
      cmocka_unit_test(save_and_load),
      cmocka_unit_test(reals_in_few_digits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
