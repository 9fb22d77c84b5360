/* Block quantisation (ZeRO++, arXiv:2306.10209, section 3): numbers are sent in 8 or 4 bits each, with one scale per
 * block.
 *
 * A piece is n numbers, packed into `stride` bytes: a float scale for each block of `block` numbers (the last may be
 * shorter), then the codes in the order of the numbers, 8 bits each, or 4 bits with the even-numbered code in the low
 * half of a byte, then zeros up to a multiple of 4 bytes. Codes are symmetric, as in DeepSpeed: with m the largest |x|
 * of a block and h = 2^(bits - 1),
 *   scale = m / h,  code = round(x / scale) in [-h, h - 1],  x' = code scale
 * so |x' - x| is at most scale / 2, except at +m, where it is scale. A block of zeros has scale 1, as has a block whose
 * scale has no finite reciprocal; the numbers of both become zeros. A block with a number that is not finite has scale
 * NaN, and all its numbers become NaN. */
#ifndef SL_KERNELS_QUANTIZE_H
#define SL_KERNELS_QUANTIZE_H

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

SL_KERNELS_BEGIN

/* Packs x (pieces, n) into `out`. Piece k * (pieces / turn) + j of x, j < pieces / turn, becomes piece j * turn + k of
 * out; turn = 1 keeps the order. */
void SL_K(sl_quantize)(void *out, const sl_store *x, const struct sl_quantized *shape, size_t pieces, size_t turn);

/* Unpacks `pieces` pieces into out (pieces, n). */
void SL_K(sl_quantize_back)(sl_store *out, const void *x, const struct sl_quantized *shape, size_t pieces);

/* out (n) = (accumulate: +=) the sum of the packed pieces, added in their order in float and rounded once. */
void SL_K(sl_quantize_sum)(sl_store *out, const void *x, const struct sl_quantized *shape, size_t pieces,
                           int accumulate);

/* x holds packed pieces (sources, pieces). Each packed piece of `out` is the sum over the sources, added in float and
 * quantised again. */
void SL_K(sl_quantize_again)(void *out, const void *x, const struct sl_quantized *shape, size_t sources, size_t pieces);

SL_KERNELS_END

#endif
