/* Reads sections by the table: unknown keys, both spellings of a key, defaults by version, and the list of keys that
 * DeepSpeed knows and shardlab does not model. What values mean in combination is left to config.c and
 * config/check.c. */
#include "core/config/read.h"
#include "core/base/json_get.h"
#include "core/base/json_places.h"
#include "core/base/json_write.h"
#include "core/base/listing.h"
#include "core/base/nearest.h"
#include "core/config/coerce.h"
#include "core/config/convert.h"
#include "core/config/fields.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PATH_SIZE = 512, SECTION_SIZE = 128, MAX_NAMES = 256 };
enum { MOST_UNKNOWN = 64 }; /* of a section: about as many as DeepSpeed has at the top */

int sl_config_version(const char *text) {
  int part[3] = {0, 0, 0};
  for (int i = 0; i < 3; i++) {
    if (!isdigit((unsigned char)*text)) return -1;
    for (; isdigit((unsigned char)*text); text++) {
      part[i] = part[i] * 10 + (*text - '0');
      if (part[i] > 999) return -1;
    }
    if (*text == '\0' || *text == '+') return SL_DEEPSPEED(part[0], part[1], part[2]);
    if (*text != '.') return -1;
    text++;
  }
  return -1;
}

bool sl_config_since(const struct sl_config *config, int major, int minor, int patch) {
  return sl_config_version(config->ds_version) >= SL_DEEPSPEED(major, minor, patch);
}

const json_t *sl_config_at(const struct sl_config *config, const char *path) {
  const json_t *value = sl_json_at(config->doc.root, path);
  return value == NULL || json_is_null(value) || sl_json_equals_text(value, "auto") ? NULL : value;
}

bool sl_config_flag(const struct sl_config *config, const char *path, bool otherwise) {
  const json_t *value = sl_config_at(config, path);
  if (value == NULL) return otherwise;
  return json_is_true(value) || (json_is_number(value) && json_number_value(value) != 0);
}

const char *sl_config_show(const json_t *value, char *out, size_t size) {
  if (json_is_real(value)) {
    snprintf(out, size, "%.15g", json_real_value(value));
    return out;
  }
  char *text = sl_json_text(value, JSON_COMPACT | JSON_ENCODE_ANY);
  if (text != NULL && strlen(text) >= size) {
    snprintf(out, size, "%.*s...", (int)size - 4, text);
  } else {
    snprintf(out, size, "%s", text != NULL ? text : "?");
  }
  free(text);
  return out;
}

/* The object of `section` in the file, NULL if absent; `path` (of `size`) receives its path as written. */
static enum sl_status find_section(const struct sl_config *config, const struct sl_section *section, const json_t **out,
                                   char *path, size_t size) {
  char shown[48];
  *out = NULL;
  const json_t *value = sl_json_at(config->doc.root, section->path);
  snprintf(path, size, "%s", section->path);
  if ((value == NULL || json_is_null(value)) && section->alias_path != NULL) {
    const json_t *other = sl_json_at(config->doc.root, section->alias_path);
    if (other != NULL) snprintf(path, size, "%s", section->alias_path);
    if (other != NULL) value = other;
  }
  if (value == NULL || sl_json_equals_text(value, "auto") || (section->nullable && json_is_null(value))) return SL_OK;
  /* config/check.c handles it */
  if (strcmp(section->path, "zero_optimization") == 0 && json_is_boolean(value)) return SL_OK;
  if (!json_is_object(value))
    return sl_json_fail(&config->doc, path, "is %s; expected an object", sl_config_show(value, shown, sizeof shown));
  *out = value;
  return SL_OK;
}

/* The last part of `path` if the rest is `parent`, else NULL. */
static const char *child_of(const char *path, const char *parent) {
  if (path == NULL || path[0] == '\0') return NULL;
  const char *dot = strrchr(path, '.');
  const size_t n = dot != NULL ? (size_t)(dot - path) : 0;
  if (strlen(parent) != n || strncmp(path, parent, n) != 0) return NULL;
  return dot != NULL ? dot + 1 : path;
}

