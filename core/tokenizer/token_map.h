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

/* The same for every machine and run. FNV-1a. */
uint64_t sl_token_map_hash(const char *bytes, size_t size);
/* Map these bytes to `id`, instead of what they were mapped to. Errors: SL_ERR_MEMORY. */
enum sl_status sl_token_map_put(struct sl_token_map *words, const char *bytes, size_t size, uint32_t id);
/* -1: not there. */
int64_t sl_token_map_find(const struct sl_token_map *words, const char *bytes, size_t size);
void sl_token_map_free(struct sl_token_map *words);
