/* Settings of a document by their path, typed, with the names that they had in earlier versions; which of them were asked for is
 * remembered, so that the others can be named. Internal to core/interop. */
#pragma once

#include "core/base/json_get.h"

struct sl_settings {
  const struct sl_json *doc;
  json_t *used; /* paths that were asked for; owned */
};

/* `doc` must outlive it. Errors: SL_ERR_MEMORY. */
enum sl_status sl_settings_open(struct sl_settings *s, const struct sl_json *doc);
void sl_settings_free(struct sl_settings *s);

/* `paths` in all of these: "new.path|older.path|...": the first that is there and not null counts. A setting that is absent leaves *out as it
 * was. Errors: SL_ERR_INPUT at the setting's place, as those of json_get.h. */
bool sl_settings_has(const struct sl_settings *s, const char *paths);
const json_t *sl_settings_value(const struct sl_settings *s, const char *paths); /* NULL: absent */
enum sl_status sl_settings_int(const struct sl_settings *s, const char *paths, int64_t min, int64_t max, int64_t *out);
enum sl_status sl_settings_real(const struct sl_settings *s, const char *paths, double min, double max, double *out);
enum sl_status sl_settings_bool(const struct sl_settings *s, const char *paths, bool *out);
/* One of "a|b|c", case aside; *out becomes a text of `words`' own case, at most 31 bytes. */
enum sl_status sl_settings_word(const struct sl_settings *s, const char *paths, const char *words, char out[32]);
/* Fail: "FILE:LINE:COLUMN: path: is VALUE; expected EXPECTED". */
enum sl_status sl_settings_fail(const struct sl_settings *s, const char *paths, const char *expected, ...)
    __attribute__((format(printf, 3, 4)));

/* Settings that must be off, for what they do is not modelled: false, 0, 1 (a degree), "", [], {} and null pass. Ends with a NULL path. */
struct sl_setting_refused {
  const char *path;
  const char *expected;
};
enum sl_status sl_settings_refuse(const struct sl_settings *s, const struct sl_setting_refused *list);
/* Name in one warning every setting that nobody asked for and that is not `beside` (a list that ends with NULL, of paths and, with '*' at the end,
 * beginnings of paths): it has no effect here. */
void sl_settings_name_rest(const struct sl_settings *s, const char *const *beside);
