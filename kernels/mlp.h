/* The parts of a plain multilayer perceptron: ReLU with bias, and the mean squared error. */
#ifndef SL_KERNELS_MLP_H
#define SL_KERNELS_MLP_H

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

SL_KERNELS_BEGIN

/* out = max(x + bias, 0), (rows,cols); bias (cols) or NULL. out may be x. */
void SL_K(sl_mlp_relu_forward)(sl_store *out, const sl_store *x, const sl_store *bias, size_t rows, size_t cols);

/* dx = dout where out > 0, else 0; out is forward's output. dx may be dout. */
void SL_K(sl_mlp_relu_backward)(sl_store *dx, const sl_store *dout, const sl_store *out, size_t rows, size_t cols);

/* Squared error over n elements: *loss_sum = sum of (prediction - target)^2 (accumulate: +=), and, unless dprediction
 * is NULL, dprediction = 2 (prediction - target) * scale. With scale = 1 / (all elements of the batch) and loss_sum
 * divided by the same count this is torch.nn.MSELoss. dprediction may be prediction. scratch:
 * sl_reduce_scratch_bytes(n). */
void SL_K(sl_mlp_mse)(double *loss_sum, sl_store *dprediction, const sl_store *prediction, const sl_store *target,
                      size_t n, sl_real scale, int accumulate, void *scratch);

SL_KERNELS_END

#endif
