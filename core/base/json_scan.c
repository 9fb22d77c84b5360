/* The scanner behind sl_json_parse: one recursive walk over the text.
 *
 * It knows the grammar (JSON plus what json.h lists of hjson) and the places; jansson decodes the scalars and holds the
 * tree. Every byte is consumed by next(), so line and column are always those of the byte in hand. */
#include "core/base/json_scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 64 };
enum { MAX_PATH = 512 }; /* longer paths get no place: else nested long keys would take quadratic memory */

struct scan {
  const char *at, *end;
  int64_t line, column; /* of *at */
  int depth;
  struct sl_json *doc;
  size_t place_capacity, paths_used, paths_capacity;
  char *path; /* path of the value in hand */
  size_t path_length, path_capacity;
};

static enum sl_status scan_value(struct scan *s, json_t **out);

/* A byte as it may stand in a message. */
static const char *found(const struct scan *s, char *out, size_t size) {
  if (s->at == s->end) return "the end of the file";
  const unsigned char c = (unsigned char)*s->at;
  if (c == '\n') return "the end of the line";
  snprintf(out, size, c > 0x20 && c < 0x7f ? "'%c'" : "byte 0x%02x", c);
  return out;
}

static enum sl_status expected(const struct scan *s, const char *what) {
  char byte[16];
  return sl_fail(SL_ERR_INPUT, "%s:%lld:%lld: expected %s, found %s", s->doc->name, (long long)s->line,
                 (long long)s->column, what, found(s, byte, sizeof byte));
}

/* Consume one byte. Continuation bytes of UTF-8 (10xxxxxx) are no new column. */
static void next(struct scan *s) {
  const char c = *s->at++;
  if (c == '\n') {
    s->line++;
    s->column = 1;
  } else if (s->at == s->end || ((unsigned char)*s->at & 0xc0) != 0x80) {
    s->column++;
  }
}

static bool looking_at(const struct scan *s, const char *word) {
  const size_t n = strlen(word);
  return (size_t)(s->end - s->at) >= n && memcmp(s->at, word, n) == 0;
}

static enum sl_status skip_block_comment(struct scan *s) {
  const struct scan open = *s;
  next(s);
  next(s);
  while (s->at < s->end && !looking_at(s, "*/")) next(s);
  if (s->at == s->end)
    return sl_fail(SL_ERR_INPUT, "%s:%lld:%lld: comment is not closed; expected */ before the end of the file",
                   s->doc->name, (long long)open.line, (long long)open.column);
  next(s);
  next(s);
  return SL_OK;
}

/* Skip white space and comments. */
static enum sl_status skip_space(struct scan *s) {
  while (s->at < s->end) {
    if (strchr(" \t\r\n", *s->at) != NULL && *s->at != '\0') {
      next(s);
    } else if (*s->at == '#' || looking_at(s, "//")) {
      while (s->at < s->end && *s->at != '\n') next(s);
    } else if (looking_at(s, "/*")) {
      SL_TRY(skip_block_comment(s));
    } else {
      break;
    }
  }
  return SL_OK;
}

/* Append `text` to the path of the value in hand. */
static enum sl_status push_path(struct scan *s, const char *text, size_t length) {
  SL_TRY(sl_grow(&s->path, &s->path_capacity, s->path_length + length + 1, 1));
  memcpy(s->path + s->path_length, text, length);
  s->path_length += length;
  s->path[s->path_length] = '\0';
  return SL_OK;
}

static void pop_path(struct scan *s, size_t length) {
  s->path_length = length;
  s->path[length] = '\0';
}

static enum sl_status keep_place(struct scan *s, int64_t line, int64_t column) {
  if (s->path_length >= MAX_PATH) return SL_OK;
  SL_TRY(sl_grow(&s->doc->places, &s->place_capacity, s->doc->place_count + 1, sizeof *s->doc->places));
  SL_TRY(sl_grow(&s->doc->paths, &s->paths_capacity, s->paths_used + s->path_length + 1, 1));
  memcpy(s->doc->paths + s->paths_used, s->path, s->path_length + 1);
  s->doc->places[s->doc->place_count++] = (struct sl_json_place){.path = s->paths_used, .line = line, .column = column};
  s->paths_used += s->path_length + 1;
  return SL_OK;
}