/* Several sections may have one path: the parameters of one optimizer and of another. */
static size_t add_name(const char **names, size_t n, const char *name) {
  if (name == NULL || n == MAX_NAMES) return n;
  for (size_t i = 0; i < n; i++)
    if (strcmp(names[i], name) == 0) return n;
  names[n] = name;
  return n + 1;
}

/* All keys that `section` knows, each once; `names` has MAX_NAMES entries. */
static size_t known_names(const struct sl_section *section, const char **names) {
  size_t n = 0;
  for (size_t i = 0; i < sl_field_count; i++) {
    if (strcmp(sl_fields[i].section, section->name) != 0) continue;
    n = add_name(names, n, sl_fields[i].key);
    n = add_name(names, n, sl_fields[i].alias);
  }
  for (size_t i = 0; i < sl_section_count; i++) {
    n = add_name(names, n, child_of(sl_sections[i].path, section->path));
    n = add_name(names, n, child_of(sl_sections[i].alias_path, section->path));
  }
  return n;
}

/* "; expected one of ..." as far as it fits. */
static void expect_one_of(const char *const *names, size_t n, char *out, size_t size) {
  size_t used = (size_t)snprintf(out, size, "; expected one of");
  for (size_t i = 0; i < n; i++) {
    if (used + strlen(names[i]) + 8 > size) {
      snprintf(out + used, size - used, " ...");
      return;
    }
    used += (size_t)snprintf(out + used, size - used, " %s%s", names[i], i + 1 < n ? "," : "");
  }
}

/* The keys of one section of which nothing is known. */
struct unknown {
  size_t count;
  char first[PATH_SIZE]; /* its path */
  const char *key;       /* its last part */
};

static bool is_known(const struct sl_section *section, const char *key, const json_t *value, const char *const *names,
                     size_t n) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(names[i], key) == 0) return true;
  return section->model && sl_json_equals_text(value, "auto");
}

static enum sl_status fail_unknown(const struct sl_reader *reader, const struct sl_section *section,
                                   const struct unknown *unknown, const char *const *names, size_t n) {
  char expected[256], before[96] = "";
  const char *near = sl_nearest(unknown->key, names, n);
  if (section->since > 0)
    snprintf(before, sizeof before, "; DeepSpeed before %d.%d.%d ignores it (shardlab.ds_version)",
             section->since / 1000000, section->since / 1000 % 1000, section->since % 1000);
  if (near != NULL)
    return sl_json_fail(&reader->config->doc, unknown->first, "unknown key; did you mean \"%s\"?%s", near, before);
  expect_one_of(names, n, expected, sizeof expected);
  return sl_json_fail(&reader->config->doc, unknown->first, "unknown key%s%s", expected, before);
}

/* One warning for all of them, from the place of the first on. */
static void warn_unknown(const struct sl_reader *reader, const struct sl_section *section, const json_t *object,
                         const struct unknown *unknown, const char *const *names, size_t n) {
  struct sl_listing listing = {.separator = ", "};
  const int above = (int)(strlen(unknown->first) - strlen(unknown->key)); /* the section's part of the path */
  char name[1600], where[1024], expected[256] = "", entry[512];
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)object, key, value) {
    if (is_known(section, key, value, names, n)) continue;
    const char *near = sl_nearest(key, names, n);
    if (near == NULL) expect_one_of(names, n, expected, sizeof expected);
    snprintf(entry, sizeof entry, near != NULL ? "%.*s%.200s (did you mean \"%s\"?)" : "%.*s%.200s", above,
             unknown->first, key, near);
    sl_listing_add(&listing, entry);
  }
  sl_json_name(&reader->config->doc, unknown->first, name, sizeof name);
  sl_json_where(&reader->config->doc, unknown->first, where, sizeof where);
  const char *near = sl_nearest(unknown->key, names, n);
  if (unknown->count > 1)
    sl_warn("%s: unknown keys, ignored as DeepSpeed ignores them: %s%s", where, sl_listing_end(&listing), expected);
  else if (near != NULL)
    sl_warn("%s: unknown key, ignored as DeepSpeed ignores it; did you mean \"%s\"?", name, near);
  else
    sl_warn("%s: unknown key, ignored as DeepSpeed ignores it%s", name, expected);
}

