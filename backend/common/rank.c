/* See rank.h. */
#include "backend/common/rank.h"

enum sl_status sl_rank_bytes(const struct sl_class *c, char *const *arena, int32_t buffer, int64_t offset,
                             int64_t bytes, char **at) {
  const struct sl_buffer *b = &c->buffers[buffer];
  if (offset < 0 || bytes < 0 || offset + bytes > b->bytes)
    return sl_fail(SL_ERR_INTERNAL, "bytes %lld .. +%lld of buffer %s, which has %lld", (long long)offset,
                   (long long)bytes, b->name, (long long)b->bytes);
  *at = arena[b->space] + c->slot_offsets[b->first_slot] + offset;
  return SL_OK;
}
