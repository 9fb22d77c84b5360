/* Typed, range-checked reads from one object of a JSON document. If a key is absent or null, *out is unchanged, so
 * callers set the defaults first. Every error is SL_ERR_INPUT at the place of the key:
 *   gpt.json:3:13: n_layer: is -2; expected a whole number from 1 to 4096 */
#pragma once

#include "core/base/json.h"

struct sl_json_object {
  const struct sl_json *doc;
  const json_t *object; /* borrowed; if NULL or not an object, every key is absent */
  const char *path;     /* key path of the object, "" at the top */
};

/* The value at a dotted path below `root` ("zero_optimization.stage"), JSON's null included; NULL if there is none.
 * Borrowed. */
const json_t *sl_json_at(const json_t *root, const char *path);
/* The value of `key`, NULL if absent or null. */
const json_t *sl_json_get(const struct sl_json_object *in, const char *key);
/* The whole number (2 or 2.0 or 5e8, which JSON calls a real) that `value` is; false, and *out as it was, if it is none
 * that an int64_t holds. */
bool sl_json_whole(const json_t *value, int64_t *out);
/* Is `value` this text? NULL is none. */
bool sl_json_equals_text(const json_t *value, const char *text);
/* The whole number at `key` of an object, for printing; 0: there is none. */
long long sl_json_integer_at(const json_t *object, const char *key);
/* A whole number from `min` to `max`. */
enum sl_status sl_json_get_int(const struct sl_json_object *in, const char *key, int64_t min, int64_t max,
                               int64_t *out);
/* A number with min <= x <= max. */
enum sl_status sl_json_get_real(const struct sl_json_object *in, const char *key, double min, double max, double *out);
enum sl_status sl_json_get_bool(const struct sl_json_object *in, const char *key, bool *out);
/* Text shorter than `size` bytes. */
enum sl_status sl_json_get_text(const struct sl_json_object *in, const char *key, char *out, size_t size);
/* Fails at `key`: "...: KEY: is VALUE; expected EXPECTED" ("is missing" if it is absent). */
enum sl_status sl_json_get_fail(const struct sl_json_object *in, const char *key, const char *expected, ...)
    __attribute__((format(printf, 3, 4)));
/* Writes the full key path of `key` to `out`. */
void sl_json_get_path(const struct sl_json_object *in, const char *key, char *out, size_t size);
