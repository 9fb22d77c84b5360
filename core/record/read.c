/* Reads a run record. Every key that keys.def requires is checked here, once, and errors name its place. */
#include "core/record/record.h"

#include "core/base/json_get.h"

#include <math.h>
#include <string.h>

enum shape { TEXT, BOOLEAN, INTEGER, NUMBER, OBJECT, LIST, DOCUMENT, ANY };
enum when { NEVER, MAY, ALWAYS, MUST }; /* see keys.def */

static const struct key {
  const char *path;
  enum shape shape;
  enum when predicted, measured;
} keys[] = {
#define KEY(path, shape, predicted, measured, unit, about) {path, shape, predicted, measured},
#include "core/record/keys.def"
#undef KEY
};

enum { KEYS = sizeof keys / sizeof *keys };

static bool has_shape(const json_t *value, enum shape shape) {
  switch (shape) {
  case TEXT:
    return json_is_string(value);
  case BOOLEAN:
    return json_is_boolean(value);
  case INTEGER:
    return json_is_integer(value);
  case NUMBER:
    return json_is_number(value);
  case OBJECT:
  case DOCUMENT:
    return json_is_object(value);
  case LIST:
    return json_is_array(value);
  case ANY:
    return true;
  }
  return false;
}

static const char *shape_name(enum shape shape) {
  static const char *const names[] = {"text",      "true or false", "an integer", "a number",
                                      "an object", "a list",        "an object",  "anything"};
  _Static_assert(sizeof names / sizeof *names == ANY + 1, "a name for each shape");
  return names[shape];
}

/* Checks the key of the rows of a list, "ranks[].rank", in each of them. */
static enum sl_status check_rows(const struct sl_json *doc, const struct key *key) {
  const char *brackets = strstr(key->path, "[]."), *name = brackets + 3;
  const json_t *rows, *row;
  size_t i;
  char list[64], path[96];
  snprintf(list, sizeof list, "%.*s", (int)(brackets - key->path), key->path);
  rows = sl_json_at(doc->root, list);
  json_array_foreach(rows, i, row) {
    if (has_shape(json_object_get(row, name), key->shape)) continue;
    snprintf(path, sizeof path, "%s[%zu].%s", list, i, name);
    return sl_json_fail(doc, path, "is absent or of another type; expected %s", shape_name(key->shape));
  }
  return SL_OK;
}

static enum sl_status check_key(const struct sl_json *doc, const struct key *key) {
  const json_t *value = sl_json_at(doc->root, key->path);
  if (value == NULL) return sl_json_fail(doc, key->path, "is absent; expected %s", shape_name(key->shape));
  if (has_shape(value, key->shape)) return SL_OK;
  return sl_json_fail(doc, key->path, "is of another type; expected %s", shape_name(key->shape));
}

/* Checks the keys that a record must have: those of rows of lists, or all others. */
static enum sl_status check_keys(const struct sl_json *doc, bool measured, bool of_rows) {
  for (size_t i = 0; i < KEYS; i++)
    if ((measured ? keys[i].measured : keys[i].predicted) == MUST && (strstr(keys[i].path, "[]") != NULL) == of_rows)
      SL_TRY(of_rows ? check_rows(doc, &keys[i]) : check_key(doc, &keys[i]));
  return SL_OK;
}

/* by_category and fragmentation must add up to the peak; otherwise the record was edited or is damaged. */
static enum sl_status check_sum(const struct sl_json *doc) {
  const json_t *value;
  const char *key;
  json_int_t sum = 0;
  json_object_foreach((json_t *)sl_json_at(doc->root, "memory.device.by_category"), key, value) sum +=
      json_integer_value(value);
  const json_int_t peak = json_integer_value(sl_json_at(doc->root, "memory.device.peak_bytes"));
  if (sum == peak) return SL_OK;
  return sl_json_fail(doc, "memory.device.by_category", "sums to %lld; expected peak_bytes, %lld", (long long)sum,
                      (long long)peak);
}

enum sl_status sl_record_check(const struct sl_json *doc) {
  if (!json_is_object(doc->root)) return sl_json_fail(doc, "", "is no object; expected a run record");
  const json_t *schema = json_object_get(doc->root, "schema");
  if (!json_is_integer(schema)) return sl_json_fail(doc, "schema", "is absent; expected a run record of shardlab");
  if (json_integer_value(schema) != SL_RECORD_SCHEMA)
    return sl_json_fail(doc, "schema", "is %lld; expected %d", (long long)json_integer_value(schema), SL_RECORD_SCHEMA);
  const char *kind = json_string_value(json_object_get(doc->root, "kind"));
  if (kind == NULL || (strcmp(kind, "predicted") != 0 && strcmp(kind, "measured") != 0))
    return sl_json_fail(doc, "kind", "is %s; expected \"predicted\" or \"measured\"", kind != NULL ? kind : "no text");
  const bool measured = strcmp(kind, "measured") == 0;
  SL_TRY(check_keys(doc, measured, false));
  SL_TRY(check_sum(doc));
  return check_keys(doc, measured, true);
}

enum sl_status sl_record_load(struct sl_json *doc, const char *path) {
  SL_TRY(sl_json_load(doc, path));
  const enum sl_status status = sl_record_check(doc);
  if (status != SL_OK) sl_json_free(doc);
  return status;
}

double sl_record_loss(const json_t *losses, size_t step) {
  const json_t *loss = json_array_get(losses, step);
  return json_is_number(loss) ? json_number_value(loss) : NAN;
}
