/* See pieces.h. */
#include "core/place/pieces.h"

#include "core/place/live.h"

int64_t sl_pieces_place(struct sl_class *c, enum sl_space space, int64_t at) {
  for (size_t i = 0; i < c->buffer_count; i++) {
    const struct sl_buffer *b = &c->buffers[i];
    if (b->pieces == 0 || b->space != space) continue;
    c->slot_offsets[b->first_slot] = at;
    for (int32_t k = 1; k <= b->pieces; k++) c->slot_offsets[b[k].first_slot] = at + b[k].piece_at;
    at += sl_live_aligned(b->bytes);
  }
  return at;
}

int32_t sl_pieces_find(const struct sl_class *c, int32_t whole, int64_t lo) {
  const struct sl_buffer *pieces = &c->buffers[whole + 1];
  int32_t low = 0, high = c->buffers[whole].pieces;
  while (low < high) {
    const int32_t middle = (low + high) / 2;
    if (pieces[middle].piece_at + pieces[middle].bytes <= lo) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}
