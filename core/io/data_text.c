/* Tokenises text; see data_text.h. */
#include "core/io/data_text.h"

#include "core/tokenizer/tokenizer.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct reader {
  const char *name; /* of the file */
  const char *field;
  int64_t eod; /* -1: none */
  struct sl_tokenizer *tokenizer;
  struct sl_token_list out;
};

static enum sl_status read_document(struct reader *r, const char *where, const char *text, size_t size) {
  SL_TRY(sl_tokenizer_encode(r->tokenizer, where, text, size, &r->out));
  if (r->eod < 0) return SL_OK;
  SL_TRY(sl_grow(&r->out.ids, &r->out.capacity, r->out.count + 1, sizeof *r->out.ids));
  r->out.ids[r->out.count++] = (uint32_t)r->eod;
  return SL_OK;
}

static enum sl_status read_line(struct reader *r, int64_t number, const char *line, size_t size) {
  enum sl_status status;
  json_error_t error;
  char *where;
  json_t *object = json_loadb(line, size, JSON_ALLOW_NUL, &error);
  const json_t *text = json_object_get(object, r->field);
  if (object == NULL)
    return sl_fail(SL_ERR_INPUT, "%s:%" PRId64 ":%d: %s; expected an object a line", r->name, number, error.column,
                   error.text);
  const size_t room = strlen(r->name) + 32;
  SL_GO(sl_malloc(&where, room, 1));
  snprintf(where, room, "%s:%" PRId64, r->name, number);
  if (json_is_string(text))
    status = read_document(r, where, json_string_value(text), json_string_length(text));
  else
    status = sl_fail(SL_ERR_INPUT, "%s: %s: %s; expected a string", where, r->field,
                     text == NULL ? "is missing" : "is none");
  free(where);
done:
  json_decref(object);
  return status;
}

static bool is_blank(const char *text, size_t size) {
  return strspn(text, " \t\r") >= size;
}

/* Blank lines are skipped. */
static enum sl_status read_lines(struct reader *r, const char *text, size_t size) {
  int64_t number = 0;
  for (size_t at = 0; at < size;) {
    const char *end = memchr(text + at, '\n', size - at);
    const size_t bytes = end != NULL ? (size_t)(end - text) - at : size - at;
    number++;
    if (!is_blank(text + at, bytes)) SL_TRY(read_line(r, number, text + at, bytes));
    at += bytes + 1;
  }
  return SL_OK;
}

/* Are they lines of JSON? They are where a field of theirs is asked for or the file's name says so, else where the text
 * begins with an object on a line of its own. */
static bool has_lines(const struct sl_file *file, const char *field, const char *text) {
  static const char suffix[] = ".jsonl";
  const size_t size = file->size, length = strlen(file->name), behind = sizeof suffix - 1;
  if (field != NULL || (length >= behind && strcmp(file->name + length - behind, suffix) == 0)) return true;
  const size_t blank = strspn(text, " \t\r\n");
  if (blank >= size || text[blank] != '{') return false;
  const char *end = memchr(text + blank, '\n', size - blank);
  json_t *first =
      json_loadb(text + blank, end != NULL ? (size_t)(end - text) - blank : size - blank, JSON_ALLOW_NUL, NULL);
  const bool is = json_is_object(first);
  json_decref(first);
  return is;
}

static enum sl_status find_eod(struct reader *r, const struct sl_data_text *text) {
  r->eod = -1;
  if (text->eod == NULL) return SL_OK;
  r->eod = sl_tokenizer_find(r->tokenizer, text->eod);
  if (r->eod >= 0) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "--eod-token: '%s' is no token of %s; expected one, such as <|endoftext|>", text->eod,
                 text->tokenizer);
}

enum sl_status sl_data_text_read(const struct sl_file *file, const struct sl_data_text *text, uint32_t **ids,
                                 int64_t *count) {
  struct reader r = {.name = file->name, .field = text->field != NULL ? text->field : "text"};
  enum sl_status status;
  char *bytes = NULL;
  SL_TRY(sl_tokenizer_open(&r.tokenizer, text->tokenizer));
  SL_GO(find_eod(&r, text));
  SL_GO(sl_malloc(&bytes, file->size + 1, 1));
  SL_GO(sl_file_read(file, 0, bytes, file->size));
  bytes[file->size] = '\0';
  SL_GO(has_lines(file, text->field, bytes) ? read_lines(&r, bytes, file->size)
                                            : read_document(&r, file->name, bytes, file->size));
  *ids = r.out.ids;
  *count = (int64_t)r.out.count;
  r.out.ids = NULL;
done:
  free(bytes);
  free(r.out.ids);
  sl_tokenizer_close(r.tokenizer);
  return status;
}
