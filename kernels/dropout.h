/* Dropout, alone and fused with the bias and residual additions around it.
 *
 * Forward and backward each generate the mask from the counter (struct sl_dropout), unless dropout->mask stores it. */
#ifndef SL_KERNELS_DROPOUT_H
#define SL_KERNELS_DROPOUT_H

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

SL_KERNELS_BEGIN

/* out = dropout(x), (rows,cols). In place is allowed. */
void SL_K(sl_dropout_forward)(sl_store *out, const sl_store *x, size_t rows, size_t cols,
                              const struct sl_dropout *dropout);

/* out = residual + dropout(x + bias), (rows,cols); bias (cols) or NULL. out may be residual or x. */
void SL_K(sl_dropout_residual)(sl_store *out, const sl_store *residual, const sl_store *x, const sl_store *bias,
                               size_t rows, size_t cols, const struct sl_dropout *dropout);

/* dx = dout * mask / (1-p). The residual's gradient is dout itself, the bias's the column sums of dx. In place is
 * allowed. */
void SL_K(sl_dropout_backward)(sl_store *dx, const sl_store *dout, size_t rows, size_t cols,
                               const struct sl_dropout *dropout);

SL_KERNELS_END

#endif
