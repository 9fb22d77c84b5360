/* The scanner behind sl_json_parse: one recursive walk over the text.
 *
 * It knows objects and arrays, as json.h says, and the places of keys and elements; json_text.c reads the scalars,
 * jansson holds the tree. */
#include "core/base/json_scan.h"

#include "core/base/json_places.h"
#include "core/base/json_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 64 };

struct scan {
  struct sl_json_cursor c;
  int depth;
  struct sl_json *doc;
  struct sl_json_places places;
  char *path; /* path of the current value */
  size_t path_length, path_capacity;
};

static enum sl_status scan_value(struct scan *s, json_t **out);

/* Appends `text` to the path of the current value. */
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
  return sl_json_places_add(&s->places, s->path, line, column);
}

static enum sl_status scan_member(struct scan *s, json_t *object) {
  enum sl_status status = SL_OK;
  const int64_t line = s->c.line, column = s->c.column;
  const size_t outer = s->path_length;
  json_t *key = NULL, *value = NULL;
  SL_GO(sl_json_key(&s->c, s->path, &key));
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
  SL_GO(sl_json_skip_space(&s->c));
  if (s->c.at == s->c.end || *s->c.at != ':') SL_GO(sl_json_expected(&s->c, "':' after a key"));
  sl_json_next(&s->c);
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
  SL_TRY(keep_place(s, s->c.line, s->c.column));
  SL_TRY(scan_value(s, &value));
  if (json_array_append_new(array, value) != 0) return sl_fail(SL_ERR_MEMORY, "out of memory in %s", s->doc->name);
  pop_path(s, outer);
  return SL_OK;
}

/* What may follow an item: a comma, the closing bracket, or, as in hjson, directly the next item. */
static enum sl_status end_item(struct scan *s, char close) {
  SL_TRY(sl_json_skip_space(&s->c));
  if (s->c.at < s->c.end && *s->c.at == ',') {
    sl_json_next(&s->c);
    return SL_OK;
  }
  if (s->c.at < s->c.end && (*s->c.at == close || (!s->c.plain && strchr("}]:", *s->c.at) == NULL))) return SL_OK;
  if (close == '\0') return s->c.at == s->c.end ? SL_OK : sl_json_expected(&s->c, "',' or a key after a value");
  return sl_json_expected(&s->c, close == '}' ? "',' or '}' after a value" : "',' or ']' after a value");
}

/* The items of an object or array up to its closing bracket or, if that is '\0', of an object up to the end of the
 * file. */
static enum sl_status scan_items(struct scan *s, json_t *holder, char close) {
  const bool object = close != ']';
  for (;;) {
    SL_TRY(sl_json_skip_space(&s->c));
    if (s->c.at == s->c.end && close == '\0') return SL_OK;
    if (s->c.at < s->c.end && *s->c.at == close && close != '\0') break;
    if (s->c.at == s->c.end) return sl_json_expected(&s->c, object ? "a key or '}'" : "a value or ']'");
    SL_TRY(object ? scan_member(s, holder) : scan_element(s, holder));
    SL_TRY(end_item(s, close));
  }
  sl_json_next(&s->c);
  return SL_OK;
}

/* `close`: '}', ']', or '\0' for an object without brackets. */
static enum sl_status scan_holder(struct scan *s, char close, json_t **out) {
  if (s->depth == MAX_DEPTH)
    return sl_fail(SL_ERR_INPUT, "%s:%lld:%lld: nested too deep; expected at most %d levels", s->doc->name,
                   (long long)s->c.line, (long long)s->c.column, MAX_DEPTH);
  json_t *holder = close == ']' ? json_array() : json_object();
  if (holder == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory in %s", s->doc->name);
  if (close != '\0') sl_json_next(&s->c);
  s->depth++;
  const enum sl_status status = scan_items(s, holder, close);
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
  SL_TRY(sl_json_skip_space(&s->c));
  if (s->c.at == s->c.end) return sl_json_expected(&s->c, "a value");
  if (*s->c.at == '{' || *s->c.at == '[') return scan_holder(s, *s->c.at == '{' ? '}' : ']', out);
  return sl_json_scalar(&s->c, s->path, out);
}

/* Does the document begin with a key and a colon? Then its root has no braces. */
static bool starts_with_key(const struct scan *s) {
  struct sl_json_cursor c = s->c;
  json_t *key = NULL;
  const bool found = sl_json_key(&c, "", &key) == SL_OK && sl_json_skip_space(&c) == SL_OK;
  json_decref(key);
  sl_error_clear(); /* finding none is not an error yet */
  return found && c.at < c.end && *c.at == ':';
}

static enum sl_status scan_root(struct scan *s) {
  SL_TRY(sl_json_skip_space(&s->c));
  const bool opens = s->c.at < s->c.end && (*s->c.at == '{' || *s->c.at == '['), keyed = starts_with_key(s);
  if (s->c.plain && !opens) return sl_json_expected(&s->c, "'{'");
  SL_TRY(keyed ? scan_holder(s, '\0', &s->doc->root) : scan_value(s, &s->doc->root));
  SL_TRY(sl_json_skip_space(&s->c));
  return s->c.at == s->c.end ? SL_OK : sl_json_expected(&s->c, "nothing after the closing bracket");
}

enum sl_status sl_json_scan(struct sl_json *doc, const char *text, size_t length, bool plain) {
  struct scan s = {.c = {.at = text, .end = text + length, .line = 1, .column = 1, .name = doc->name, .plain = plain},
                   .doc = doc,
                   .places = {.doc = doc}};
  if (sl_json_looking_at(&s.c, "\xef\xbb\xbf")) s.c.at += 3;
  enum sl_status status = push_path(&s, "", 0);
  if (status == SL_OK) status = scan_root(&s);
  free(s.path);
  if (status != SL_ERR_INPUT || s.c.doubt[0] == '\0') return status;
  sl_error_clear();
  return sl_fail(status, "%s", s.c.doubt);
}