/* "key: " of the value in hand, for messages; nothing at the root. */
static const char *separator(const struct scan *s) {
  return s->path_length > 0 ? ": " : "";
}

/* Decode the scalar token [start, s->at) that began at the place `open`. */
static enum sl_status decode(struct scan *s, const struct scan *open, const char *what, json_t **out) {
  json_error_t error;
  const int length = (int)(s->at - open->at > 40 ? 40 : s->at - open->at);
  *out = json_loadb(open->at, (size_t)(s->at - open->at), JSON_DECODE_ANY, &error);
  if (*out != NULL) return SL_OK;
  const char *fault = json_error_code(&error) == json_error_numeric_overflow ? "is too large" : "is malformed";
  return sl_fail(SL_ERR_INPUT, "%s:%lld:%lld: %s%s%.*s %s; expected a %s", s->doc->name, (long long)open->line,
                 (long long)open->column, s->path, separator(s), length, open->at, fault, what);
}

static enum sl_status scan_string(struct scan *s, json_t **out) {
  const struct scan open = *s;
  bool plain = true; /* ASCII without escapes: nothing to decode */
  next(s);
  while (s->at < s->end && *s->at != '"' && *s->at != '\n') {
    const unsigned char c = (unsigned char)*s->at;
    plain = plain && c >= 0x20 && c < 0x7f && c != '\\';
    if (c == '\\' && s->at + 1 < s->end && s->at[1] != '\n') next(s);
    next(s);
  }
  if (s->at == s->end || *s->at != '"')
    return sl_fail(SL_ERR_INPUT, "%s:%lld:%lld: string is not closed; expected '\"' before the end of the line",
                   s->doc->name, (long long)open.line, (long long)open.column);
  next(s);
  if (!plain) return decode(s, &open, "string with JSON's escapes in UTF-8", out);
  *out = json_stringn_nocheck(open.at + 1, (size_t)(s->at - open.at) - 2);
  return *out != NULL ? SL_OK : sl_fail(SL_ERR_MEMORY, "out of memory in %s", s->doc->name);
}

static bool word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '+' || c == '.';
}

/* true, false, null or a number. */
static enum sl_status scan_word(struct scan *s, json_t **out) {
  const struct scan open = *s;
  while (s->at < s->end && word_byte(*s->at)) next(s);
  const size_t length = (size_t)(s->at - open.at);
  if (length == 0) return expected(s, "a value");
  if (*open.at == '-' || *open.at == '+' || *open.at == '.' || (*open.at >= '0' && *open.at <= '9')) {
    return decode(s, &open, "finite number", out);
  }
  if (length == 4 && memcmp(open.at, "true", 4) == 0) *out = json_true();
  if (length == 5 && memcmp(open.at, "false", 5) == 0) *out = json_false();
  if (length == 4 && memcmp(open.at, "null", 4) == 0) *out = json_null();
  if (*out != NULL) return SL_OK;
  return sl_fail(SL_ERR_INPUT,
                 "%s:%lld:%lld: %s%s%.*s is no value; expected a finite number, true, false, null or a \"string\"",
                 s->doc->name, (long long)open.line, (long long)open.column, s->path, separator(s),
                 (int)(length > 40 ? 40 : length), open.at);
}

/* A key: a string, or letters, digits and _-+. without quotes. */
static enum sl_status scan_key(struct scan *s, json_t **out) {
  if (s->at < s->end && *s->at == '"') return scan_string(s, out);
  const char *start = s->at;
  while (s->at < s->end && word_byte(*s->at)) next(s);
  if (s->at == start) return expected(s, "a key or '}'");
  *out = json_stringn_nocheck(start, (size_t)(s->at - start));
  return *out != NULL ? SL_OK : sl_fail(SL_ERR_MEMORY, "out of memory in %s", s->doc->name);
}

