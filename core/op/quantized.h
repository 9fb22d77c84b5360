/* Numbers that travel quantised: the blocks that share a scale, and the bytes of a packed piece (kernels/quantize.h). */
#pragma once

#include <stdint.h>

/* Bits of a code: of a gathered weight (ZeRO++'s qwZ), and of a gradient on its way to its owner (qgZ). */
enum { SL_WEIGHT_BITS = 8, SL_GRADIENT_BITS = 4 };

/* Numbers of a block where a member packs `n` weights: blocks of one length, at most 8,000 as in DeepSpeed
 * (runtime/zero/partition_parameters.py, CUDAQuantizer), in whole eights, of which DeepSpeed wants the weights to be. */
int64_t sl_quantized_weight_block(int64_t n);
/* The same of a gradient of `numel` numbers, a matrix of rows x columns, over `members`: numel / max(rows, columns, members), in
 * whole eights (runtime/comm/coalesced_collectives.py, all_to_all_quant_reduce). */
int64_t sl_quantized_gradient_block(int64_t numel, int64_t rows, int64_t columns, int64_t members);
/* Signs of a piece where `members` cut `numel` numbers among them: DeepSpeed's 1-bit Adam makes them a multiple of 8 and of the
 * members (runtime/fp16/onebit/adam.py, corrected_tensor_size). */
int64_t sl_sign_chunk(int64_t numel, int64_t members);
/* Bytes of a packed piece of signs: a scale of 4 and a bit each, up to a multiple of 4 (kernels/onebit.h). */
int64_t sl_sign_bytes(int64_t chunk);
/* Bytes of a packed piece of n > 0 numbers: a scale of 4 bytes a block, and the codes, up to a multiple of 4. */
int64_t sl_quantized_bytes(int64_t n, int64_t block, int bits);
