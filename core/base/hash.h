/* A hash of bytes for tables in memory: FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/ */
#pragma once

#include <stddef.h>
#include <stdint.h>

static inline uint64_t sl_hash_bytes(const char *bytes, size_t size) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (size_t i = 0; i < size; i++) hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
  return hash;
}