static enum sl_status check_keys(const struct sl_reader *reader, const struct sl_section *section, const json_t *object,
                                 const char *at) {
  const char *names[MAX_NAMES], *key;
  struct unknown unknown = {.count = 0};
  json_t *value;
  const size_t n = known_names(section, names);
  json_object_foreach((json_t *)object, key, value) {
    if (is_known(section, key, value, names, n) || unknown.count++ > 0) continue;
    unknown.key = key;
    snprintf(unknown.first, sizeof unknown.first, "%s%s%s", at, at[0] != '\0' ? "." : "", key);
  }
  if (unknown.count == 0) return SL_OK;
  if (unknown.count > MOST_UNKNOWN)
    return sl_json_fail(&reader->config->doc, unknown.first,
                        "the first of %zu unknown keys; expected a ds_config.json, which this is not", unknown.count);
  if ((section->strict && reader->version >= section->since) || (reader->strict && section->name[0] == '\0'))
    return fail_unknown(reader, section, &unknown, names, n);
  warn_unknown(reader, section, object, &unknown, names, n);
  return SL_OK;
}

/* Fails with the message for a value that its row refuses. */
static enum sl_status refuse(const struct sl_reader *reader, const struct sl_field *field, const char *path,
                             const json_t *value, enum sl_converted fault) {
  char shown[48], expectation[128], text[256];
  sl_config_show(value, shown, sizeof shown);
  sl_config_expectation(field, expectation, sizeof expectation);
  if (fault == SL_WRONG_TYPE || field->complaint == NULL)
    return sl_json_fail(&reader->config->doc, path, "is %s; expected %s", shown, expectation);
  const char *mark = strchr(field->complaint, '@');
  if (mark == NULL) return sl_json_fail(&reader->config->doc, path, "%s; is %s", field->complaint, shown);
  snprintf(text, sizeof text, "%.*s%s%s", (int)(mark - field->complaint), field->complaint, shown, mark + 1);
  return sl_json_fail(&reader->config->doc, path, "%s", text);
}

static const char *default_text(const struct sl_reader *reader, const struct sl_field *field) {
  return field->old_value != NULL && reader->version < field->since ? field->old_value : field->value;
}

