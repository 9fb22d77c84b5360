/* Casts to fp8 as torchao and Transformer Engine do them, for the products of a block: passes beside the products, and,
 * of torchao, activations that sequence parallelism gathers in 8 bits. They are predicted only; those of our own kernels
 * are ops (own_casts.h).
 *
 * torchao's bytes per element follow torchao/testing/float8/roofline_utils.py (pytorch/ao at 6243040),
 * get_tensor_memory_traffic_ovhd_s, except for two kernels that are slower in Inductor: casts to both layouts read
 * their input twice (pytorch/pytorch#133242), and casts along columns with a scale each reach 0.65 TB/s where others
 * reach 2.1 (pytorch/pytorch#149982), as if their 3 bytes were 10. "largest" is the pass that finds the absolute
 * maximum.
 *
 *                        a scale a tensor                                    a scale a row
 *   input, forward       largest 2 (0 behind an element-wise op, which       to 8 bits 3
 *                        computes it), to 8 bits 3
 *   input, backward      to 8 bits by columns 3                              to 8 bits by columns 10
 *   output's gradient    largest 2, to 8 bits in both layouts 6              to 8 bits 3, by columns 10
 *   weight, forward      gathered in 8 bits: none; else largest 2, 3         to 8 bits 3
 *   weight, backward     transposed in 8 bits 2                              to 8 bits by columns 10
 *   gathered in 8 bits   cast before, its part; transposed 2                 not gathered so: parallelize_llama.py,
 *                        apply_tp
 *
 * With a scale per row, products of the backward, which do not use fast accumulation, are scaled by a separate kernel
 * (pytorch/ao#2184) that reads and writes their output. A tensor that several products read is cast once.
 *
 * Transformer Engine's delayed scaling knows the scale beforehand: one kernel casts an input, a weight or the gradient
 * of an output and writes it transposed beside (4 bytes, module/linear.py, fp8_cast_transpose_fused), and the backward
 * reads what the forward wrote. llm-foundry does not say which micro-batch is the first, so each casts the weights
 * again; Megatron-LM does, and one cast a step is not counted; with its sequence parallelism, inputs and gradients are
 * gathered in 8 bits (module/layernorm_linear.py, ln_out; module/base.py, grad_output_preprocess) and transposed behind (2
 * bytes). The 16-bit input is counted as kept, though the transposed one of 8 bits would do. */
#pragma once

#include "core/models/transformer.h"

/* Do products of this layer read fp8 tensors that were cast for them? */
bool sl_casts_layer(const struct sl_lowering *lowering, int layer);
/* Does sequence parallelism gather this layer's activations in fp8? */
bool sl_casts_gathers(const struct sl_lowering *lowering, int layer);
/* Bytes of an element that is cast before it is gathered: 3 to cast, 2 before to find the maximum where the scale is not
 * known. */
int64_t sl_casts_before_gather(const struct sl_lowering *lowering);
/* Adds a pass of `bytes` that writes fp8 buffer `out`. */
enum sl_status sl_casts_make(struct sl_transformer *g, enum sl_half half, int layer, int32_t out, int64_t bytes);
/* Adds the passes beside the products of the current stage. */
enum sl_status sl_models_add_casts(struct sl_lowering *lowering);
