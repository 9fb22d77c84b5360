/* Runs the steps of a tokenizer: added tokens, normalisation, added tokens of the normalised text, words, their ids.
 * See tokenizer.h. */
#include "core/tokenizer/tokenizer.h"

#include "core/base/file.h"
#include "core/tokenizer/added.h"
#include "core/tokenizer/bpe.h"
#include "core/tokenizer/normalize.h"
#include "core/tokenizer/split.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

struct sl_tokenizer {
  char *name;                      /* owned */
  json_t *json;                    /* borrowed from by the parts */
  struct sl_added raw, normalized; /* tokens that are matched before and after normalisation */
  struct sl_normalizer normalizer;
  struct sl_splitter splitter;
  struct sl_bpe bpe;
};

/* ---- reading ---- */

/* Keys that are not modelled must not be ignored silently. */
static enum sl_status check_keys(const struct sl_tokenizer *t) {
  static const char *const known[] = {"version",       "truncation",     "padding", "added_tokens", "normalizer",
                                      "pre_tokenizer", "post_processor", "decoder", "model"};
  static const char *const nulls[] = {"truncation", "padding"};
  const char *key;
  json_t *value;
  if (!json_is_object(t->json)) return sl_fail(SL_ERR_INPUT, "%s: expected an object, as in a tokenizer.json", t->name);
  json_object_foreach(t->json, key, value) {
    size_t i = 0;
    while (i < sizeof known / sizeof *known && strcmp(known[i], key) != 0) i++;
    if (i == sizeof known / sizeof *known)
      return sl_fail(SL_ERR_INPUT, "%s: %s: unknown key; expected those of a tokenizer.json of Hugging Face", t->name,
                     key);
  }
  for (size_t i = 0; i < sizeof nulls / sizeof *nulls; i++) {
    const json_t *set = json_object_get(t->json, nulls[i]);
    if (set != NULL && !json_is_null(set))
      return sl_fail(SL_ERR_INPUT, "%s: %s: expected null: all of a text is trained on", t->name, nulls[i]);
  }
  return SL_OK;
}

static enum sl_status read_added_token(struct sl_tokenizer *t, size_t i, const json_t *token) {
  const char *content = json_string_value(json_object_get(token, "content"));
  const json_t *id = json_object_get(token, "id");
  if (content == NULL || content[0] == '\0' || !json_is_integer(id) || json_integer_value(id) < 0 ||
      json_integer_value(id) > INT32_MAX)
    return sl_fail(SL_ERR_INPUT, "%s: added_tokens[%zu]: expected a content and an id", t->name, i);
  const struct sl_added_token made = {.id = (uint32_t)json_integer_value(id),
                                      .single_word = json_is_true(json_object_get(token, "single_word")),
                                      .lstrip = json_is_true(json_object_get(token, "lstrip")),
                                      .rstrip = json_is_true(json_object_get(token, "rstrip"))};
  if (!json_is_true(json_object_get(token, "normalized"))) return sl_added_put(&t->raw, content, strlen(content), made);
  char *normal;
  size_t size;
  SL_TRY(sl_normalize(&t->normalizer, content, strlen(content), &normal, &size));
  const enum sl_status status = sl_added_put(&t->normalized, normal != NULL ? normal : content, size, made);
  free(normal);
  return status;
}

static enum sl_status read_parts(struct sl_tokenizer *t) {
  const json_t *added = json_object_get(t->json, "added_tokens"), *token;
  size_t i;
  SL_TRY(check_keys(t));
  SL_TRY(sl_normalizer_open(&t->normalizer, t->name, json_object_get(t->json, "normalizer")));
  if (added != NULL && !json_is_array(added))
    return sl_fail(SL_ERR_INPUT, "%s: added_tokens: expected a list of tokens", t->name);
  json_array_foreach(added, i, token) SL_TRY(read_added_token(t, i, token));
  SL_TRY(sl_splitter_open(&t->splitter, t->name, json_object_get(t->json, "pre_tokenizer")));
  return sl_bpe_open(&t->bpe, t->name, json_object_get(t->json, "model"), t->splitter.byte_level);
}

enum sl_status sl_tokenizer_parse(struct sl_tokenizer **out, const char *name, const char *text, size_t size) {
  struct sl_tokenizer *t;
  json_error_t error;
  enum sl_status status;
  *out = NULL;
  SL_TRY(sl_calloc(&t, 1, sizeof *t));
  t->name = strdup(name);
  if (t->name == NULL) SL_GO_FAIL(sl_fail(SL_ERR_MEMORY, "out of memory: a file name"));
  t->json = json_loadb(text, size, 0, &error);
  if (t->json == NULL)
    SL_GO_FAIL(sl_fail(SL_ERR_INPUT, "%s:%d:%d: %s; expected a tokenizer.json of Hugging Face", name, error.line,
                       error.column, error.text));
  SL_GO_FAIL(read_parts(t));
  *out = t;
  return SL_OK;
fail:
  sl_tokenizer_close(t);
  return status;
}

