/* Reads TOML's tables, arrays and keys; see toml.h. Each table remembers what created it, which decides whether more
 * keys may be added to it. */
#include "core/interop/toml.h"

#include "core/base/json_places.h"
#include "core/interop/toml_scalar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 64, MAX_TABLES = 4096, PATH_BYTES = 512 };

enum origin {
  UNKNOWN,  /* a table inside an inline table, or a value */
  IMPLIED,  /* as the parent of a header's table: its own header may follow */
  HEADER,   /* by [name] or [[name]] */
  DOTTED,   /* by a dotted key: more such keys may follow */
  CLOSED,   /* inline: takes no more keys */
  OF_TABLES /* an array made by [[name]]: more tables may follow */
};

struct reader {
  struct sl_toml_cursor c;
  struct sl_json_places places;
  struct {
    const json_t *value;
    enum origin origin;
  } * tables;
  size_t table_count, table_capacity;
  char path[PATH_BYTES]; /* of the current value */
  int depth;
};

static enum sl_status scan_value(struct reader *r, json_t **out);

static enum sl_status memory(const struct reader *r) {
  return sl_fail(SL_ERR_MEMORY, "out of memory in %s", r->c.name);
}

static enum origin *find_origin(const struct reader *r, const json_t *value) {
  for (size_t i = r->table_count; i > 0; i--)
    if (r->tables[i - 1].value == value) return &r->tables[i - 1].origin;
  return NULL;
}

static enum origin origin_of(const struct reader *r, const json_t *value) {
  const enum origin *found = find_origin(r, value);
  return found != NULL ? *found : UNKNOWN;
}

static enum sl_status remember(struct reader *r, const json_t *value, enum origin origin) {
  if (r->table_count == MAX_TABLES)
    return sl_fail(SL_ERR_INPUT, "%s:%lld: has more than %d tables", r->c.name, (long long)r->c.line, MAX_TABLES);
  SL_TRY(sl_grow(&r->tables, &r->table_capacity, r->table_count + 1, sizeof *r->tables));
  r->tables[r->table_count].value = value;
  r->tables[r->table_count++].origin = origin;
  return SL_OK;
}

static enum sl_status lengthen_path(struct reader *r, const char *before, const char *text) {
  const size_t used = strlen(r->path);
  const int n = snprintf(r->path + used, sizeof r->path - used, "%s%s", used > 0 ? before : "", text);
  if (n >= 0 && (size_t)n < sizeof r->path - used) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "%s:%lld:%lld: a key's path has more than %d bytes", r->c.name, (long long)r->c.line,
                 (long long)r->c.column, PATH_BYTES - 1);
}

static enum sl_status given_before(const struct reader *r, int64_t line, int64_t column, const char *what) {
  char first[256];
  sl_json_where(r->places.doc, r->path, first, sizeof first);
  return sl_fail(SL_ERR_INPUT, "%s:%lld:%lld: %s: %s; first given at %s", r->c.name, (long long)line, (long long)column,
                 r->path, what, first);
}

/* ---- keys ---- */

/* Adds a child to `table`, which must not have one of that name. */
static enum sl_status add_child(struct reader *r, json_t *table, const char *key, json_t *child, enum origin origin,
                                const struct sl_toml_cursor *at) {
  if (child == NULL || json_object_set_new(table, key, child) != 0) return memory(r);
  SL_TRY(sl_json_places_add(&r->places, r->path, at->line, at->column));
  return origin != UNKNOWN ? remember(r, child, origin) : SL_OK;
}

/* Enters the table `key` of *table, one part of a header's name or of a dotted key. */
static enum sl_status step_into(struct reader *r, json_t **table, const char *key, bool header,
                                const struct sl_toml_cursor *at) {
  json_t *next = json_object_get(*table, key);
  if (next == NULL) {
    next = json_object();
    SL_TRY(add_child(r, *table, key, next, header ? IMPLIED : DOTTED, at));
  } else if (header && origin_of(r, next) == OF_TABLES) {
    next = json_array_get(next, json_array_size(next) - 1);
  } else if (!json_is_object(next) || origin_of(r, next) == CLOSED || origin_of(r, next) == UNKNOWN) {
    return given_before(r, at->line, at->column, "is no table that takes more keys");
  } else if (!header && origin_of(r, next) == IMPLIED) {
    *find_origin(r, next) = DOTTED;
  } else if (!header && origin_of(r, next) != DOTTED) {
    return given_before(r, at->line, at->column, "is a table of its own, which a dotted key does not change");
  }
  *table = next;
  return SL_OK;
}

