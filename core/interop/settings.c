/* See settings.h. */
#include "core/interop/settings.h"

#include "core/base/json_get.h"
#include "core/base/json_places.h"
#include "core/base/listing.h"
#include "core/base/nearest.h"
#include "core/base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PATH_BYTES = 512 };

enum sl_status sl_settings_open(struct sl_settings *s, const struct sl_json *doc) {
  *s = (struct sl_settings){.doc = doc, .used = json_object()};
  return s->used != NULL ? SL_OK : sl_fail(SL_ERR_MEMORY, "out of memory in %s", doc->name);
}

void sl_settings_free(struct sl_settings *s) {
  json_decref(s->used);
  s->used = NULL;
}

/* The next alternative of "a|b|c"; NULL after the last. */
static const char *behind_bar(const char *at) {
  const char *bar = strchr(at, '|');
  return bar != NULL ? bar + 1 : NULL;
}

/* Looks up the first of `paths` that has a value, and marks all of them as used, but for a later one that says
 * something else. Its path, or that of the first if none has a value, goes into out[PATH_BYTES]. */
static const json_t *find(const struct sl_settings *s, const char *paths, char *out) {
  const json_t *found = NULL;
  for (const char *at = paths; at != NULL; at = behind_bar(at)) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%.*s", (int)strcspn(at, "|"), at);
    const json_t *value = sl_json_at(s->doc->root, path);
    if (found == NULL || value == NULL || json_equal(found, value)) json_object_set_new(s->used, path, json_true());
    if (at == paths || (found == NULL && value != NULL && !json_is_null(value))) memcpy(out, path, sizeof path);
    if (found == NULL && !json_is_null(value)) found = value;
  }
  return found;
}

/* The object that holds a setting, and the setting's key in it. */
struct place {
  char path[PATH_BYTES], parent[PATH_BYTES];
  const char *key;
  struct sl_json_object object;
  const json_t *value;
};

static void locate(const struct sl_settings *s, const char *paths, struct place *p) {
  p->value = find(s, paths, p->path);
  const char *dot = strrchr(p->path, '.');
  p->key = dot != NULL ? dot + 1 : p->path;
  snprintf(p->parent, sizeof p->parent, "%.*s", dot != NULL ? (int)(dot - p->path) : 0, p->path);
  p->object = (struct sl_json_object){
      .doc = s->doc, .object = dot != NULL ? sl_json_at(s->doc->root, p->parent) : s->doc->root, .path = p->parent};
}

bool sl_settings_has(const struct sl_settings *s, const char *paths) {
  return sl_settings_value(s, paths) != NULL;
}

const json_t *sl_settings_value(const struct sl_settings *s, const char *paths) {
  char path[PATH_BYTES];
  return find(s, paths, path);
}

enum sl_status sl_settings_int(const struct sl_settings *s, const char *paths, int64_t min, int64_t max, int64_t *out) {
  struct place p;
  locate(s, paths, &p);
  return sl_json_get_int(&p.object, p.key, min, max, out);
}

enum sl_status sl_settings_real(const struct sl_settings *s, const char *paths, double min, double max, double *out) {
  struct place p;
  locate(s, paths, &p);
  return sl_json_get_real(&p.object, p.key, min, max, out);
}

enum sl_status sl_settings_bool(const struct sl_settings *s, const char *paths, bool *out) {
  struct place p;
  locate(s, paths, &p);
  return sl_json_get_bool(&p.object, p.key, out);
}

enum sl_status sl_settings_word(const struct sl_settings *s, const char *paths, const char *words, char out[32]) {
  char text[128] = "", list[256];
  struct place p;
  locate(s, paths, &p);
  if (p.value == NULL) return SL_OK;
  SL_TRY(sl_json_get_text(&p.object, p.key, text, sizeof text));
  for (const char *at = words; at != NULL; at = behind_bar(at)) {
    const size_t length = strcspn(at, "|");
    if (strlen(text) != length || strncasecmp(at, text, length) != 0) continue;
    snprintf(out, 32, "%.*s", (int)length, at);
    return SL_OK;
  }
  size_t used = 0;
  for (const char *at = words; *at != '\0' && used + 3 < sizeof list; at++)
    used += (size_t)snprintf(list + used, sizeof list - used, *at == '|' ? ", " : "%c", *at);
  return sl_json_get_fail(&p.object, p.key, "one of %s", list);
}

enum sl_status sl_settings_fail(const struct sl_settings *s, const char *paths, const char *expected, ...) {
  char text[512];
  struct place p;
  va_list args;
  va_start(args, expected);
  vsnprintf(text, sizeof text, expected, args);
  va_end(args);
  locate(s, paths, &p);
  return sl_json_get_fail(&p.object, p.key, "%s", text);
}

static bool is_off(const json_t *value) {
  if (value == NULL || json_is_null(value) || json_is_false(value)) return true;
  if (json_is_integer(value)) return json_integer_value(value) == 0 || json_integer_value(value) == 1;
  if (json_is_string(value)) return json_string_length(value) == 0;
  return (json_is_array(value) && json_array_size(value) == 0) ||
         (json_is_object(value) && json_object_size(value) == 0);
}

