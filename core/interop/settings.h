/* Typed access to the settings of a document by path, including their names in earlier versions. Requested settings
 * are remembered, so that the others can be reported. Internal to core/interop. */
#pragma once

#include "core/base/json_get.h"

struct sl_settings {
  const struct sl_json *doc;
  json_t *used; /* paths that were requested; owned */
};

/* `doc` must outlive it. Errors: SL_ERR_MEMORY. */
enum sl_status sl_settings_open(struct sl_settings *s, const struct sl_json *doc);
void sl_settings_free(struct sl_settings *s);

/* `paths` in all of these: "new.path|older.path|...": the first one that is present and not null counts. If a setting
 * is absent, *out is unchanged. Errors: SL_ERR_INPUT at the setting's place, as in json_get.h. */
bool sl_settings_has(const struct sl_settings *s, const char *paths);
const json_t *sl_settings_value(const struct sl_settings *s, const char *paths); /* NULL: absent */
enum sl_status sl_settings_int(const struct sl_settings *s, const char *paths, int64_t min, int64_t max, int64_t *out);
enum sl_status sl_settings_real(const struct sl_settings *s, const char *paths, double min, double max, double *out);
enum sl_status sl_settings_bool(const struct sl_settings *s, const char *paths, bool *out);
/* One of "a|b|c", ignoring case; *out becomes the word as spelt in `words`, at most 31 bytes. */
enum sl_status sl_settings_word(const struct sl_settings *s, const char *paths, const char *words, char out[32]);
/* Fails with "FILE:LINE:COLUMN: path: is VALUE; expected EXPECTED". */
enum sl_status sl_settings_fail(const struct sl_settings *s, const char *paths, const char *expected, ...)
    __attribute__((format(printf, 3, 4)));

/* Settings that must be off, because what they do is not modelled: false, 0, 1 (a degree), "", [], {} and null are
 * accepted. Terminated by a NULL path. */
struct sl_setting_refused {
  const char *path;
  const char *expected;
};
enum sl_status sl_settings_refuse(const struct sl_settings *s, const struct sl_setting_refused *list);
/* A key of the configuration and the setting that it is made of, "new.path|older.path". */
struct sl_setting_tie {
  const char *key, *paths;
};
/* Adds to `names`, for reword.h, where each tied setting that is given stands and what it is called. Ends with a NULL
 * key; of two given for one key the first counts. */
void sl_settings_tie(const struct sl_settings *s, const struct sl_setting_tie *ties, json_t *names);
/* The settings of a framework. Both lists are NULL-terminated and have paths or, with '*' at the end, prefixes of
 * paths. */
struct sl_setting_names {
  const char *framework;
  const char *const *beside; /* what has no effect here */
  const char *const *known;  /* the others that there are */
};
/* Refuses a setting that the framework does not have if the one of the same section that is nearest, or the one of
 * any section that it misspells, is not given, and with `strict` always. Errors: SL_ERR_INPUT at the setting's place:
 * "is no key of torchtitan's; did you mean parallelism.tensor_parallel_degree?". */
enum sl_status sl_settings_check_names(const struct sl_settings *s, const struct sl_setting_names *names, bool strict);
/* One warning names every setting that was not requested and is not beside: it has no effect here. */
void sl_settings_name_rest(const struct sl_settings *s, const struct sl_setting_names *names);
