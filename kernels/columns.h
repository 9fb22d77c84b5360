/* Matrices split by columns over the members of a group. An all-gather leaves the members' pieces one after another;
 * these kernels turn that into a matrix with all columns, and back. */
#ifndef SL_KERNELS_COLUMNS_H
#define SL_KERNELS_COLUMNS_H

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

SL_KERNELS_BEGIN

/* out (rows, members * cols) from x (members, rows, cols): member m's columns are [m cols, (m + 1) cols). */
void SL_K(sl_columns_concat)(sl_store *out, const sl_store *x, size_t rows, size_t cols, size_t members);

/* out (rows, cols) = the columns of `member` in x (rows, members * cols). */
void SL_K(sl_columns_split)(sl_store *out, const sl_store *x, size_t rows, size_t cols, size_t members, size_t member);

SL_KERNELS_END

#endif
