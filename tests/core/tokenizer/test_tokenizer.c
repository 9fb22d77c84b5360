/* label: unit
 * Ids of hostile texts by eleven tokenizers against those of the package that made them
 * (tests/golden/make_tokenizers.py); texts without an end in sight; and every part of a tokenizer.json that is refused
 * by name. */
#include "core/tokenizer/tokenizer.h"

#include "core/base/file.h"
#include "core/io/data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#define FOLDER SL_SOURCE_DIR "/tests/golden/tokenizers/"

static void expect_message(enum sl_status status, const char *message) {
  assert_int_equal(status, SL_ERR_INPUT);
  assert_string_equal(sl_error_message(), message);
  sl_error_clear();
}

static char *load(const char *path) {
  char *text;
  size_t size;
  assert_int_equal(sl_file_load(path, &text, &size), SL_OK);
  return text;
}

/* The ids in a line of "1 22 3", and the line's end. */
static char *read_ids(char *line, uint32_t *ids, size_t *count) {
  *count = 0;
  while (*line != '\n') {
    ids[(*count)++] = (uint32_t)strtoul(line, &line, 10);
    while (*line == ' ') line++;
  }
  return line + 1;
}

static void compare(const char *name, const char *texts) {
  char path[4096];
  struct sl_tokenizer *t;
  uint32_t want[2048];
  snprintf(path, sizeof path, FOLDER "%s.json", name);
  if (sl_tokenizer_open(&t, path) != SL_OK) fail_msg("%s", sl_error_message());
  snprintf(path, sizeof path, FOLDER "%s.ids", name);
  char *all = load(path), *line = all;
  int compared = 0;
  for (const char *at = texts; *at != '\0'; compared++) {
    const char *end = strchr(at, '\n');
    json_t *object = json_loadb(at, (size_t)(end - at), JSON_ALLOW_NUL, NULL);
    const json_t *text = json_object_get(object, "text");
    struct sl_token_list got = {0};
    size_t count;
    line = read_ids(line, want, &count);
    assert_int_equal(sl_tokenizer_encode(t, "text", json_string_value(text), json_string_length(text), &got), SL_OK);
    if (got.count != count || (count > 0 && memcmp(got.ids, want, count * sizeof *want) != 0))
      fail_msg("%s: other ids than the package's for %.*s", name, (int)(end - at), at);
    free(got.ids);
    json_decref(object);
    at = end + 1;
  }
  assert_true(compared > 35);
  sl_tokenizer_close(t);
  free(all);
}

static void ids_are_those_of_the_package(void **state) {
  (void)state;
  static const char *const names[] = {"gpt2",    "prefix", "llama3",  "qwen2",  "digits",     "llama2",
                                      "mistral", "gemma",  "unknown", "strips", "strips_meta"};
  char *texts = load(FOLDER "texts.jsonl");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) compare(names[i], texts);
  free(texts);
}

/* Neither a stack nor a square of the length: 256 KiB without a place to cut. */
static void long_runs_end(void **state) {
  (void)state;
  static const char *const names[] = {FOLDER "llama3.json", FOLDER "llama2.json"};
  const size_t size = 1 << 18;
  char *text = malloc(size);
  assert_non_null(text);
  for (size_t k = 0; k < 4; k++) {
    struct sl_tokenizer *t;
    struct sl_token_list got = {0};
    memset(text, k < 2 ? ' ' : 'e', size);
    assert_int_equal(sl_tokenizer_open(&t, names[k % 2]), SL_OK);
    if (sl_tokenizer_encode(t, "text", text, size, &got) != SL_OK) fail_msg("%s", sl_error_message());
    assert_true(got.count > 1000 && got.count <= size + 1);
    free(got.ids);
    sl_tokenizer_close(t);
  }
  free(text);
}

