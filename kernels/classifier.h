/* Softmax cross-entropy, forward and backward in one pass over the logits. */
#ifndef SL_KERNELS_CLASSIFIER_H
#define SL_KERNELS_CLASSIFIER_H

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

SL_KERNELS_BEGIN

/* For each of N rows: losses[n] = -log softmax(logits[n])[targets[n]], and logits (N,V) becomes its gradient
 * (softmax - onehot) * scale. Columns from `total` on are padding: no part of the softmax, gradient 0. A negative target
 * is ignored: loss 0, gradient 0. *loss_sum = sum of the losses (accumulate: +=), taken in row order. scale is 1 / (all tokens of the global batch) for the mean loss. losses (N) is an output. */
void SL_K(sl_classifier_fused)(double *loss_sum, double *losses, sl_store *logits, const int32_t *targets, size_t N,
                               size_t V, size_t total, sl_real scale, int accumulate);

/* The same over a vocabulary split by columns (Megatron-LM's vocab_parallel_cross_entropy, arXiv:1909.08053): logits
 * (N,V) are columns [first, first + V) of `total`; columns past the end are padding, with gradient 0. First the row
 * statistics (N,3) of what is here: maximum (-infinity where all is padding), sum of exp(x - maximum), the target's
 * logit (0 where the target's column is elsewhere). */
void SL_K(sl_classifier_stats)(sl_real *stats, const sl_store *logits, const int32_t *targets, size_t N, size_t V,
                               size_t first, size_t total);

/* Then losses and gradient as sl_classifier_fused has them, from the statistics (members,N,3) of all members. */
void SL_K(sl_classifier_shard)(double *loss_sum, double *losses, sl_store *logits, const int32_t *targets,
                               const sl_real *stats, size_t N, size_t V, size_t first, size_t total, size_t members,
                               sl_real scale, int accumulate);

SL_KERNELS_END

#endif
