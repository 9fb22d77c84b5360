/* Block quantisation (ZeRO++, arXiv:2306.10209, section 3): numbers travel as 8 or 4 bits each, with a scale a block.
 *
 * A piece is n numbers, packed into `stride` bytes: a float scale for each block of `block` numbers (the last may be shorter),
 * then the codes, of 8 bits in the order of the numbers, or of 4, the even number in the low half of a byte; behind them zeros
 * to the next multiple of 4 bytes. Codes are symmetric, as DeepSpeed's: with m the largest |x| of a block, h = 2^(bits - 1)
 *   scale = m / h,  code = round(x / scale) in [-h, h - 1],  x' = code scale
 * so |x' - x| is at most scale / 2, but scale at +m. A block of zeros has scale 1; so has one whose scale has no reciprocal, and
 * its numbers become zeros. A block with a number that is not finite has scale NaN: all of it becomes NaN. */
#ifndef SL_KERNELS_QUANTIZE_H
#define SL_KERNELS_QUANTIZE_H

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

SL_KERNELS_BEGIN

/* `out`, packed pieces, from x (pieces, n). Piece k (pieces / turn) + j of x, j < pieces / turn, becomes piece j turn + k:
 * with turn = 1 they keep their order. */
void SL_K(sl_quantize)(void *out, const sl_store *x, const struct sl_quantized *shape, size_t pieces, size_t turn);

/* out (pieces, n) from packed pieces. */
void SL_K(sl_quantize_back)(sl_store *out, const void *x, const struct sl_quantized *shape, size_t pieces);

/* out (n) = the sum of packed pieces, in their order, added in float and rounded once; += with `accumulate`. */
void SL_K(sl_quantize_sum)(sl_store *out, const void *x, const struct sl_quantized *shape, size_t pieces,
                           int accumulate);

/* `out`, packed pieces, each the sum over the sources of x, (sources, pieces) packed, added in float and quantised anew. */
void SL_K(sl_quantize_again)(void *out, const void *x, const struct sl_quantized *shape, size_t sources, size_t pieces);

SL_KERNELS_END

#endif