static void no_text_without_its_characters(void **state) {
  (void)state;
  struct sl_tokenizer *t;
  struct sl_token_list got = {0};
  assert_int_equal(sl_tokenizer_open(&t, FOLDER "gpt2.json"), SL_OK);
  expect_message(sl_tokenizer_encode(t, "x.txt", "caf\xc3\xa9\xc3 au", 9, &got),
                 "x.txt: byte 5, 0xc3, is no UTF-8; expected text");
  expect_message(sl_tokenizer_encode(t, "x.txt", "\xed\xa0\x80", 3, &got),
                 "x.txt: byte 0, 0xed, is no UTF-8; expected text"); /* half a surrogate */
  assert_int_equal(got.count, 0);
  assert_true(sl_tokenizer_find(t, "<|endoftext|>") >= 0);
  assert_int_equal(sl_tokenizer_find(t, "<|end|>"), -1);
  free(got.ids);
  sl_tokenizer_close(t);
}

/* ---- what is not modelled ---- */

#define MODEL "\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}, \"merges\": [\"a b\"]}"
#define META "\"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": \"\\u2581\"}"

static void what_is_not_modelled_is_named(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } bad[] = {
      {"[1]", "t: expected an object, as in a tokenizer.json"},
      {"{\"a\": 1", "t:1:7: '}' expected near end of file; expected a tokenizer.json of Hugging Face"},
      {"{\"tokens\": 1}", "t: tokens: unknown key; expected those of a tokenizer.json of Hugging Face"},
      {"{\"truncation\": {\"max_length\": 3}}", "t: truncation: expected null: all of a text is trained on"},
      {"{\"normalizer\": {\"type\": \"Lowercase\"}}",
       "t: normalizer.type: is \"Lowercase\"; expected NFC, NFD, NFKC, NFKD, Prepend, Replace or a Sequence of them"},
      {"{\"normalizer\": {\"type\": \"Replace\", \"pattern\": {\"Regex\": \"x\"}, \"content\": \"\"}}",
       "t: normalizer.pattern: expected {\"String\": ...} and a content to replace it with"},
      {"{\"pre_tokenizer\": {\"type\": \"Whitespace\"}}",
       "t: pre_tokenizer.type: is \"Whitespace\"; expected ByteLevel, Split, Digits, Metaspace or a Sequence of them"},
      {"{\"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"Regex\": \"a(\"}, \"behavior\": \"Isolated\"}}",
       "t: pre_tokenizer.pattern: character 2 of 'a(': missing closing parenthesis"},
      {"{\"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"String\": \"a\"}, \"behavior\": \"Contiguous\"}}",
       "t: pre_tokenizer.behavior: is Contiguous; expected Isolated, Removed, MergedWithPrevious or MergedWithNext"},
      {"{\"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": \"_\"}}",
       "t: pre_tokenizer.replacement: expected \"\xe2\x96\x81\", U+2581"},
      {"{\"added_tokens\": [{\"id\": 3, \"content\": \"\", \"lstrip\": true}]}",
       "t: added_tokens[0]: expected a content and an id"},
      {"{\"model\": {\"type\": \"WordPiece\"}}", "t: model.type: is \"WordPiece\"; expected \"BPE\""},
      {"{\"model\": {\"dropout\": 0.1}}", "t: model.dropout: is 0.1; expected null, the same ids every time"},
      {"{\"model\": {\"end_of_word_suffix\": \"</w>\"}}", "t: model.end_of_word_suffix: is \"</w>\"; expected null"},
      {"{\"model\": {\"vocab\": {\"a\": -1}}}", "t: model.vocab: the id of 'a' is no number from 0 to 2147483647"},
      {"{\"model\": {\"vocab\": {\"a\": 1}, \"merges\": [\"a\"]}}",
       "t: model.merges[0]: expected two tokens, \"a b\" or [\"a\", \"b\"]"},
      {"{\"model\": {\"vocab\": {\"a\": 1, \"aa\": 2}, \"merges\": [[\"a\", \"a\", \"a\"]]}}",
       "t: model.merges[0]: expected two tokens, \"a b\" or [\"a\", \"b\"]"},
      {"{\"added_tokens\": {\"id\": 3, \"content\": \"<m>\"}}", "t: added_tokens: expected a list of tokens"},
      {"{\"model\": {\"vocab\": {\"a\": 1}, \"merges\": [[\"a\", \"a\"]]}}",
       "t: model.merges[0]: 'a' and 'a': one of them, or the two as one, is not in model.vocab"},
      {"{\"model\": {\"vocab\": {\"a\": 1}, \"merges\": [], \"unk_token\": \"u\"}}",
       "t: model.unk_token: \"u\" is not in model.vocab"},
      {"{\"model\": {\"vocab\": {\"a\": 1}, \"merges\": [], \"byte_fallback\": true}}",
       "t: model.byte_fallback: is true; expected all of <0x00> to <0xFF> in model.vocab"},
      {"{\"pre_tokenizer\": {\"type\": \"ByteLevel\"}, " MODEL "}",
       "t: model.vocab: has no token for the byte 0x00, and model.unk_token is null; expected all 256"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct sl_tokenizer *t;
    expect_message(sl_tokenizer_parse(&t, "t", bad[i].text, strlen(bad[i].text)), bad[i].message);
    assert_null(t);
  }
}

