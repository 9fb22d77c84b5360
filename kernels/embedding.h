/* Token plus position embedding, then dropout; and the scatter-add back.
 *
 * The token table may be split by rows (struct sl_embedding_shape): forward gives a zero row, without its position, for
 * a token outside the held rows, so the sum over all parts is the whole to the bit. */
#ifndef SL_KERNELS_EMBEDDING_H
#define SL_KERNELS_EMBEDDING_H

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

SL_KERNELS_BEGIN

/* out (B,T,C) = dropout(scale wte[token - first_row] + wpe[first_position + t]). wte (n_rows,C); wpe (>= first_position + T,
 * C) or NULL; tokens (B,T). Dropout's rows are the B*T tokens. */
void SL_K(sl_embedding_forward)(sl_store *out, const int32_t *tokens, const sl_store *wte, const sl_store *wpe,
                                const struct sl_embedding_shape *shape, const struct sl_dropout *dropout);

/* dwte (n_rows,C) and, unless NULL, dwpe (n_positions,C) from dout (B,T,C), through the same dropout. Each is
 * overwritten (rows that no token names become zero) or, with its accumulate flag, added to: a tied head has its own
 * share in dwte. dwpe has every token's share, wherever its row is held. */
void SL_K(sl_embedding_backward)(sl_store *dwte, int accumulate_wte, sl_store *dwpe, size_t n_positions,
                                 int accumulate_wpe, const sl_store *dout, const int32_t *tokens,
                                 const struct sl_embedding_shape *shape, const struct sl_dropout *dropout);

SL_KERNELS_END

#endif
