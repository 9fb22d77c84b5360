/* The casts of torch.autocast, where parameters, norms and the residual stream are in fp32 and products and attention
 * in 16 bits (sl_lowering: dtype and compute; models/transformer.c says which op has which).
 *
 * Activations. Each product casts its input by a kernel (ATen/autocast_mode.h: cached_cast keeps only leaves that need
 * a gradient), so q, k and v of one norm are three casts, and three tensors that are kept. Their backward casts the
 * gradient back. A sum of the fp32 stream and a 16-bit branch is one kernel that reads both types (TensorIterator), but
 * autograd casts the branch's gradient (torch/csrc/autograd/engine.cpp, validate_outputs). Where torch.compile makes
 * the kernels, a norm writes 16 bits and its backward reads them; a cast of the stream's gradient only writes its
 * result beside. Our own kernels have one type each: every cast is a copy, one for all products of an input.
 *
 * Weights and biases are cast once in a micro-batch's forward. The cache holds every cast until the region is left,
 * behind the loss (clear_cache), autograd those of weights until the backward of their products. A checkpoint's
 * recomputation is a region of its own, which casts again. */
#pragma once

#include "core/models/tape.h"

/* Does every product cast its input for itself? */
bool sl_autocast_casts_apart(const struct sl_lowering *lowering);
/* The type of a norm's output: that of the stream, unless its kernel casts for the product behind it. */
enum sl_dtype sl_autocast_normed(const struct sl_lowering *lowering);
/* `x` as a product or attention reads it, and as a norm or a sum of the stream does: itself where it has the type. */
int sl_autocast_for_product(struct sl_tape *tape, int x);
int sl_autocast_for_norm(struct sl_tape *tape, int x);
int sl_autocast_for_sum(struct sl_tape *tape, int x);
/* Adds the casts of weights and biases to the drafts of the current stage, behind all passes that fuse products. */
enum sl_status sl_autocast_weights(struct sl_lowering *lowering);
