/* Casts to fp8 as torchao makes them, for products of a block: passes beside the products, and activations that sequence parallelism
 * gathers in 8 bits.
 *
 * Bytes of an element by torchao/testing/float8/roofline_utils.py (pytorch/ao at 6243040), get_tensor_memory_traffic_ovhd_s, but for two
 * kernels that Inductor makes slower: casts that write both ways read their input twice (pytorch/pytorch#133242), and those along
 * columns by a scale each reach 0.65 TB/s where others reach 2.1 (pytorch/pytorch#149982), as if their 3 bytes were 10.
 *
 *                        a scale a tensor                                    a scale a row
 *   input, forward       largest 2 (0 behind an element-wise op, which      to 8 bits 3
 *                        makes it), to 8 bits 3
 *   input, backward      to 8 bits by columns 3                              to 8 bits by columns 10
 *   output's gradient    largest 2, to 8 bits both ways 6                    to 8 bits 3, by columns 10
 *   weight, forward      gathered in 8 bits: none; else largest 2, 3         to 8 bits 3
 *   weight, backward     transposed in 8 bits 2                              to 8 bits by columns 10
 *   gathered in 8 bits   cast before, its part; transposed 2                 not gathered so: parallelize_llama.py, apply_tp
 *
 * With a scale a row, products of the backward, which do not accumulate fast, are scaled by a kernel of their own (pytorch/ao#2184):
 * their output is read and written. What several products read is cast once. */
#pragma once

#include "core/models/transformer.h"

/* Do products of this layer read fp8 that torchao makes? */
bool sl_casts_layer(const struct sl_lowering *lowering, int layer);
/* Does sequence parallelism gather this layer's activations in fp8? */
bool sl_casts_gathers(const struct sl_lowering *lowering, int layer);
/* A pass of `bytes` that makes fp8 buffer `out`. */
enum sl_status sl_casts_make(struct sl_transformer *g, enum sl_half half, int layer, int32_t out, int64_t bytes);
/* Put the passes beside the products of the stage at hand. */
enum sl_status sl_models_add_casts(struct sl_lowering *lowering);