enum sl_status sl_tokenizer_open(struct sl_tokenizer **out, const char *path) {
  char *text;
  size_t size;
  SL_TRY(sl_file_load(path, &text, &size));
  const enum sl_status status = sl_tokenizer_parse(out, path, text, size);
  free(text);
  return status;
}

void sl_tokenizer_close(struct sl_tokenizer *t) {
  if (t == NULL) return;
  sl_added_free(&t->raw);
  sl_added_free(&t->normalized);
  sl_normalizer_free(&t->normalizer);
  sl_splitter_free(&t->splitter);
  sl_bpe_free(&t->bpe);
  json_decref(t->json);
  free(t->name);
  free(t);
}

int64_t sl_tokenizer_find(const struct sl_tokenizer *t, const char *token) {
  const size_t bytes = strlen(token);
  const int64_t raw = sl_added_find(&t->raw, token, bytes);
  const json_t *added;
  size_t i;
  if (raw >= 0) return raw;
  json_array_foreach(json_object_get(t->json, "added_tokens"), i,
                     added) if (strcmp(json_string_value(json_object_get(added, "content")), token) ==
                                0) return json_integer_value(json_object_get(added, "id"));
  const json_t *id = json_object_get(json_object_get(json_object_get(t->json, "model"), "vocab"), token);
  return id != NULL ? json_integer_value(id) : -1;
}

/* ---- encoding ---- */

struct job {
  struct sl_tokenizer *t;
  struct sl_token_list *out;
};

static enum sl_status put_id(struct sl_token_list *out, uint32_t id) {
  SL_TRY(sl_grow(&out->ids, &out->capacity, out->count + 1, sizeof *out->ids));
  out->ids[out->count++] = id;
  return SL_OK;
}

static enum sl_status encode_word(void *context, const char *word, size_t size) {
  const struct job *job = context;
  return sl_bpe_encode(&job->t->bpe, word, size, job->out);
}

typedef enum sl_status (*piece_fn)(struct job *job, const char *text, size_t size, bool first);

/* Calls `each` for the text between added tokens. */
static enum sl_status around(struct job *job, const struct sl_added *added, const char *text, size_t size, bool first,
                             piece_fn each) {
  struct sl_added_place place = {0, 0};
  size_t from = 0, begin;
  uint32_t id;
  while (sl_added_next(added, text, size, &place, &begin, &id)) {
    if (begin > from) SL_TRY(each(job, text + from, begin - from, first && from == 0));
    SL_TRY(put_id(job->out, id));
    from = place.taken;
  }
  return from < size ? each(job, text + from, size - from, first && from == 0) : SL_OK;
}

static enum sl_status encode_normal(struct job *job, const char *text, size_t size, bool first) {
  return sl_split(&job->t->splitter, text, size, first, encode_word, job);
}

static enum sl_status normalize(struct job *job, const char *text, size_t size, bool first) {
  char *normal;
  size_t normal_size;
  SL_TRY(sl_normalize(&job->t->normalizer, text, size, &normal, &normal_size));
  const enum sl_status status =
      around(job, &job->t->normalized, normal != NULL ? normal : text, normal_size, first, encode_normal);
  free(normal);
  return status;
}

static enum sl_status check_text(const char *where, const char *text, size_t size) {
  utf8proc_int32_t c;
  for (size_t at = 0; at < size;) {
    const utf8proc_ssize_t n = (unsigned char)text[at] < 128 ? 1
                                                             : utf8proc_iterate((const utf8proc_uint8_t *)text + at,
                                                                                (utf8proc_ssize_t)(size - at), &c);
    if (n < 1)
      return sl_fail(SL_ERR_INPUT, "%s: byte %zu, 0x%02x, is no UTF-8; expected text", where, at,
                     (unsigned char)text[at]);
    at += (size_t)n;
  }
  return SL_OK;
}

enum sl_status sl_tokenizer_encode(struct sl_tokenizer *t, const char *where, const char *text, size_t size,
                                   struct sl_token_list *out) {
  struct job job = {t, out};
  SL_TRY(check_text(where, text, size));
  return around(&job, &t->raw, text, size, true, normalize);
}
