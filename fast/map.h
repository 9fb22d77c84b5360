/* What is known already, by what it hangs on: open addressing over keys of a few numbers. */
#pragma once

#include "core/base/status.h"

#include <stdint.h>

enum { SL_FAST_KEY = 6 };

struct sl_fast_key {
  int64_t of[SL_FAST_KEY];
};

struct sl_fast_slot {
  struct sl_fast_key key;
  void *value; /* NULL: a free place */
};

/* Zero is an empty one. Values are the caller's. */
struct sl_fast_map {
  struct sl_fast_slot *slots; /* a power of two of them; owned */
  size_t count, capacity;
};

/* NULL: not there. */
void *sl_fast_map_find(const struct sl_fast_map *map, const struct sl_fast_key *key);
/* `key` is not there yet, `value` not NULL. Errors: SL_ERR_MEMORY. */
enum sl_status sl_fast_map_add(struct sl_fast_map *map, const struct sl_fast_key *key, void *value);
/* Empty it; `release` gets every value. */
void sl_fast_map_clear(struct sl_fast_map *map, void (*release)(void *value));
