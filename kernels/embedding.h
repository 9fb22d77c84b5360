/* Token plus position embedding followed by dropout, and its backward, a scatter-add into the tables.
 *
 * The token table may be split by rows over tensor-parallel ranks (struct sl_embedding_shape). Forward then writes a
 * zero row, without the position embedding, for a token of another rank, so the sum over the ranks is bit-identical to
 * the result of a whole table. */
#ifndef SL_KERNELS_EMBEDDING_H
#define SL_KERNELS_EMBEDDING_H

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

SL_KERNELS_BEGIN

/* out (B,T,C) = dropout(scale wte[token - first_row] + wpe[first_position + t]). wte (n_rows,C); wpe (>= first_position
 * + T, C) or NULL; tokens (B,T). Dropout's rows are the B*T tokens. */
void SL_K(sl_embedding_forward)(sl_store *out, const int32_t *tokens, const sl_store *wte, const sl_store *wpe,
                                const struct sl_embedding_shape *shape, const struct sl_dropout *dropout);

/* Computes dwte (n_rows,C) and, unless NULL, dwpe (n_positions,C) from dout (B,T,C), through the same dropout. Each is
 * overwritten (rows that no token names become zero) or, with its accumulate flag, added to, as dwte is where a tied LM
 * head has already contributed to it. Both are of sl_store or, with in_fp32, of float. dwpe sums over all tokens,
 * including those whose row another rank holds. */
void SL_K(sl_embedding_backward)(void *dwte, int accumulate_wte, void *dwpe, size_t n_positions, int accumulate_wpe,
                                 int in_fp32, const sl_store *dout, const int32_t *tokens,
                                 const struct sl_embedding_shape *shape, const struct sl_dropout *dropout);

SL_KERNELS_END

#endif
