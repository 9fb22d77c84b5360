/* Groups of columns of a matrix: what members of a group have of it, one after another as an all-gather leaves them, and
 * the parts of packed rows, are put together and cut by copying runs of elements. */
#ifndef SL_KERNELS_COLUMNS_H
#define SL_KERNELS_COLUMNS_H

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

SL_KERNELS_BEGIN

/* Copies, in each of `rows` rows, `groups` runs of `width` elements: from x + row x_row + group x_step to out + row
 * out_row + group out_step. */
void SL_K(sl_columns_copy)(sl_store *out, size_t out_row, size_t out_step, const sl_store *x, size_t x_row,
                           size_t x_step, size_t rows, size_t groups, size_t width);

SL_KERNELS_END

#endif
