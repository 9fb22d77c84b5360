/* For host kernels: Philox inline, in a form that compilers vectorise over blocks, and the dropout masks made from
 * it. */
#pragma once

#include "kernels/numbers/run.h"
#include "kernels/numbers/types.h"
#include "kernels/philox_block.h"

#include <string.h>

#define SL_PHILOX_M0 0xD2511F53u
#define SL_PHILOX_M1 0xCD9E8D57u
#define SL_PHILOX_W0 0x9E3779B9u
#define SL_PHILOX_W1 0xBB67AE85u

/* Words are made in chunks of this many elements: small enough for the first-level cache, long enough for vectors. */
#define SL_PHILOX_CHUNK ((size_t)512)
_Static_assert(SL_STORE_IS_REAL || SL_PHILOX_CHUNK <= SL_ROOM, "a chunk is opened as one run");

/* Eight blocks are computed side by side. Each 64-bit lane holds one 32-bit word; its upper half may hold leftovers of
 * a product, which are never read: a multiplication masks them, a shift or the final packing drops them. */
#define SL_PHILOX_LANES ((size_t)8)
typedef uint64_t sl_philox_vec __attribute__((vector_size(64)));

/* out: the 4 * SL_PHILOX_LANES words of the blocks from `block` on (little-endian pairs). */
static inline void sl_philox_eight(uint32_t *out, const struct sl_philox_key *key, uint64_t block) {
  const uint64_t low = 0xffffffffu;
  const sl_philox_vec index = (sl_philox_vec){0, 1, 2, 3, 4, 5, 6, 7} + block;
  sl_philox_vec c0 = index, c1 = index >> 32, c2 = (sl_philox_vec){0} + key->step,
                c3 = (sl_philox_vec){0} + key->tensor;
  uint32_t k0 = key->seed, k1 = key->stream;
#pragma GCC unroll 10
  for (int round = 0; round < 10; round++) {
    sl_philox_vec p0 = (c0 & low) * SL_PHILOX_M0, p1 = (c2 & low) * SL_PHILOX_M1;
    c0 = (p1 >> 32) ^ c1 ^ (uint64_t)k0;
    c1 = p1;
    c2 = (p0 >> 32) ^ c3 ^ (uint64_t)k1;
    c3 = p0;
    k0 += SL_PHILOX_W0;
    k1 += SL_PHILOX_W1;
  }
  const sl_philox_vec a = (c0 & low) | c1 << 32, b = (c2 & low) | c3 << 32;
  for (size_t l = 0; l < SL_PHILOX_LANES; l++) {
    uint64_t words[2] = {a[l], b[l]};
    memcpy(out + 4 * l, words, sizeof words);
  }
}

/* Memory for a chunk in whole vectors of blocks, also where its first element is not a multiple of 4. */
struct sl_philox_chunk {
  uint32_t words[SL_PHILOX_CHUNK + 64];
};

/* Fill `chunk` with the words of elements [first, first + n), n <= SL_PHILOX_CHUNK, and return the first one's address.
 * Whole vectors of blocks are computed, because the surplus costs less than a scalar tail. */
static inline const uint32_t *sl_philox_chunk_fill(struct sl_philox_chunk *chunk, const struct sl_philox_key *key,
                                                   uint64_t first, size_t n) {
  size_t skip = first % 4, blocks = (skip + n + 3) / 4;
  for (size_t i = 0; i < blocks; i += SL_PHILOX_LANES) sl_philox_eight(chunk->words + 4 * i, key, first / 4 + i);
  return chunk->words + skip;
}

/* The part of struct sl_dropout that a kernel needs: an element is kept where word >> 8 >= threshold. In a backward
 * pass `stored` points to the mask byte of the caller's first element; NULL means that the mask is drawn again. */
struct sl_mask {
  int on;
  uint32_t threshold;
  sl_real scale;
  const uint8_t *stored;
};

