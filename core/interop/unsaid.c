/* See unsaid.h. */
#include "core/interop/unsaid.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

bool sl_interop_among(const char *const *list, const char *path) {
  while (*list != NULL && strcmp(*list, path) != 0) list++;
  return *list != NULL;
}

static void walk(const json_t *given, const char *before, sl_interop_said is_said, const void *context,
                 json_t *unsaid) {
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)given, key, value) {
    char path[256];
    const int n = snprintf(path, sizeof path, "%s%s%s", before, before[0] != '\0' ? "." : "", key);
    if (n < 0 || (size_t)n >= sizeof path) continue;
    if (json_is_object(value))
      walk(value, path, is_said, context, unsaid);
    else if (!is_said(context, path, value))
      json_array_append_new(unsaid, json_string(path));
  }
}

void sl_interop_unsaid(const json_t *given, sl_interop_said is_said, const void *context, json_t *unsaid) {
  walk(given, "", is_said, context, unsaid);
}
