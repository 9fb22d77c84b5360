/* See cluster/provenance.h. */
#include "core/cluster/provenance.h"

#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 256 };

static const char *const endings[] = {[SL_ANNOTATION_SOURCE] = "_source", [SL_ANNOTATION_STDERR] = "_stderr"};

enum sl_annotation sl_annotation_kind(const char *key, size_t *stem) {
  const size_t length = strlen(key);
  for (int kind = SL_ANNOTATION_SOURCE; kind <= SL_ANNOTATION_STDERR; kind++) {
    const size_t ending = strlen(endings[kind]);
    if (length <= ending || strcmp(key + length - ending, endings[kind]) != 0) continue;
    *stem = length - ending;
    return (enum sl_annotation)kind;
  }
  *stem = length;
  return SL_ANNOTATION_NONE;
}

const char *sl_annotation_source(const json_t *annotations, const char *path) {
  char key[PATH_BYTES];
  snprintf(key, sizeof key, "%s%s", path, endings[SL_ANNOTATION_SOURCE]);
  return json_string_value(json_object_get(annotations, key));
}

double sl_annotation_stderr(const json_t *annotations, const char *path) {
  char key[PATH_BYTES];
  snprintf(key, sizeof key, "%s%s", path, endings[SL_ANNOTATION_STDERR]);
  return json_number_value(json_object_get(annotations, key));
}

void sl_annotation_set(json_t *annotations, const char *path, const char *source, double error) {
  char key[PATH_BYTES];
  snprintf(key, sizeof key, "%s%s", path, endings[SL_ANNOTATION_SOURCE]);
  json_object_set_new(annotations, key, json_string(source));
  snprintf(key, sizeof key, "%s%s", path, endings[SL_ANNOTATION_STDERR]);
  json_object_del(annotations, key);
  if (error >= 0) json_object_set_new(annotations, key, json_real(error));
}

void sl_annotation_default(json_t *annotations, const char *path, const char *source) {
  char key[PATH_BYTES];
  snprintf(key, sizeof key, "%s%s", path, endings[SL_ANNOTATION_SOURCE]);
  if (json_object_get(annotations, key) == NULL) json_object_set_new(annotations, key, json_string(source));
}

void sl_annotation_set_all(json_t *annotations, const char *source) {
  const char *key;
  json_t *value;
  void *next;
  json_object_foreach_safe(annotations, next, key, value) {
    size_t stem;
    if (sl_annotation_kind(key, &stem) == SL_ANNOTATION_SOURCE)
      json_object_set_new(annotations, key, json_string(source));
    else
      json_object_del(annotations, key);
  }
}

json_t *sl_annotation_join(const json_t *annotations, const char *path, json_t *object) {
  json_t *joined = json_object(), *value;
  const char *key;
  json_object_foreach(object, key, value) {
    json_object_set(joined, key, value);
    for (int kind = SL_ANNOTATION_SOURCE; kind <= SL_ANNOTATION_STDERR; kind++) {
      char full[PATH_BYTES];
      snprintf(full, sizeof full, "%s%s%s%s", path, path[0] != '\0' ? "." : "", key, endings[kind]);
      json_t *said = json_object_get(annotations, full);
      if (said == NULL) continue;
      json_object_set_new(joined, full + (path[0] != '\0' ? strlen(path) + 1 : 0), json_deep_copy(said));
    }
  }
  json_decref(object);
  return joined;
}