static enum sl_status scan_member(struct scan *s, json_t *object) {
  enum sl_status status = SL_OK;
  const int64_t line = s->line, column = s->column;
  const size_t outer = s->path_length;
  json_t *key = NULL, *value = NULL;
  SL_GO(scan_key(s, &key));
  if (outer > 0) SL_GO(push_path(s, ".", 1));
  SL_GO(push_path(s, json_string_value(key), json_string_length(key)));
  if (json_object_get(object, json_string_value(key)) != NULL) {
    char first[256];
    sl_json_where(s->doc, s->path, first, sizeof first);
    status = sl_fail(SL_ERR_INPUT, "%s:%lld:%lld: %s: duplicate key; first given at %s", s->doc->name, (long long)line,
                     (long long)column, s->path, first);
    goto done;
  }
  SL_GO(keep_place(s, line, column));
  SL_GO(skip_space(s));
  if (s->at == s->end || *s->at != ':') SL_GO(expected(s, "':' after a key"));
  next(s);
  SL_GO(scan_value(s, &value));
  if (json_object_set_new_nocheck(object, json_string_value(key), value) != 0) {
    status = sl_fail(SL_ERR_MEMORY, "out of memory in %s", s->doc->name);
  }
done:
  if (status == SL_OK) pop_path(s, outer);
  json_decref(key);
  return status;
}

static enum sl_status scan_element(struct scan *s, json_t *array) {
  const size_t outer = s->path_length;
  char index[32];
  json_t *value = NULL;
  const int n = snprintf(index, sizeof index, "[%zu]", json_array_size(array));
  SL_TRY(push_path(s, index, (size_t)n));
  SL_TRY(keep_place(s, s->line, s->column));
  SL_TRY(scan_value(s, &value));
  if (json_array_append_new(array, value) != 0) return sl_fail(SL_ERR_MEMORY, "out of memory in %s", s->doc->name);
  pop_path(s, outer);
  return SL_OK;
}

/* The inside of {} or []: items, each followed by a comma, a line end or the closing bracket. */
static enum sl_status scan_items(struct scan *s, json_t *holder, char close) {
  const bool object = close == '}';
  next(s);
  for (;;) {
    SL_TRY(skip_space(s));
    if (s->at < s->end && *s->at == close) break;
    if (s->at == s->end) return expected(s, object ? "a key or '}'" : "a value or ']'");
    SL_TRY(object ? scan_member(s, holder) : scan_element(s, holder));
    const int64_t line = s->line;
    SL_TRY(skip_space(s));
    if (s->at < s->end && *s->at == ',') {
      next(s);
    } else if ((s->at == s->end || *s->at != close) && s->line == line) {
      return expected(s, object ? "',' or '}' after a value" : "',' or ']' after a value");
    }
  }
  next(s);
  return SL_OK;
}

static enum sl_status scan_holder(struct scan *s, json_t **out) {
  const bool object = *s->at == '{';
  if (s->depth == MAX_DEPTH)
    return sl_fail(SL_ERR_INPUT, "%s:%lld:%lld: nested too deep; expected at most %d levels", s->doc->name,
                   (long long)s->line, (long long)s->column, MAX_DEPTH);
  json_t *holder = object ? json_object() : json_array();
  if (holder == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory in %s", s->doc->name);
  s->depth++;
  const enum sl_status status = scan_items(s, holder, object ? '}' : ']');
  s->depth--;
  if (status != SL_OK) {
    json_decref(holder);
    return status;
  }
  *out = holder;
  return SL_OK;
}

/* *out, NULL on entry, becomes a new reference. */
static enum sl_status scan_value(struct scan *s, json_t **out) {
  SL_TRY(skip_space(s));
  if (s->at == s->end) return expected(s, "a value");
  if (*s->at == '{' || *s->at == '[') return scan_holder(s, out);
  if (*s->at == '"') return scan_string(s, out);
  return scan_word(s, out);
}

enum sl_status sl_json_scan(struct sl_json *doc, const char *text, size_t length) {
  struct scan s = {.at = text, .end = text + length, .line = 1, .column = 1, .doc = doc};
  enum sl_status status = SL_OK;
  if (looking_at(&s, "\xef\xbb\xbf")) s.at += 3;
  SL_GO(push_path(&s, "", 0));
  SL_GO(scan_value(&s, &doc->root));
  SL_GO(skip_space(&s));
  if (s.at != s.end) SL_GO(expected(&s, "nothing after the closing bracket"));
done:
  free(s.path);
  return status;
}
