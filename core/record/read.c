/* Reading a run record back: every key that a comparison or a table relies on is checked here, once, with its place. */
#include "core/record/record.h"

#include <string.h>

enum shape { TEXT, BOOLEAN, INTEGER, NUMBER, OBJECT, LIST };
enum kinds { BOTH, MEASURED };

static const struct key {
  const char *path; /* dots descend */
  enum shape shape;
  enum kinds kinds; /* MEASURED: only there required */
} keys[] = {
    {"kind", TEXT, BOTH},
    {"functional", BOOLEAN, BOTH},
    {"command", TEXT, BOTH},
    {"model", OBJECT, BOTH},
    {"config", OBJECT, BOTH},
    {"cluster", OBJECT, BOTH},
    {"environment", OBJECT, BOTH},
    {"plan", OBJECT, BOTH},
    {"plan.world", INTEGER, BOTH},
    {"plan.dp", INTEGER, BOTH},
    {"plan.tp", INTEGER, BOTH},
    {"plan.pp", INTEGER, BOTH},
    {"plan.cp", INTEGER, BOTH},
    {"plan.zero_stage", INTEGER, BOTH},
    {"plan.schedule", TEXT, BOTH},
    {"steps", INTEGER, BOTH},
    {"step_time_s", NUMBER, BOTH},
    {"step_times_s", LIST, BOTH},
    {"step_time_low_s", NUMBER, MEASURED},
    {"step_time_high_s", NUMBER, MEASURED},
    {"model_flops_per_step", NUMBER, BOTH},
    {"breakdown_s", OBJECT, BOTH},
    {"breakdown_s.exposed", OBJECT, BOTH},
    {"memory", OBJECT, BOTH},
    {"memory.device", OBJECT, BOTH},
    {"memory.device.peak_bytes", INTEGER, BOTH},
    {"memory.device.by_category", OBJECT, BOTH},
    {"memory.device.by_phase", OBJECT, BOTH},
    {"memory.device.process_bytes", INTEGER, BOTH},
    {"memory.device.ranks", LIST, BOTH},
    {"memory.host", OBJECT, BOTH},
    {"memory.host.peak_bytes", INTEGER, BOTH},
    {"memory.nvme", OBJECT, BOTH},
    {"memory.nvme.peak_bytes", INTEGER, BOTH},
    {"traffic", LIST, BOTH},
    {"ranks", LIST, BOTH},
    {"losses", LIST, MEASURED},
    {"grad_norms", LIST, MEASURED},
    {"skipped_steps", INTEGER, MEASURED},
};

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
    return json_is_object(value);
  case LIST:
    return json_is_array(value);
  }
  return false;
}

static const char *shape_name(enum shape shape) {
  static const char *const names[] = {"text", "true or false", "an integer", "a number", "an object", "a list"};
  return names[shape];
}

static const json_t *descend(const json_t *value, const char *path) {
  while (value != NULL && *path != '\0') {
    char key[64];
    const size_t length = strcspn(path, ".");
    snprintf(key, sizeof key, "%.*s", (int)length, path);
    value = json_object_get(value, key);
    path += length + (path[length] == '.');
  }
  return value;
}

static enum sl_status check_rows(const struct sl_json *doc, const char *list, const char *const *names, size_t n,
                                 const enum shape *shapes) {
  const json_t *row;
  size_t i;
  char path[96];
  json_array_foreach(json_object_get(doc->root, list), i, row) for (size_t k = 0; k < n; k++) {
    if (has_shape(json_object_get(row, names[k]), shapes[k])) continue;
    snprintf(path, sizeof path, "%s[%zu].%s", list, i, names[k]);
    return sl_json_fail(doc, path, "is absent or of another type; expected %s", shape_name(shapes[k]));
  }
  return SL_OK;
}

/* by_category and fragmentation are the bytes at the peak: a record where they are not was edited or is broken. */
static enum sl_status check_sum(const struct sl_json *doc) {
  const json_t *value;
  const char *key;
  json_int_t sum = 0;
  json_object_foreach((json_t *)descend(doc->root, "memory.device.by_category"), key, value) sum +=
      json_integer_value(value);
  const json_int_t peak = json_integer_value(descend(doc->root, "memory.device.peak_bytes"));
  if (sum == peak) return SL_OK;
  return sl_json_fail(doc, "memory.device.by_category", "sums to %lld; expected peak_bytes, %lld", (long long)sum,
                      (long long)peak);
}

enum sl_status sl_record_check(const struct sl_json *doc) {
  static const char *const row_keys[] = {"group", "op", "payload", "dtype", "calls", "bytes", "wire_bytes"};
  static const enum shape row_shapes[] = {TEXT, TEXT, TEXT, TEXT, INTEGER, INTEGER, INTEGER};
  static const char *const rank_keys[] = {"rank", "call_hash", "calls", "bytes", "wire_bytes"};
  static const enum shape rank_shapes[] = {INTEGER, TEXT, INTEGER, INTEGER, INTEGER};
  if (!json_is_object(doc->root)) return sl_json_fail(doc, "", "is no object; expected a run record");
  const json_t *schema = json_object_get(doc->root, "schema");
  if (!json_is_integer(schema)) return sl_json_fail(doc, "schema", "is absent; expected a run record of shardlab");
  if (json_integer_value(schema) != SL_RECORD_SCHEMA)
    return sl_json_fail(doc, "schema", "is %lld; expected %d", (long long)json_integer_value(schema), SL_RECORD_SCHEMA);
  const char *kind = json_string_value(json_object_get(doc->root, "kind"));
  if (kind == NULL || (strcmp(kind, "predicted") != 0 && strcmp(kind, "measured") != 0))
    return sl_json_fail(doc, "kind", "is %s; expected \"predicted\" or \"measured\"", kind != NULL ? kind : "no text");
  const bool measured = strcmp(kind, "measured") == 0;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    if (keys[i].kinds == MEASURED && !measured) continue;
    const json_t *value = descend(doc->root, keys[i].path);
    if (value == NULL) return sl_json_fail(doc, keys[i].path, "is absent; expected %s", shape_name(keys[i].shape));
    if (!has_shape(value, keys[i].shape))
      return sl_json_fail(doc, keys[i].path, "is of another type; expected %s", shape_name(keys[i].shape));
  }
  SL_TRY(check_sum(doc));
  SL_TRY(check_rows(doc, "traffic", row_keys, 7, row_shapes));
  return check_rows(doc, "ranks", rank_keys, 5, rank_shapes);
}

enum sl_status sl_record_load(struct sl_json *doc, const char *path) {
  SL_TRY(sl_json_load(doc, path));
  const enum sl_status status = sl_record_check(doc);
  if (status != SL_OK) sl_json_free(doc);
  return status;
}
