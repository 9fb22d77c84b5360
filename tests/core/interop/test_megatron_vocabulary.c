/* label: unit
 * Vocabularies that Megatron-LM's arguments leave to the tokenizer's file. */
#include "tests/core/interop/megatron_reading.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOKENIZERS SL_SOURCE_DIR "/tests/golden/tokenizers/"
#define SIZES "--num-layers 8 --hidden-size 64 --num-attention-heads 4 --max-position-embeddings 128 "

/* Reads arguments, or a script of that name. */
static enum sl_status read_named(const char *name, const char *text, struct sl_megatron_made *made) {
  const struct sl_megatron_source source = {
      .name = name, .text = text, .is_script = name[0] != '-', .wants_model = true};
  return read_as_asked(&source, made);
}

static void has(const char *name, const char *arguments, long long tokens) {
  struct sl_megatron_made made;
  char text[1024];
  snprintf(text, sizeof text, NEEDED SIZES "--tokenizer-type HuggingFaceTokenizer %s", arguments);
  if (read_named(name, text, &made) != SL_OK) fail_msg("%s: %s", arguments, sl_error_message());
  assert_int_equal(integer(made.model, "vocab_size"), tokens);
  json_decref(made.config);
  json_decref(made.model);
  json_decref(made.names);
}

static void fails(const char *arguments, const char *says) {
  struct sl_megatron_made made;
  char text[1024];
  snprintf(text, sizeof text, NEEDED SIZES "--tokenizer-type HuggingFaceTokenizer %s", arguments);
  assert_int_equal(read_named("--from-megatron", text, &made), SL_ERR_INPUT);
  if (strstr(sl_error_message(), says) == NULL) fail_msg("%s: %s", arguments, sl_error_message());
  sl_error_clear();
}

static void write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

/* As many as get_vocab_size() of the package tokenizers says of them, added tokens included once. */
static void tokens_are_counted_as_their_package_does(void **state) {
  (void)state;
  has("--from-megatron", "--tokenizer-model " TOKENIZERS "gpt2.json", 702);
  has("--from-megatron", "--tokenizer-name-or-path " TOKENIZERS "llama2.json", 801);
  has("--from-megatron", "--vocab-file " TOKENIZERS "unknown.json", 701);
  assert_non_null(strstr(warned, "without --vocab-size the vocabulary is that of " TOKENIZERS "unknown.json, 701"));
}

/* Of the file itself or its folder, from here or beside the script; --vocab-size comes first. */
static void files_are_found(void **state) {
  (void)state;
  static const char table[] = "{\"model\": {\"vocab\": {\"a\": 0, \"b\": 1}}, \"added_tokens\": [{\"content\": \"b\"}, "
                              "{\"content\": \"<s>\"}, {\"id\": 7}]}";
  char folder[] = "test_megatron_vocabulary_XXXXXX", script[64], path[96], argument[128];
  assert_non_null(mkdtemp(folder));
  snprintf(script, sizeof script, "%s/run.sh", folder);
  snprintf(path, sizeof path, "%s/own", folder);
  assert_int_equal(mkdir(path, 0700), 0);
  snprintf(path, sizeof path, "%s/own/tokenizer.json", folder);
  write_file(path, table);
  snprintf(argument, sizeof argument, "--tokenizer-model %s/own", folder);
  has("--from-megatron", argument, 3);
  has(script, "--tokenizer-model own", 3);
  has(script, "--tokenizer-model own/tokenizer.json", 3);
  has(script, "--tokenizer-model own --vocab-size 9", 9);
  write_file(path, "{\"model\": {\"vocab\": [[\"a\", -1.5], [\"b\", -2], [7]]}}"); /* Unigram's is a list of pairs */
  has("--from-megatron", argument, 2);
  fails("--tokenizer-model own",
        "--tokenizer-type: is 'HuggingFaceTokenizer'; expected --vocab-size beside it, --model, "
        "or a --tokenizer-model whose tokenizer.json is here");
  write_file(path, "{\"model\": {}, \"added_tokens\": [{\"content\": \"b\"}]}");
  fails(argument, "own/tokenizer.json: has no vocabulary; expected a tokenizer.json");
  write_file(path, "{\"model\": ");
  fails(argument, "own/tokenizer.json: has no vocabulary; expected a tokenizer.json");
  unlink(path);
  snprintf(path, sizeof path, "%s/own", folder);
  rmdir(path), rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(tokens_are_counted_as_their_package_does),
                                     cmocka_unit_test(files_are_found)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
