/* What a cluster.json says about the sources of its numbers, for tests: every object in it that holds numbers of the
 * device or a link. */
#pragma once

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_PARTS = 2 + 4 };

/* The device, its peaks and the links, borrowed; returns how many. */
static inline int cluster_parts(const json_t *cluster, const json_t *parts[MAX_PARTS]) {
  const json_t *device = json_object_get(cluster, "device"), *links = json_object_get(cluster, "links");
  int n = 0;
  assert_in_range(json_array_size(links), 1, 4);
  parts[n++] = device;
  parts[n++] = json_object_get(device, "peak_TFLOPS");
  for (size_t i = 0; i < json_array_size(links); i++) parts[n++] = json_array_get(links, i);
  return n;
}

static inline const json_t *annotation_of(const json_t *part, const char *key, const char *ending) {
  char name[64];
  snprintf(name, sizeof name, "%s_%s", key, ending);
  return json_object_get(part, name);
}

static inline bool is_sourced_number(const char *key, const json_t *value) {
  return json_is_number(value) && strstr(key, "_stderr") == NULL && strcmp(key, "span") != 0;
}

/* Returns the number of numbers. */
static inline int every_number_names_its_source(const json_t *cluster) {
  const json_t *parts[MAX_PARTS];
  int numbers = 0;
  for (int i = cluster_parts(cluster, parts); i-- > 0;) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)parts[i], key, value) {
      if (!is_sourced_number(key, value)) continue;
      numbers++;
      const char *source = json_string_value(annotation_of(parts[i], key, "source"));
      if (source == NULL || source[0] == '\0') fail_msg("%s names no source", key);
      if (strcmp(source, "no source given") == 0) fail_msg("%s: %s", key, source);
    }
  }
  return numbers;
}