/* `given`: the value in the file that stands for the default, NULL or "auto". */
static enum sl_status store_default(const struct sl_reader *reader, const struct sl_field *field, const char *path,
                                    const json_t *given) {
  char expectation[128];
  json_t *value = json_loads(default_text(reader, field), JSON_DECODE_ANY, NULL);
  if (value == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory in the default of %s", path);
  const enum sl_converted done = sl_config_convert(field, value, (char *)reader->config + field->offset);
  json_decref(value);
  if (done == SL_CONVERTED) return SL_OK;
  return sl_json_fail(&reader->config->doc, path, "%s; expected %s",
                      given != NULL ? "is \"auto\" and has no default" : "missing",
                      sl_config_expectation(field, expectation, sizeof expectation));
}

static enum sl_status store_given(const struct sl_reader *reader, const struct sl_field *field, const char *path,
                                  const json_t *value) {
  char shown[48], name[1600];
  struct sl_field asked = *field;
  if (reader->version < field->asked_since) {
    asked.ranged = false;
    if (asked.type == SL_FIELD_WHOLE) asked.type = SL_FIELD_REAL;
  }
  const enum sl_converted done = sl_config_convert(&asked, value, (char *)reader->config + field->offset);
  if (done == SL_CONVERTED) return SL_OK;
  if (done != SL_WRONG_VALUE || !field->soft) return refuse(reader, field, path, value, done);
  sl_json_name(&reader->config->doc, path, name, sizeof name);
  sl_warn("%s: Using unknown %s: %s. The default %s applies", name, field->key,
          sl_config_show(value, shown, sizeof shown), field->value);
  return store_default(reader, field, path, NULL);
}

static bool same_value(const json_t *a, const json_t *b) {
  if (json_is_number(a) && json_is_number(b)) return json_number_value(a) == json_number_value(b);
  if (json_is_string(a) && json_is_string(b)) return strcasecmp(json_string_value(a), json_string_value(b)) == 0;
  return json_equal(a, b) != 0;
}

/* A section that is not enabled has no effect, whatever else it says. */
static bool switched_off(const struct sl_field *field, const json_t *object) {
  if (strcmp(field->key, "enabled") == 0) return false;
  for (size_t i = 0; i < sl_field_count; i++) {
    if (strcmp(sl_fields[i].section, field->section) != 0 || strcmp(sl_fields[i].key, "enabled") != 0) continue;
    const json_t *enabled = json_object_get(object, "enabled");
    if (enabled == NULL || sl_json_equals_text(enabled, "auto")) return strcmp(sl_fields[i].value, "false") == 0;
    return json_is_false(enabled) || (json_is_number(enabled) && json_number_value(enabled) == 0);
  }
  return false;
}

/* A key without target: checked where DeepSpeed checks it or where the row has a range, and recorded if it is not the
 * default. */
static enum sl_status note_unmodelled(struct sl_reader *reader, const struct sl_field *field, bool strict,
                                      const json_t *object, const char *path, const json_t *value) {
  if (strict || field->ranged || field->checked) {
    const enum sl_converted done = sl_config_convert(field, value, NULL);
    if (done != SL_CONVERTED) return refuse(reader, field, path, value, done);
  }
  json_t *usual = json_loads(default_text(reader, field), JSON_DECODE_ANY, NULL);
  if (usual == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory in the default of %s", path);
  const bool same = same_value(value, usual);
  json_decref(usual);
  if (same || field->soft || switched_off(field, object)) return SL_OK;
  const size_t need = reader->unmodelled_length + strlen(path) + 3;
  SL_TRY(sl_grow(&reader->unmodelled, &reader->unmodelled_capacity, need, 1));
  reader->unmodelled_length += (size_t)sprintf(reader->unmodelled + reader->unmodelled_length, "%s%s",
                                               reader->unmodelled_length > 0 ? ", " : "", path);
  return SL_OK;
}

/* Converts `value` as DeepSpeed's model does and puts the result in its place in the document; borrowed. */
static const json_t *coerce(const struct sl_section *section, const struct sl_field *field, const json_t *object,
                            const char *key, const json_t *value) {
  json_t *made = section->model ? sl_config_coerce(field, value) : NULL;
  if (made == NULL || json_object_set_new((json_t *)object, key, made) != 0) return value;
  return made;
}

static enum sl_status read_field(struct sl_reader *reader, const struct sl_section *section,
                                 const struct sl_field *field, const json_t *object, const char *at) {
  char path[PATH_SIZE];
  const json_t *value = json_object_get(object, field->key);
  const json_t *other = field->alias != NULL ? json_object_get(object, field->alias) : NULL;
  const char *key = value == NULL && other != NULL ? field->alias : field->key;
  snprintf(path, sizeof path, "%s%s%s", at, at[0] != '\0' ? "." : "", key);
  if (value != NULL && other != NULL)
    return sl_json_fail(&reader->config->doc, path, "given twice, also as \"%s\"; expected one of the two",
                        field->alias);
  if (value == NULL) value = other;
  if (value == NULL || sl_json_equals_text(value, "auto"))
    return field->modelled ? store_default(reader, field, path, value) : SL_OK;
  value = coerce(section, field, object, key, value);
  if (field->modelled) return store_given(reader, field, path, value);
  return note_unmodelled(reader, field, section->strict, object, path, value);
}

enum sl_status sl_config_read_section(struct sl_reader *reader, const char *name) {
  size_t i = 0;
  const json_t *object;
  char at[SECTION_SIZE];
  while (i < sl_section_count && strcmp(sl_sections[i].name, name) != 0) i++;
  if (i == sl_section_count) return sl_fail(SL_ERR_INTERNAL, "no section \"%s\" in the table of keys", name);
  const struct sl_section *section = &sl_sections[i];
  SL_TRY(find_section(reader->config, section, &object, at, sizeof at));
  if (object != NULL) SL_TRY(check_keys(reader, section, object, at));
  for (i = 0; i < sl_field_count; i++) {
    if (strcmp(sl_fields[i].section, name) == 0) SL_TRY(read_field(reader, section, &sl_fields[i], object, at));
  }
  return SL_OK;
}
