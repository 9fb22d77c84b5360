/* A map from bytes to numbers: tokens to ids. */
#pragma once

#include "core/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct sl_token_map_item {
  size_t at; /* in `text` */
  uint32_t bytes, id;
};

struct sl_token_map {
  char *text;
  size_t text_size, text_capacity;
  struct sl_token_map_item *items;
  size_t count, capacity;
  uint32_t *slots; /* number of an item, plus 1; 0: free. Open addressing, a power of two of them */
  size_t slot_count;
};

/* FNV-1a; the same on every machine and in every run. */
uint64_t sl_token_map_hash(const char *bytes, size_t size);
/* Maps these bytes to `id`, replacing any earlier mapping. Errors: SL_ERR_MEMORY. */
enum sl_status sl_token_map_put(struct sl_token_map *words, const char *bytes, size_t size, uint32_t id);
/* The id of these bytes; -1: none. */
int64_t sl_token_map_find(const struct sl_token_map *words, const char *bytes, size_t size);
void sl_token_map_free(struct sl_token_map *words);
