/* Typed reads with places; see json_get.h. */
#include "core/base/json_get.h"

#include "core/base/json_write.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const json_t *sl_json_at(const json_t *root, const char *path) {
  while (root != NULL && *path != '\0') {
    const size_t length = strcspn(path, ".");
    root = json_object_getn(root, path, length);
    path += length + (path[length] == '.');
  }
  return root;
}

const json_t *sl_json_get(const struct sl_json_object *in, const char *key) {
  const json_t *value = json_object_get(in->object, key);
  return json_is_null(value) ? NULL : value;
}

void sl_json_get_path(const struct sl_json_object *in, const char *key, char *out, size_t size) {
  snprintf(out, size, "%s%s%s", in->path, in->path[0] != '\0' ? "." : "", key);
}

enum sl_status sl_json_get_fail(const struct sl_json_object *in, const char *key, const char *expected, ...) {
  char path[256], want[512], shown[80] = "missing";
  va_list args;
  va_start(args, expected);
  vsnprintf(want, sizeof want, expected, args);
  va_end(args);
  sl_json_get_path(in, key, path, sizeof path);
  const json_t *value = json_object_get(in->object, key);
  char *text = value != NULL ? sl_json_text(value, JSON_ENCODE_ANY) : NULL;
  if (text != NULL) snprintf(shown, sizeof shown, "%.70s%s", text, strlen(text) > 70 ? " ..." : "");
  free(text);
  return sl_json_fail(in->doc, path, "is %s; expected %s", shown, want);
}

bool sl_json_equals_text(const json_t *value, const char *text) {
  return json_is_string(value) && strcmp(json_string_value(value), text) == 0;
}

long long sl_json_integer_at(const json_t *object, const char *key) {
  return (long long)json_integer_value(json_object_get(object, key));
}

bool sl_json_whole(const json_t *value, int64_t *out) {
  if (json_is_integer(value)) *out = json_integer_value(value);
  if (!json_is_real(value)) return json_is_integer(value);
  const double real = json_real_value(value);
  if (real != floor(real) || !(fabs(real) < 0x1p63)) return false;
  *out = (int64_t)real;
  return true;
}

enum sl_status sl_json_get_int(const struct sl_json_object *in, const char *key, int64_t min, int64_t max,
                               int64_t *out) {
  const json_t *value = sl_json_get(in, key);
  if (value == NULL) return SL_OK;
  int64_t whole;
  if (!sl_json_whole(value, &whole) || whole < min || whole > max)
    return sl_json_get_fail(in, key, "a whole number from %" PRId64 " to %" PRId64, min, max);
  *out = whole;
  return SL_OK;
}

enum sl_status sl_json_get_real(const struct sl_json_object *in, const char *key, double min, double max, double *out) {
  const json_t *value = sl_json_get(in, key);
  if (value == NULL) return SL_OK;
  const double real = json_number_value(value);
  if (!json_is_number(value) || !(real >= min && real <= max))
    return sl_json_get_fail(in, key, "a number from %g to %g", min, max);
  *out = real;
  return SL_OK;
}

enum sl_status sl_json_get_bool(const struct sl_json_object *in, const char *key, bool *out) {
  const json_t *value = sl_json_get(in, key);
  if (value == NULL) return SL_OK;
  if (!json_is_boolean(value)) return sl_json_get_fail(in, key, "true or false");
  *out = json_is_true(value);
  return SL_OK;
}

enum sl_status sl_json_get_text(const struct sl_json_object *in, const char *key, char *out, size_t size) {
  const json_t *value = sl_json_get(in, key);
  if (value == NULL) return SL_OK;
  if (!json_is_string(value) || json_string_length(value) >= size)
    return sl_json_get_fail(in, key, "text of at most %zu bytes", size - 1);
  snprintf(out, size, "%s", json_string_value(value));
  return SL_OK;
}