/* ---- files ---- */

static void put(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  assert_int_equal(fclose(file), 0);
}

/* A document a line, where the first is an object or a field is asked for, with a token behind each; and the same text as a whole. */
static void lines_are_documents(void **state) {
  (void)state;
  static const char path[] = "test_tokenizer_lines.txt", own[] = "test_tokenizer.json";
  struct sl_data_text text = {.tokenizer = own, .eod = "ab"};
  struct sl_data data;
  int32_t got[8];
  put(own, "{" MODEL ", " META "}"); /* what has no symbol leaves none */
  put(path, "{\"text\": \"ab\", \"body\": \"b\"}\n\n  {\"text\": \"\"}\r\n{\"body\": \"a\", \"text\": \"ba\\u00e9\"}");
  assert_int_equal(sl_data_open_text(&data, path, &text), SL_OK);
  static const int32_t lines[] = {2, 2, 2, 1, 0, 2};
  assert_int_equal(data.token_count, 6);
  assert_int_equal(sl_data_sequence(&data, 0, 5, 3, got, NULL), SL_OK);
  assert_memory_equal(got, lines, 5 * sizeof *lines);
  expect_message(sl_data_check(&data, 5, 2), "test_tokenizer_lines.txt: token 0 is 2; the model's vocab_size is 2");
  sl_data_close(&data);
  text.field = "body";
  expect_message(sl_data_open_text(&data, path, &text),
                 "test_tokenizer_lines.txt:3: body: is missing; expected a string");
  text.eod = "</s>";
  expect_message(sl_data_open_text(&data, path, &text),
                 "--eod-token: '</s>' is no token of test_tokenizer.json; expected one, such as <|endoftext|>");
  put(path, "{\"body\": \"a\"}\n{\"body\": 3}\n");
  text.eod = NULL;
  expect_message(sl_data_open_text(&data, path, &text), "test_tokenizer_lines.txt:2: body: is none; expected a string");
  put(path, "{ab} is no object\nab");
  expect_message(sl_data_open_text(&data, path, &text), /* its field was asked for */
                 "test_tokenizer_lines.txt:1:3: string or '}' expected near 'ab'; expected an object a line");
  text.field = NULL;
  assert_int_equal(sl_data_open_text(&data, path, &text), SL_OK);
  assert_int_equal(data.token_count, 3); /* ab, the b of "object", ab: what has no symbol leaves none */
  sl_data_close(&data);
  unlink(path);
  unlink(own);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ids_are_those_of_the_package),
      cmocka_unit_test(long_runs_end),
      cmocka_unit_test(no_text_without_its_characters),
      cmocka_unit_test(what_is_not_modelled_is_named),
      cmocka_unit_test(lines_are_documents),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
