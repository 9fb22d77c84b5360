/* What context parallelism does to keys and values before attention: what an all-gather leaves in the members' order
 * comes into the order of the sequence. */
#ifndef SL_KERNELS_CONTEXT_H
#define SL_KERNELS_CONTEXT_H

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

SL_KERNELS_BEGIN

/* x (P, B, T, C): of each of P members of a cp group its two chunks (core/op/chunks.h) of T / 2 tokens of B sequences;
 * out (B, P * T, C): whole sequences. T is even. direction -1: from out to x. */
void SL_K(sl_context_order)(sl_store *out, const sl_store *x, size_t B, size_t T, size_t C, size_t members,
                            int direction);

SL_KERNELS_END

#endif
