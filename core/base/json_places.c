/* See json_places.h. */
#include "core/base/json_places.h"

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
