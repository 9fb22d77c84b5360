/* The random number streams, the second half of a Philox key (kernels/numbers/types.h). All backends use these, so that
 * they draw the same numbers. */
#pragma once

#include "kernels/numbers/types.h"

enum { SL_STREAM_DATA = 0x64617461, SL_STREAM_INIT = 0x696e6974, SL_STREAM_DROPOUT = 0x64726f70 };

/* All bits of `seed` count: those above 32 are mixed into the stream's name. */
static inline struct sl_philox_key sl_stream_key(int64_t seed, uint32_t stream, uint32_t step, uint32_t tensor) {
  return (struct sl_philox_key){(uint32_t)seed, stream ^ (uint32_t)(seed >> 32), step, tensor};
}
