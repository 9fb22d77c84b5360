/* The checksum of a checkpoint's bytes: XXH3 of 64 bits (the xxHash library), seed 0. */
#pragma once

#include <stddef.h>
#include <stdint.h>

uint64_t sl_hash_of(const void *bytes, size_t size);
/* As 16 hexadecimal digits and a zero byte. */
struct sl_hash_text {
  char text[17];
};
struct sl_hash_text sl_hash_print(uint64_t hash);
