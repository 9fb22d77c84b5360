/* The generator itself, inline, in a form that compilers vectorise over blocks; and dropout's view of it: which
 * elements are kept. For the host kernels only. */
#ifndef SL_KERNELS_PHILOX_INLINE_H
#define SL_KERNELS_PHILOX_INLINE_H

#include "kernels/real.h"
#include "kernels/types.h"

#include <string.h>

#define SL_PHILOX_M0 0xD2511F53u
#define SL_PHILOX_M1 0xCD9E8D57u
#define SL_PHILOX_W0 0x9E3779B9u
#define SL_PHILOX_W1 0xBB67AE85u

/* Words are made in chunks of this many elements: small enough for the first-level cache, long enough for vectors. */
#define SL_PHILOX_CHUNK ((size_t)512)

static inline __attribute__((always_inline)) void sl_philox_rounds(uint32_t c[4], uint32_t k0, uint32_t k1) {
#pragma GCC unroll 10
  for (int round = 0; round < 10; round++) {
    uint64_t p0 = (uint64_t)SL_PHILOX_M0 * c[0], p1 = (uint64_t)SL_PHILOX_M1 * c[2];
    c[0] = (uint32_t)(p1 >> 32) ^ c[1] ^ k0;
    c[1] = (uint32_t)p1;
    c[2] = (uint32_t)(p0 >> 32) ^ c[3] ^ k1;
    c[3] = (uint32_t)p0;
    k0 += SL_PHILOX_W0;
    k1 += SL_PHILOX_W1;
  }
}

/* out (4 * n words): blocks [block, block + n). */
static inline void sl_philox_blocks(uint32_t *restrict out, const struct sl_philox_key *key, uint64_t block, size_t n) {
  const uint32_t k0 = key->seed, k1 = key->stream, step = key->step, tensor = key->tensor;
#pragma omp simd
  for (size_t i = 0; i < n; i++) {
    uint64_t index = block + i;
    uint32_t c[4] = {(uint32_t)index, (uint32_t)(index >> 32), step, tensor};
    sl_philox_rounds(c, k0, k1);
    out[4 * i] = c[0];
    out[4 * i + 1] = c[1];
    out[4 * i + 2] = c[2];
    out[4 * i + 3] = c[3];
  }
}

/* Room for a chunk whose first element is not a multiple of 4. */
struct sl_philox_chunk {
  uint32_t words[SL_PHILOX_CHUNK + 64];
};

/* Fill `chunk` with the words of elements [first, first + n), n <= SL_PHILOX_CHUNK, and return the first one's address.
 * The count of blocks is rounded up to whole vectors: the surplus costs less than a scalar tail. */
static inline const uint32_t *sl_philox_chunk_fill(struct sl_philox_chunk *chunk, const struct sl_philox_key *key,
                                                   uint64_t first, size_t n) {
  size_t skip = first % 4, blocks = (skip + n + 3) / 4;
  size_t whole = (blocks + 15) / 16 * 16 * 4 <= sizeof chunk->words / 4 ? (blocks + 15) / 16 * 16 : blocks;
  sl_philox_blocks(chunk->words, key, first / 4, whole);
  return chunk->words + skip;
}

/* What a kernel needs of a struct sl_dropout: word >> 8 >= threshold keeps the element. */
struct sl_mask {
  int on;
  uint32_t threshold;
  sl_real scale;
};

static inline struct sl_mask sl_mask_of(const struct sl_dropout *dropout) {
  struct sl_mask m = {0, 0, 1};
  if (!dropout || dropout->p <= 0) return m;
  m.on = 1;
  double level = (double)dropout->p * 0x1p24; /* u < p drops: the smallest kept 24-bit number is ceil(p * 2^24) */
  m.threshold = (uint32_t)level;
  if (m.threshold < level) m.threshold++;
  m.scale = dropout->p >= 1 ? 0 : (sl_real)(1.0 / (1.0 - (double)dropout->p));
  return m;
}

/* out[i] = in[i] kept and scaled, for the n elements from global element `first`. out may be in. */
static inline void sl_mask_apply(sl_real *out, const sl_real *in, struct sl_mask mask, const struct sl_philox_key *key,
                                 uint64_t first, size_t n) {
  struct sl_philox_chunk chunk;
  for (size_t i0 = 0; i0 < n; i0 += SL_PHILOX_CHUNK) {
    size_t m = n - i0 < SL_PHILOX_CHUNK ? n - i0 : SL_PHILOX_CHUNK;
    const uint32_t *words = sl_philox_chunk_fill(&chunk, key, first + i0, m);
#pragma omp simd
    for (size_t i = 0; i < m; i++) out[i0 + i] = words[i] >> 8 >= mask.threshold ? in[i0 + i] * mask.scale : 0;
  }
}

#endif
