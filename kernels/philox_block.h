/* One Philox block and one dropout decision in plain scalar code, shared by host and GPU. kernels/philox.h says what is
 * computed; kernels/philox_inline.h has the form that a CPU vectorises. */
#pragma once

#include "kernels/numbers/types.h"

#include <stdint.h>

#ifdef __CUDACC__
#define SL_BOTH __host__ __device__
#else
#define SL_BOTH
#endif

/* The four words of elements 4 * block to 4 * block + 3. */
SL_BOTH static inline void sl_philox_four(uint32_t out[4], const struct sl_philox_key *key, uint64_t block) {
  uint32_t c0 = (uint32_t)block, c1 = (uint32_t)(block >> 32), c2 = key->step, c3 = key->tensor;
  uint32_t k0 = key->seed, k1 = key->stream;
  for (int round = 0; round < 10; round++) {
    const uint64_t p0 = (uint64_t)c0 * 0xD2511F53u, p1 = (uint64_t)c2 * 0xCD9E8D57u;
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)p1;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

/* An element is kept where word >> 8 >= this: u = (word >> 8) * 2^-24 < p drops, so it is ceil(p * 2^24). */
SL_BOTH static inline uint32_t sl_philox_threshold(float p) {
  const double level = (double)p * 16777216.0;
  const uint32_t whole = (uint32_t)level;
  return whole < level ? whole + 1 : whole;
}

/* The factor of a kept element, 1/(1-p). */
SL_BOTH static inline double sl_philox_keep_scale(float p) {
  return p >= 1 ? 0 : 1.0 / (1.0 - (double)p);
}
