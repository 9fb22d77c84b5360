/* Sizes of data that is communicated quantised: the blocks that share a scale, and the bytes of a packed piece. The
 * packing itself is in kernels/quantize.h and kernels/onebit.h. */
#pragma once

#include <stdint.h>

/* Bits per number: of a gathered weight (qwZ of ZeRO++), and of a gradient that is reduced (qgZ). */
enum { SL_WEIGHT_BITS = 8, SL_GRADIENT_BITS = 4 };

/* Numbers per block where a member packs `n` weights. Blocks have equal length, at most 8,000 as in DeepSpeed
 * (runtime/zero/partition_parameters.py, CUDAQuantizer), in multiples of 8; DeepSpeed requires n to be a multiple of
 * 8. */
int64_t sl_quantized_weight_block(int64_t n);
/* Numbers per block of a gradient of `numel` numbers, a matrix of rows x columns, reduced over `members`: numel /
 * max(rows, columns, members), in multiples of 8 (runtime/comm/coalesced_collectives.py, all_to_all_quant_reduce). */
int64_t sl_quantized_gradient_block(int64_t numel, int64_t rows, int64_t columns, int64_t members);
/* Signs per piece where `members` share `numel` numbers. DeepSpeed's 1-bit Adam pads them to a multiple of 8 and of the
 * number of members (runtime/fp16/onebit/adam.py, corrected_tensor_size). */
int64_t sl_sign_chunk(int64_t numel, int64_t members);
/* Bytes of a packed piece of signs: a 4-byte scale and a bit each, rounded up to a multiple of 4 (kernels/onebit.h). */
int64_t sl_sign_bytes(int64_t chunk);
/* Bytes of a packed piece of n > 0 numbers: a 4-byte scale per block, and the codes, rounded up to a multiple of 4. */
int64_t sl_quantized_bytes(int64_t n, int64_t block, int bits);