/* Reads the parts of a dotted key and enters the table of each but the last; *last is a new reference to that one. */
static enum sl_status scan_key(struct reader *r, json_t **table, bool header, json_t **last,
                               struct sl_toml_cursor *at) {
  for (*last = NULL;;) {
    SL_TRY(sl_toml_skip(&r->c, false));
    *at = r->c;
    SL_TRY(sl_toml_key(&r->c, last));
    SL_TRY(lengthen_path(r, ".", json_string_value(*last)));
    SL_TRY(sl_toml_skip(&r->c, false));
    if (!sl_toml_at(&r->c, ".")) return SL_OK;
    sl_toml_next(&r->c);
    SL_TRY(step_into(r, table, json_string_value(*last), header, at));
    json_decref(*last);
    *last = NULL;
  }
}

/* Reads KEY = VALUE into `table`. */
static enum sl_status scan_pair(struct reader *r, json_t *table) {
  enum sl_status status;
  struct sl_toml_cursor at;
  const size_t outer = strlen(r->path);
  json_t *key = NULL, *value = NULL;
  SL_GO(scan_key(r, &table, false, &key, &at));
  if (json_object_get(table, json_string_value(key)) != NULL)
    SL_GO(given_before(r, at.line, at.column, "duplicate key"));
  SL_GO(sl_json_places_add(&r->places, r->path, at.line, at.column));
  if (!sl_toml_at(&r->c, "=")) SL_GO(sl_toml_expected(&r->c, "'=' or '.' behind a key"));
  sl_toml_next(&r->c);
  SL_GO(sl_toml_skip(&r->c, false));
  SL_GO(scan_value(r, &value));
  if (json_object_set_new(table, json_string_value(key), value) != 0) SL_GO(memory(r));
  r->path[outer] = '\0';
done:
  json_decref(key);
  return status;
}

/* ---- values ---- */

static enum sl_status scan_elements(struct reader *r, json_t *array) {
  sl_toml_next(&r->c);
  for (;;) {
    char index[32];
    const size_t outer = strlen(r->path);
    json_t *value = NULL;
    SL_TRY(sl_toml_skip(&r->c, true));
    if (sl_toml_at(&r->c, "]")) break;
    snprintf(index, sizeof index, "[%zu]", json_array_size(array));
    SL_TRY(lengthen_path(r, "", index));
    SL_TRY(sl_json_places_add(&r->places, r->path, r->c.line, r->c.column));
    SL_TRY(scan_value(r, &value));
    if (json_array_append_new(array, value) != 0) return memory(r);
    r->path[outer] = '\0';
    SL_TRY(sl_toml_skip(&r->c, true));
    if (sl_toml_at(&r->c, "]")) break;
    if (!sl_toml_at(&r->c, ",")) return sl_toml_expected(&r->c, "',' or ']' behind an element");
    sl_toml_next(&r->c);
  }
  sl_toml_next(&r->c);
  return SL_OK;
}

/* An inline table is on one line and has no comma after its last pair. */
static enum sl_status scan_inline(struct reader *r, json_t *table) {
  sl_toml_next(&r->c);
  SL_TRY(sl_toml_skip(&r->c, false));
  while (!sl_toml_at(&r->c, "}") || json_object_size(table) > 0) {
    SL_TRY(scan_pair(r, table));
    SL_TRY(sl_toml_skip(&r->c, false));
    if (sl_toml_at(&r->c, "}")) break;
    if (!sl_toml_at(&r->c, ",")) return sl_toml_expected(&r->c, "',' or '}' behind a pair, on one line");
    sl_toml_next(&r->c);
  }
  sl_toml_next(&r->c);
  return remember(r, table, CLOSED);
}

/* Sets *out, NULL on entry, to a new reference. */
static enum sl_status scan_value(struct reader *r, json_t **out) {
  const bool array = sl_toml_at(&r->c, "[");
  if (!array && !sl_toml_at(&r->c, "{")) return sl_toml_scalar(&r->c, out);
  if (r->depth == MAX_DEPTH)
    return sl_fail(SL_ERR_INPUT, "%s:%lld:%lld: nested too deep; expected at most %d levels", r->c.name,
                   (long long)r->c.line, (long long)r->c.column, MAX_DEPTH);
  json_t *holder = array ? json_array() : json_object();
  if (holder == NULL) return memory(r);
  r->depth++;
  const enum sl_status status = array ? scan_elements(r, holder) : scan_inline(r, holder);
  r->depth--;
  if (status == SL_OK)
    *out = holder;
  else
    json_decref(holder);
  return status;
}