enum sl_status sl_settings_refuse(const struct sl_settings *s, const struct sl_setting_refused *list) {
  for (; list->path != NULL; list++)
    if (!is_off(sl_settings_value(s, list->path))) return sl_settings_fail(s, list->path, "%s", list->expected);
  return SL_OK;
}

/* ---- whose key it is ---- */

void sl_settings_tie(const struct sl_settings *s, const struct sl_setting_tie *ties, json_t *names) {
  for (; ties->key != NULL; ties++) {
    char path[PATH_BYTES], where[PATH_BYTES + 64];
    const json_t *value = find(s, ties->paths, path);
    if (value == NULL || json_object_get(names, ties->key) != NULL) continue;
    sl_json_where(s->doc, path, where, sizeof where);
    json_object_set_new(names, ties->key, json_pack("{s:s, s:s}", "where", where, "word", path));
  }
}

/* ---- keys that nothing has read ---- */

struct account {
  const struct sl_settings *settings;
  const struct sl_setting_names *names;
  bool strict;
  struct sl_listing rest;
};

static bool is_among(const char *const *list, const char *path) {
  for (; *list != NULL; list++) {
    const size_t length = strlen(*list);
    const bool all_below = (*list)[length - 1] == '*';
    if (all_below ? strncmp(path, *list, length - 1) == 0 : strcmp(path, *list) == 0) return true;
  }
  return false;
}

/* Where the last key of a path begins. */
static size_t parent_length(const char *path) {
  const char *dot = strrchr(path, '.');
  return dot != NULL ? (size_t)(dot - path) + 1 : 0;
}

enum { MOST_NAMES = 512 };

/* Appends the names of a list: all, or the last keys of those with the same parent as `path`. */
static void gather(const char *const *list, const char *path, bool siblings, const char *names[MOST_NAMES],
                   size_t *count) {
  const size_t parent = parent_length(path);
  for (; *list != NULL && *count < MOST_NAMES; list++) {
    const size_t length = strlen(*list);
    const bool beside = parent_length(*list) == parent && strncmp(*list, path, parent) == 0;
    if ((*list)[length - 1] == '*' || (siblings && !beside)) continue;
    names[(*count)++] = *list + (siblings ? parent : 0);
  }
}

/* The path that was meant: of the same section one that is near, else one that is misspelt for certain; none if it is
 * given, too. */
static bool find_meant(const struct account *a, const char *path, char out[PATH_BYTES]) {
  const char *names[MOST_NAMES];
  const size_t parent = parent_length(path);
  for (int siblings = 1; siblings >= 0; siblings--) {
    size_t count = 0;
    gather(a->names->known, path, siblings, names, &count);
    gather(a->names->beside, path, siblings, names, &count);
    const char *near = siblings ? sl_nearest(path + parent, names, count) : sl_misspelt(path, names, count);
    if (near == NULL) continue;
    snprintf(out, PATH_BYTES, "%.*s%s", siblings ? (int)parent : 0, path, near);
    return sl_json_at(a->settings->doc->root, out) == NULL;
  }
  return false;
}

static enum sl_status check_name(struct account *a, const char *path) {
  char meant[PATH_BYTES];
  if (is_among(a->names->known, path) || is_among(a->names->beside, path)) return SL_OK;
  const bool found = find_meant(a, path, meant);
  if (!found && !a->strict) return SL_OK;
  return sl_json_fail(a->settings->doc, path, "is no key of %s's%s%s%s", a->names->framework,
                      found ? "; did you mean " : "", found ? meant : "", found ? "?" : "");
}

static enum sl_status add_rest(struct account *a, const char *path) {
  if (json_object_get(a->settings->used, path) == NULL && !is_among(a->names->beside, path))
    sl_listing_add(&a->rest, path);
  return SL_OK;
}

/* Calls `look` for every setting of the file. What is below a section that was requested as a whole is used with it. */
static enum sl_status walk(struct account *a, const json_t *object, const char *before,
                           enum sl_status (*look)(struct account *a, const char *path)) {
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)object, key, value) {
    char path[PATH_BYTES];
    const int n = snprintf(path, sizeof path, "%s%s%s", before, before[0] != '\0' ? "." : "", key);
    if (n < 0 || (size_t)n >= sizeof path || json_is_null(value)) continue;
    SL_TRY(json_is_object(value) ? walk(a, value, path, look) : look(a, path));
  }
  return SL_OK;
}

enum sl_status sl_settings_check_names(const struct sl_settings *s, const struct sl_setting_names *names, bool strict) {
  struct account a = {.settings = s, .names = names, .strict = strict};
  return walk(&a, s->doc->root, "", check_name);
}

void sl_settings_name_rest(const struct sl_settings *s, const struct sl_setting_names *names) {
  struct account a = {.settings = s, .names = names, .rest.separator = " "};
  walk(&a, s->doc->root, "", add_rest);
  const char *rest = sl_listing_end(&a.rest);
  if (rest != NULL) sl_warn("%.256s: no counterpart, so without effect: %s", s->doc->name, rest);
}
