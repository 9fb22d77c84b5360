/* See megatron_vocabulary.h. Sources: Megatron-LM core_r0.12, megatron/training/tokenizer/tokenizer.py and
 * pretrain_gpt.py; Megatron-DeepSpeed's and GPT-NeoX's megatron/tokenizer/tokenizer.py. */
#include "core/interop/megatron_vocabulary.h"

#include "core/base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- tokenizer.json ---- */

/* As transformers counts them, len(tokenizer): the model's tokens, a table or a list of pairs, and those added to them.
 * 0: it has no vocabulary. */
static int64_t count_tokens(const json_t *root) {
  const json_t *vocabulary = json_object_get(json_object_get(root, "model"), "vocab"),
               *added = json_object_get(root, "added_tokens"), *token;
  json_t *all = json_object();
  const char *name;
  json_t *value;
  size_t i;
  json_object_foreach((json_t *)(uintptr_t)vocabulary, name, value) json_object_set(all, name, json_true());
  json_array_foreach(vocabulary, i, token)
      json_object_set(all, json_string_value(json_array_get(token, 0)), json_true());
  const bool none = json_object_size(all) == 0;
  json_array_foreach(added, i, token) {
    const char *content = json_string_value(json_object_get(token, "content"));
    if (content != NULL) json_object_set(all, content, json_true());
  }
  const int64_t count = none ? 0 : (int64_t)json_object_size(all);
  json_decref(all);
  return count;
}

static enum sl_status read_tokenizer(const char *path, int64_t *out) {
  char *text;
  size_t size;
  SL_TRY(sl_file_load(path, &text, &size));
  json_t *root = json_loadb(text, size, 0, NULL);
  *out = count_tokens(root);
  json_decref(root);
  free(text);
  return *out > 0 ? SL_OK : sl_fail(SL_ERR_INPUT, "%s: has no vocabulary; expected a tokenizer.json", path);
}

enum { PATH_BYTES = 4096 };

/* Is there a tokenizer.json at "FOLDER/PATH", or in the folder of that name? Its path in `out`. */
static bool find_at(const char *folder, int length, const char *path, char *out) {
  static const char *const endings[] = {"", "/tokenizer.json"};
  for (int i = 0; i < 2; i++) {
    struct stat info;
    const int n = snprintf(out, PATH_BYTES, "%.*s%s%s", length, folder, path, endings[i]);
    const bool fits = n > 5 && n < PATH_BYTES && strcmp(out + n - 5, ".json") == 0;
    if (fits && stat(out, &info) == 0 && S_ISREG(info.st_mode)) return true;
  }
  return false;
}

/* From the working directory, where Megatron-LM starts, or beside the script. */
static bool find_tokenizer(const struct sl_arguments *a, char *out) {
  static const char *const names[] = {"tokenizer-model", "tokenizer-name-or-path", "vocab-file"};
  const char *slash = a->is_script ? strrchr(a->name, '/') : NULL;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const struct sl_argument_given *given = sl_arguments_find(a, names[i]);
    if (given == NULL || given->value_count != 1) continue;
    if (find_at("", 0, given->values[0], out)) return true;
    const bool relative = slash != NULL && given->values[0][0] != '/';
    if (relative && find_at(a->name, (int)(slash - a->name) + 1, given->values[0], out)) return true;
  }
  return false;
}

/* ---- the size ---- */

/* Of a model whose arguments do not say it. */
static enum sl_status read_from_tokenizer(const struct sl_arguments *a, int64_t *out) {
  static const struct {
    const char *tokenizer;
    int64_t size;
  } known[] = {{"GPT2BPETokenizer", 50257}, {"Llama2Tokenizer", 32000}, {"Llama3Tokenizer", 128256}};
  const char *tokenizer = "GPT2BPETokenizer";
  char path[PATH_BYTES];
  if (sl_arguments_has(a, "tokenizer-type")) SL_TRY(sl_arguments_text(a, "tokenizer-type", &tokenizer));
  for (int i = 0; i < 3; i++) {
    if (strcmp(known[i].tokenizer, tokenizer) != 0) continue;
    sl_warn("%s: without --vocab-size the vocabulary is that of %s, %lld", a->name, tokenizer,
            (long long)known[i].size);
    return *out = known[i].size, SL_OK;
  }
  if (!find_tokenizer(a, path))
    return sl_arguments_fail(a, "tokenizer-type",
                             "--vocab-size beside it, --model, or a --tokenizer-model whose tokenizer.json is here: "
                             "only that says how large its vocabulary is");
  SL_TRY(read_tokenizer(path, out));
  sl_warn("%s: without --vocab-size the vocabulary is that of %s, %lld", a->name, path, (long long)*out);
  return SL_OK;
}

enum sl_status sl_megatron_vocabulary(const struct sl_arguments *a, int64_t *out) {
  static const char *const padded[] = {"padded-vocab-size", "pad-vocab-size-to"};
  int64_t given = 0;
  *out = 0;
  if (sl_arguments_has(a, "vocab-size")) SL_TRY(sl_arguments_int(a, "vocab-size", &given));
  for (int i = 0; i < 2; i++) {
    if (!sl_arguments_has(a, padded[i])) continue;
    SL_TRY(sl_arguments_int(a, padded[i], out));
    return *out >= given ? SL_OK : sl_arguments_fail(a, padded[i], "at least --vocab-size, which is padded to it");
  }
  if (given > 0) return *out = given, SL_OK;
  return sl_arguments_has(a, "num-layers") ? read_from_tokenizer(a, out) : SL_OK;
}
