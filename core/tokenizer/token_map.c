/* Bytes to numbers; see token_map.h. */
#include "core/tokenizer/token_map.h"

#include "core/base/hash.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1024 };

uint64_t sl_token_map_hash(const char *bytes, size_t size) {
  const uint64_t hash = sl_hash_bytes(bytes, size);
  return hash ^ hash >> 29;
}

/* The slot of these bytes, or the free one where they belong. */
static uint32_t *slot_of(const struct sl_token_map *w, const char *bytes, size_t size) {
  size_t at = sl_token_map_hash(bytes, size) & (w->slot_count - 1);
  for (; w->slots[at] != 0; at = (at + 1) & (w->slot_count - 1)) {
    const struct sl_token_map_item *word = &w->items[w->slots[at] - 1];
    if (word->bytes == size && memcmp(w->text + word->at, bytes, size) == 0) break;
  }
  return &w->slots[at];
}

static enum sl_status widen(struct sl_token_map *w) {
  uint32_t *before = w->slots;
  const size_t count = w->slot_count > 0 ? 2 * w->slot_count : FIRST_SLOTS;
  SL_TRY(sl_calloc(&w->slots, count, sizeof *w->slots));
  free(before);
  w->slot_count = count;
  for (size_t i = 0; i < w->count; i++) *slot_of(w, w->text + w->items[i].at, w->items[i].bytes) = (uint32_t)i + 1;
  return SL_OK;
}

enum sl_status sl_token_map_put(struct sl_token_map *w, const char *bytes, size_t size, uint32_t id) {
  if (2 * (w->count + 1) > w->slot_count) SL_TRY(widen(w));
  uint32_t *slot = slot_of(w, bytes, size);
  if (*slot != 0) {
    w->items[*slot - 1].id = id;
    return SL_OK;
  }
  SL_TRY(sl_grow(&w->text, &w->text_capacity, w->text_size + size, 1));
  SL_TRY(sl_grow(&w->items, &w->capacity, w->count + 1, sizeof *w->items));
  if (size > 0) memcpy(w->text + w->text_size, bytes, size);
  w->items[w->count++] = (struct sl_token_map_item){.at = w->text_size, .bytes = (uint32_t)size, .id = id};
  w->text_size += size;
  *slot = (uint32_t)w->count;
  return SL_OK;
}

int64_t sl_token_map_find(const struct sl_token_map *w, const char *bytes, size_t size) {
  if (w->slot_count == 0) return -1;
  const uint32_t slot = *slot_of(w, bytes, size);
  return slot != 0 ? (int64_t)w->items[slot - 1].id : -1;
}

void sl_token_map_free(struct sl_token_map *w) {
  free(w->text);
  free(w->items);
  free(w->slots);
  *w = (struct sl_token_map){0};
}
