/* A cache of results by key: a hash table with open addressing, whose keys are a few integers. */
#pragma once

#include "core/base/status.h"

#include <stdint.h>

enum { SL_FAST_KEY = 6 };

struct sl_fast_key {
  int64_t of[SL_FAST_KEY];
};

struct sl_fast_slot {
  struct sl_fast_key key;
  void *value; /* NULL: an unused slot */
};

/* A zeroed struct is an empty map. The caller owns the values. */
struct sl_fast_map {
  struct sl_fast_slot *slots; /* (capacity), a power of two; owned */
  size_t count, capacity;
};

/* Returns NULL if the key is absent. */
void *sl_fast_map_find(const struct sl_fast_map *map, const struct sl_fast_key *key);
/* `key` must be absent, and `value` not NULL. Errors: SL_ERR_MEMORY. */
enum sl_status sl_fast_map_add(struct sl_fast_map *map, const struct sl_fast_key *key, void *value);
/* Empties the map and calls `release` on every value. */
void sl_fast_map_clear(struct sl_fast_map *map, void (*release)(void *value));
