/* Tokens and their positions in a sequence of which a part is here; shared by host and GPU. */
#pragma once

#include "kernels/numbers/types.h"

#ifdef __CUDACC__
#define SL_BOTH __host__ __device__
#elif !defined(SL_BOTH)
#define SL_BOTH
#endif

/* The position of token t of those that are here. */
SL_BOTH static inline size_t sl_position(const struct sl_token_places *at, size_t t) {
  return at->chunk == 0 ? t : t < at->chunk ? at->first[0] + t : at->first[1] + t - at->chunk;
}

/* The other way round: which of the T tokens that are here is at `position`; T: none. */
SL_BOTH static inline size_t sl_token(const struct sl_token_places *at, size_t position, size_t T) {
  const size_t front = at->chunk == 0 ? T : at->chunk, first = at->chunk == 0 ? 0 : at->first[0];
  if (position >= first && position - first < front) return position - first;
  return at->chunk > 0 && position >= at->first[1] && position - at->first[1] < T - front
             ? front + position - at->first[1]
             : T;
}
