/* Softmax cross-entropy: loss and gradient in one call, for a whole vocabulary or one that tensor parallelism
 * splits. */
#ifndef SL_KERNELS_CLASSIFIER_H
#define SL_KERNELS_CLASSIFIER_H

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

SL_KERNELS_BEGIN

/* For each of N rows: losses[n] = -log softmax(logits[n])[targets[n]], and logits (N,V) becomes its gradient
 * (softmax - onehot) * scale. Columns from `total` on are padding: they are left out of the softmax and get gradient 0.
 * A row with a negative target is ignored: loss 0, gradient 0. *loss_sum = (accumulate: +=) the sum of the losses in
 * row order. For the mean loss, scale is 1 / (tokens of the global batch). losses (N) is an output. */
void SL_K(sl_classifier_fused)(double *loss_sum, double *losses, sl_store *logits, const int32_t *targets, size_t N,
                               size_t V, size_t total, sl_real scale, int accumulate);

/* The same over a vocabulary split by columns (Megatron-LM's vocab_parallel_cross_entropy, arXiv:1909.08053): logits
 * (N,V) are columns [first, first + V) of `total`; columns past the end are padding, with gradient 0. The first step
 * writes the statistics (N,3) of the local columns: maximum (-infinity where all are padding), sum of exp(x - maximum),
 * and the target's logit (0 where another member holds the target's column). */
void SL_K(sl_classifier_stats)(sl_real *stats, const sl_store *logits, const int32_t *targets, size_t N, size_t V,
                               size_t first, size_t total);

/* The second step: losses and gradient as in sl_classifier_fused, from the gathered statistics (members,N,3). */
void SL_K(sl_classifier_shard)(double *loss_sum, double *losses, sl_store *logits, const int32_t *targets,
                               const sl_real *stats, size_t N, size_t V, size_t first, size_t total, size_t members,
                               sl_real scale, int accumulate);

SL_KERNELS_END

#endif
