/* Where the keys of a document stand, filled by whoever reads its text: json_scan.c, and the readers of other languages whose documents are
 * handed on as struct sl_json. */
#pragma once

#include "core/base/json.h"

/* Where the key (or array element) with the path doc->paths + path stands. */
struct sl_json_place {
  size_t path;
  int64_t line, column;
};

struct sl_json_places {
  struct sl_json *doc;
  size_t place_capacity, paths_used, paths_capacity;
};

/* Keep the place of `path`, counted from 1. A path of 512 bytes or more gets none, else nested long keys would take quadratic memory: it then
 * has that of its nearest ancestor. Errors: SL_ERR_MEMORY. */
enum sl_status sl_json_places_add(struct sl_json_places *to, const char *path, int64_t line, int64_t column);
/* "file:line:column" of `path` into `out`: the place of the key, or of the array element. A path that is not in the
 * file (a key that is missing) takes the place of its nearest ancestor, and "file" alone where there is none. */
void sl_json_where(const struct sl_json *doc, const char *path, char *out, size_t size);
