/* A whole file as read-only memory. */
#pragma once

#include "core/base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct sl_map {
  const unsigned char *bytes;
  size_t size;
  bool owned; /* false: the memory is the caller's, sl_map_close only forgets it */
};

/* Map the regular file `path`. An empty file gives size 0 and bytes that must not be read.
 * Errors: SL_ERR_INPUT with the path and the system's reason. On failure nothing is held. */
enum sl_status sl_map_open(struct sl_map *map, const char *path);
/* Stand `bytes[0..size)` in for a file; it stays the caller's and must outlive the map. */
void sl_map_borrow(struct sl_map *map, const void *bytes, size_t size);
void sl_map_close(struct sl_map *map);
