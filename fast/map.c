/* See map.h. */
#include "fast/map.h"

#include <stdlib.h>
#include <string.h>

static size_t hash(const struct sl_fast_key *k) {
  uint64_t h = 0;
  for (int i = 0; i < SL_FAST_KEY; i++) h = (h ^ (uint64_t)k->of[i]) * 0x9e3779b97f4a7c15u + (h >> 29);
  return (size_t)(h >> 20);
}

static struct sl_fast_slot *slot_of(struct sl_fast_slot *slots, size_t capacity, const struct sl_fast_key *key) {
  size_t i = hash(key) & (capacity - 1);
  while (slots[i].value != NULL && memcmp(&slots[i].key, key, sizeof *key) != 0) i = (i + 1) & (capacity - 1);
  return &slots[i];
}

void *sl_fast_map_find(const struct sl_fast_map *m, const struct sl_fast_key *key) {
  return m->capacity > 0 ? slot_of(m->slots, m->capacity, key)->value : NULL;
}

static enum sl_status grow(struct sl_fast_map *m) {
  const size_t capacity = m->capacity > 0 ? 2 * m->capacity : 256;
  struct sl_fast_slot *bigger;
  SL_TRY(sl_calloc(&bigger, capacity, sizeof *bigger));
  for (size_t i = 0; i < m->capacity; i++)
    if (m->slots[i].value != NULL) *slot_of(bigger, capacity, &m->slots[i].key) = m->slots[i];
  free(m->slots);
  m->slots = bigger;
  m->capacity = capacity;
  return SL_OK;
}

enum sl_status sl_fast_map_add(struct sl_fast_map *m, const struct sl_fast_key *key, void *value) {
  if (2 * (m->count + 1) >= m->capacity) SL_TRY(grow(m));
  *slot_of(m->slots, m->capacity, key) = (struct sl_fast_slot){*key, value};
  m->count++;
  return SL_OK;
}

void sl_fast_map_clear(struct sl_fast_map *m, void (*release)(void *value)) {
  for (size_t i = 0; i < m->capacity; i++)
    if (m->slots[i].value != NULL) release(m->slots[i].value);
  free(m->slots);
  *m = (struct sl_fast_map){0};
}