static inline struct sl_mask sl_mask_of(const struct sl_dropout *dropout) {
  struct sl_mask m = {0, 0, 1, NULL};
  if (!dropout || dropout->p <= 0) return m;
  m.on = 1;
  m.threshold = sl_philox_threshold(dropout->p);
  m.scale = (sl_real)sl_philox_keep_scale(dropout->p);
  return m;
}

/* The same for a backward pass, which reads the mask that forward stored, if it did. */
static inline struct sl_mask sl_mask_of_backward(const struct sl_dropout *dropout) {
  struct sl_mask mask = sl_mask_of(dropout);
  if (mask.on) mask.stored = dropout->mask;
  return mask;
}

/* The mask from element `at` on. */
static inline struct sl_mask sl_mask_at(struct sl_mask mask, size_t at) {
  if (mask.stored) mask.stored += at;
  return mask;
}

/* kept[i] = 1 where word i keeps its element, else 0. */
static inline void sl_mask_store(uint8_t *kept, const uint32_t *words, struct sl_mask mask, size_t n) {
#pragma omp simd
  for (size_t i = 0; i < n; i++) kept[i] = words[i] >> 8 >= mask.threshold;
}

/* sl_mask_store for the n elements from global element `first`, generating their words. */
static inline void sl_mask_draw(uint8_t *kept, struct sl_mask mask, const struct sl_philox_key *key, uint64_t first,
                                size_t n) {
  struct sl_philox_chunk chunk;
  for (size_t i0 = 0; i0 < n; i0 += SL_PHILOX_CHUNK) {
    const size_t m = n - i0 < SL_PHILOX_CHUNK ? n - i0 : SL_PHILOX_CHUNK;
    sl_mask_store(kept + i0, sl_philox_chunk_fill(&chunk, key, first + i0, m), mask, m);
  }
}

/* out[i] = dropout(in[i]) for the n elements from global element `first`. out may be in. For scratch memory; use
 * sl_mask_load to read from a tensor. */
static inline void sl_mask_apply(sl_real *out, const sl_real *in, struct sl_mask mask, const struct sl_philox_key *key,
                                 uint64_t first, size_t n) {
  struct sl_philox_chunk chunk;
  if (mask.stored) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) out[i] = mask.stored[i] ? in[i] * mask.scale : 0;
    return;
  }
  for (size_t i0 = 0; i0 < n; i0 += SL_PHILOX_CHUNK) {
    size_t m = n - i0 < SL_PHILOX_CHUNK ? n - i0 : SL_PHILOX_CHUNK;
    const uint32_t *words = sl_philox_chunk_fill(&chunk, key, first + i0, m);
#pragma omp simd
    for (size_t i = 0; i < m; i++) out[i0 + i] = words[i] >> 8 >= mask.threshold ? in[i0 + i] * mask.scale : 0;
  }
}

/* The same, read from a tensor into scratch. */
static inline void sl_mask_load(sl_real *out, const sl_store *in, struct sl_mask mask, const struct sl_philox_key *key,
                                uint64_t first, size_t n) {
  struct sl_philox_chunk chunk;
  sl_room room;
  for (size_t i0 = 0; i0 < n; i0 += SL_PHILOX_CHUNK) {
    size_t m = n - i0 < SL_PHILOX_CHUNK ? n - i0 : SL_PHILOX_CHUNK;
    const sl_real *wide = sl_open(room, in + i0, m);
    if (mask.stored) {
#pragma omp simd
      for (size_t i = 0; i < m; i++) out[i0 + i] = mask.stored[i0 + i] ? wide[i] * mask.scale : 0;
      continue;
    }
    const uint32_t *words = sl_philox_chunk_fill(&chunk, key, first + i0, m);
#pragma omp simd
    for (size_t i = 0; i < m; i++) out[i0 + i] = words[i] >> 8 >= mask.threshold ? wide[i] * mask.scale : 0;
  }
}
