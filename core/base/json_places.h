/* The places of the keys of a document, recorded by the reader of its text: json_scan.c, and readers of other languages
 * that produce a struct sl_json. */
#pragma once

#include "core/base/json.h"

/* The place of the key (or array element) with the path doc->paths + path. */
struct sl_json_place {
  size_t path;
  int64_t line, column;
};

struct sl_json_places {
  struct sl_json *doc;
  size_t place_capacity, paths_used, paths_capacity;
};

/* Records the place of `path`, counted from 1. A path of 512 bytes or more is not recorded, since nested long keys
 * would take quadratic memory; messages then give the place of its nearest ancestor. Errors: SL_ERR_MEMORY. */
enum sl_status sl_json_places_add(struct sl_json_places *to, const char *path, int64_t line, int64_t column);
/* Writes "file:line:column" of `path`, a key or an array element, to `out`. A path that is not in the file (a missing
 * key) gets the place of its nearest ancestor, or "file" alone if it has none. */
void sl_json_where(const struct sl_json *doc, const char *path, char *out, size_t size);
