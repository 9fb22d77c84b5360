/* See paths.h. */
#include "core/interop/paths.h"

#include <stdio.h>
#include <string.h>

void sl_interop_put(json_t *root, const char *path, json_t *value) {
  for (const char *dot; (dot = strchr(path, '.')) != NULL; path = dot + 1) {
    char key[64];
    snprintf(key, sizeof key, "%.*s", (int)(dot - path), path);
    if (!json_is_object(json_object_get(root, key))) json_object_set_new(root, key, json_object());
    root = json_object_get(root, key);
  }
  json_object_set_new(root, path, value);
}
