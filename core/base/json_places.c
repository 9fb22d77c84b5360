/* See json_places.h. */
#include "core/base/json_places.h"

#include <stdio.h>
#include <string.h>

enum { MAX_PATH = 512 };

enum sl_status sl_json_places_add(struct sl_json_places *to, const char *path, int64_t line, int64_t column) {
  struct sl_json *doc = to->doc;
  const size_t length = strlen(path);
  if (length >= MAX_PATH) return SL_OK;
  SL_TRY(sl_grow(&doc->places, &to->place_capacity, doc->place_count + 1, sizeof *doc->places));
  SL_TRY(sl_grow(&doc->paths, &to->paths_capacity, to->paths_used + length + 1, 1));
  memcpy(doc->paths + to->paths_used, path, length + 1);
  doc->places[doc->place_count++] = (struct sl_json_place){.path = to->paths_used, .line = line, .column = column};
  to->paths_used += length + 1;
  return SL_OK;
}

/* A linear search: it is done once per message, whereas sorting would cost time for every file. */
static const struct sl_json_place *find_place(const struct sl_json *doc, const char *path, size_t length) {
  for (size_t i = 0; i < doc->place_count; i++) {
    const char *candidate = doc->paths + doc->places[i].path;
    if (strncmp(candidate, path, length) == 0 && candidate[length] == '\0') return &doc->places[i];
  }
  return NULL;
}

void sl_json_where(const struct sl_json *doc, const char *path, char *out, size_t size) {
  size_t length = strlen(path);
  const struct sl_json_place *place = NULL;
  while (length > 0 && (place = find_place(doc, path, length)) == NULL) {
    do length--;
    while (length > 0 && path[length] != '.' && path[length] != '[');
  }
  const char *name = doc->name != NULL ? doc->name : "?";
  if (place == NULL) {
    snprintf(out, size, "%s", name);
  } else {
    snprintf(out, size, "%s:%lld:%lld", name, (long long)place->line, (long long)place->column);
  }
}
