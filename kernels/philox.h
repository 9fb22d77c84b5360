/* Counter-based random numbers: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11).
 *
 * Element e of a tensor takes word e % 4 of the block with key (seed, stream) and counter (low and high half of e / 4,
 * step, tensor). e is the element's index in the whole logical tensor, so every partition draws the same numbers. */
#pragma once

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

SL_KERNELS_BEGIN

/* One block: out[4] from counter[4] and key[2]. */
void sl_philox_block(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

/* The 32-bit words of elements [first_element, first_element + n). */
void sl_philox_words(uint32_t *out, const struct sl_philox_key *key, uint64_t first_element, size_t n);

/* out[i] = low + (high - low) * u, u = (word >> 8) * 2^-24 in [0, 1). */
void sl_philox_uniform(float *out, const struct sl_philox_key *key, uint64_t first_element, size_t n, float low,
                       float high);

/* Normal numbers by Box-Muller in double, rounded to float: the words (a, b) of elements 2k and 2k+1 give
 * sqrt(-2 ln((a+1) 2^-32)) times the cosine and the sine of 2 pi b 2^-32. */
void sl_philox_normal(float *out, const struct sl_philox_key *key, uint64_t first_element, size_t n, float mean,
                      float std);

SL_KERNELS_END
