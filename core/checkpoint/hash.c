/* See hash.h. The library is used header-only, so that programs need no additional library. */
#include "core/checkpoint/hash.h"

#define XXH_INLINE_ALL
#include <inttypes.h>
#include <stdio.h>
#include <xxhash.h>

uint64_t sl_hash_of(const void *bytes, size_t size) {
  return XXH3_64bits(bytes, size);
}

struct sl_hash_text sl_hash_print(uint64_t hash) {
  struct sl_hash_text out;
  snprintf(out.text, sizeof out.text, "%016" PRIx64, hash);
  return out;
}
