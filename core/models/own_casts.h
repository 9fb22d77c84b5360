/* The casts to fp8 of our own kernels, which run: explicit ops beside the products of linear layers in blocks, which then
 * read factors in 8 bits (SL_OP_SCALED). The recipe is Transformer Engine's DelayedScaling with its format HYBRID: inputs
 * and weights in E4M3, gradients of outputs in E5M2, a scale a tensor from the steps before (core/lower/scaling.h). The
 * head, attention's own products and everything else stay in 16 bits.
 *
 * cuBLASLt multiplies 8-bit factors only if the index that is summed over runs fastest in both of them ("TN"), on
 * sm_89 and sm_90. So a factor that a product reads along its columns is cast transposed, and one that is read both ways
 * is written both ways by one op, as Transformer Engine's cast_transpose does:
 *
 *                      forward            input's gradient     weight's gradient
 *   input (R, K)       as it is                                transposed
 *   weight (N, K)      as it is           transposed
 *   weight (K, N)      transposed         as it is
 *   gradient (R, N)                       as it is             transposed
 *
 * Kept for the backward is the transposed 8-bit input where only weight gradients read the input again, and then not its
 * 16 bits; elsewhere (attention's output, which attention's backward reads) the 16 bits are kept and cast again, as are
 * weights and what is recomputed. Weights are cast in each micro-batch, where Transformer Engine can be told which one is
 * the first. An input that several products share is cast once, with the scale of the first of their weights. */
#pragma once

#include "core/models/transformer.h"

/* Adds the casts beside the products of the current stage, if its products run in fp8. Behind all other passes over
 * drafts that move or fuse products. */
enum sl_status sl_models_cast(struct sl_lowering *lowering);