/* ---- headers ---- */

static enum sl_status open_table(struct reader *r, json_t **table, const char *key, const struct sl_toml_cursor *at) {
  json_t *found = json_object_get(*table, key);
  enum origin *origin = found != NULL ? find_origin(r, found) : NULL;
  if (found == NULL) {
    found = json_object();
    SL_TRY(add_child(r, *table, key, found, HEADER, at));
  } else if (origin == NULL || *origin != IMPLIED) {
    return given_before(r, at->line, at->column, "duplicate table");
  } else {
    *origin = HEADER;
  }
  *table = found;
  return SL_OK;
}

static enum sl_status open_element(struct reader *r, json_t **table, const char *key, const struct sl_toml_cursor *at) {
  json_t *list = json_object_get(*table, key), *element = json_object();
  char index[32];
  enum sl_status status;
  if (list == NULL) {
    list = json_array();
    SL_GO_FAIL(add_child(r, *table, key, list, OF_TABLES, at));
  } else if (origin_of(r, list) != OF_TABLES) {
    SL_GO_FAIL(given_before(r, at->line, at->column, "is no array of tables"));
  }
  snprintf(index, sizeof index, "[%zu]", json_array_size(list));
  SL_GO_FAIL(lengthen_path(r, "", index));
  SL_GO_FAIL(sl_json_places_add(&r->places, r->path, at->line, at->column));
  SL_GO_FAIL(remember(r, element, HEADER));
  if (json_array_append_new(list, element) != 0) return memory(r);
  *table = element;
  return SL_OK;
fail:
  json_decref(element);
  return status;
}

/* Reads [name] or [[name]]; the keys that follow go to *table. */
static enum sl_status scan_header(struct reader *r, json_t *root, json_t **table) {
  enum sl_status status;
  const bool element = sl_toml_at(&r->c, "[[");
  struct sl_toml_cursor at;
  json_t *key = NULL;
  for (int i = element ? 2 : 1; i > 0; i--) sl_toml_next(&r->c);
  r->path[0] = '\0';
  *table = root;
  SL_GO(scan_key(r, table, true, &key, &at));
  SL_GO(element ? open_element(r, table, json_string_value(key), &at)
                : open_table(r, table, json_string_value(key), &at));
  for (int i = element ? 2 : 1; i > 0; i--) {
    if (!sl_toml_at(&r->c, "]")) SL_GO(sl_toml_expected(&r->c, element ? "']]' behind a name" : "']' behind a name"));
    sl_toml_next(&r->c);
  }
done:
  json_decref(key);
  return status;
}

static enum sl_status scan_root(struct reader *r, json_t *root) {
  json_t *table = root;
  for (;;) {
    SL_TRY(sl_toml_skip(&r->c, true));
    if (r->c.at == r->c.end) return SL_OK;
    SL_TRY(sl_toml_at(&r->c, "[") ? scan_header(r, root, &table) : scan_pair(r, table));
    const int64_t line = r->c.line;
    SL_TRY(sl_toml_skip(&r->c, false));
    if (r->c.at < r->c.end && *r->c.at != '\n' && *r->c.at != '\r' && *r->c.at != '#')
      return sl_toml_expected(&r->c, "the line's end");
    SL_TRY(sl_toml_skip(&r->c, true));
    if (r->c.at < r->c.end && r->c.line == line) return sl_toml_expected(&r->c, "the line's end");
  }
}

enum sl_status sl_toml_parse(struct sl_json *doc, const char *name, const char *text, size_t length) {
  *doc = (struct sl_json){.root = json_object(), .name = strdup(name)};
  struct reader r = {.c = {.at = text, .end = text + length, .line = 1, .column = 1, .name = name},
                     .places = {.doc = doc}};
  if (sl_toml_at(&r.c, "\xef\xbb\xbf")) r.c.at += 3;
  enum sl_status status = doc->root != NULL && doc->name != NULL ? scan_root(&r, doc->root) : memory(&r);
  free(r.tables);
  if (status != SL_OK) sl_json_free(doc);
  return status;
}
