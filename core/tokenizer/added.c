/* Added tokens; see added.h. */
#include "core/tokenizer/added.h"

#include <string.h>

enum sl_status sl_added_put(struct sl_added *a, const char *token, size_t bytes, uint32_t id) {
  if (bytes == 0) return SL_OK;
  if (bytes > a->longest) a->longest = bytes;
  a->begins[(unsigned char)token[0]] = true;
  return sl_token_map_put(&a->words, token, bytes, id);
}

/* The longest token at text[at]; 0: none begins there. */
static size_t match(const struct sl_added *a, const char *text, size_t size, size_t at, uint32_t *id) {
  size_t bytes = size - at < a->longest ? size - at : a->longest;
  for (; bytes > 0; bytes--) {
    const int64_t found = sl_token_map_find(&a->words, text + at, bytes);
    if (found < 0) continue;
    *id = (uint32_t)found;
    break;
  }
  return bytes;
}

bool sl_added_next(const struct sl_added *a, const char *text, size_t size, size_t from, size_t *begin, size_t *end,
                   uint32_t *id) {
  for (size_t at = from; a->words.count > 0 && at < size; at++) {
    const size_t bytes = a->begins[(unsigned char)text[at]] ? match(a, text, size, at, id) : 0;
    if (bytes == 0) continue;
    *begin = at;
    *end = at + bytes;
    return true;
  }
  return false;
}
