/* Philox words, and uniform and normal numbers made from them (kernels/philox.h). */
#include "kernels/philox.h"
#include "kernels/parallel.h"
#include "kernels/philox_inline.h"

#include <math.h>

#define FILL_CHUNK SL_PHILOX_CHUNK

void sl_philox_block(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]) {
  const struct sl_philox_key k = {key[0], key[1], counter[2], counter[3]};
  uint32_t words[4 * SL_PHILOX_LANES];
  sl_philox_eight(words, &k, (uint64_t)counter[1] << 32 | counter[0]);
  memcpy(out, words, 4 * sizeof *out);
}

void sl_philox_words(uint32_t *out, const struct sl_philox_key *key, uint64_t first_element, size_t n) {
#pragma omp parallel for schedule(static) if (n > SL_PARALLEL_MIN)
  for (size_t i0 = 0; i0 < n; i0 += FILL_CHUNK) {
    struct sl_philox_chunk chunk;
    size_t m = n - i0 < FILL_CHUNK ? n - i0 : FILL_CHUNK;
    memcpy(out + i0, sl_philox_chunk_fill(&chunk, key, first_element + i0, m), m * sizeof *out);
  }
}

void sl_philox_uniform(float *out, const struct sl_philox_key *key, uint64_t first_element, size_t n, float low,
                       float high) {
#pragma omp parallel for schedule(static) if (n > SL_PARALLEL_MIN)
  for (size_t i0 = 0; i0 < n; i0 += FILL_CHUNK) {
    struct sl_philox_chunk chunk;
    size_t m = n - i0 < FILL_CHUNK ? n - i0 : FILL_CHUNK;
    const uint32_t *words = sl_philox_chunk_fill(&chunk, key, first_element + i0, m);
#pragma omp simd
    for (size_t i = 0; i < m; i++) out[i0 + i] = low + (high - low) * ((float)(words[i] >> 8) * 0x1p-24f);
  }
}

/* The two normal numbers of a pair of neighbouring words. */
static void normal_pair(double z[2], uint32_t a, uint32_t b) {
  const double tau = 6.283185307179586476925;
  double radius = sqrt(-2.0 * log((a + 1.0) * 0x1p-32));
  double angle = tau * (b * 0x1p-32);
  z[0] = radius * cos(angle);
  z[1] = radius * sin(angle);
}

void sl_philox_normal(float *out, const struct sl_philox_key *key, uint64_t first_element, size_t n, float mean,
                      float std) {
  /* Chunks start at even elements, so that no pair is cut by a chunk; the range itself may cut one at either end. */
  uint64_t begin = first_element & ~(uint64_t)1, end = first_element + n;
#pragma omp parallel for schedule(static) if (n > SL_PARALLEL_MIN)
  for (uint64_t e0 = begin; e0 < end; e0 += FILL_CHUNK) {
    struct sl_philox_chunk chunk;
    const uint32_t *words = sl_philox_chunk_fill(&chunk, key, e0, FILL_CHUNK);
    for (size_t i = 0; i < FILL_CHUNK && e0 + i < end; i += 2) {
      double z[2];
      normal_pair(z, words[i], words[i + 1]);
      for (size_t k = 0; k < 2; k++) {
        uint64_t e = e0 + i + k;
        if (e >= first_element && e < end) out[e - first_element] = (float)(mean + std * z[k]);
      }
    }
  }
}
