/* The work of matrix products on a GPU, from the tiles that its library splits them into.
 *
 * cuBLAS and CUTLASS give each streaming multiprocessor (SM) a tile of the result, tile_m x tile_n, and let it run over
 * k. A product of (m, n, k), `batch` of them, therefore takes whole waves of tiles, and every tile pays a prologue and
 * an epilogue:
 *
 *   tiles = batch ceil(m / tile_m) ceil(n / tile_n)
 *   waves = ceil(tiles split / SMs), from 8 waves on tiles split / SMs + 1/2: their ends overlap
 *   flops = 2 tile_m tile_n (k / split + ramp) waves SMs / rate, + the sums of a split over k (1, 2, 4 or 8)
 *
 * and the library is taken to choose the tile and the split with the fewest of these "padded" flops, which run at the
 * rate of a full tile, peak x gemm_efficiency. 8-bit products take half the time a step of k and as long before and
 * after, so twice the ramp. fp32 products run on CUDA cores, not on tensor cores: a step of k takes as much longer as
 * their peak is lower, and what comes before and after is as much less of it. Units: flops; m, n, k in elements. Valid
 * from compute capability 7.0, for 16-bit and 8-bit products with fp32 sums; products of other types are taken to be
 * cut alike. Source: NVIDIA, Matrix Multiplication Background User's Guide (tile and wave quantisation; the tile shapes
 * are those that it and CUTLASS name; those of 192 on Hopper stand in the names of cuBLAS 12's kernels,
 * nvjet_hsh_192x128_64x5 in a profile). The rates of the smaller tiles, the ramp and what a split's sums cost are
 * guesses: neither measured nor fitted. */
#pragma once

#include "core/cluster/cluster.h"
#include "core/op/work.h"

#include <stdint.h>

/* Padded flops of `batch` products (m, n, k) on `device`, whose sm_count is above 0; at least 2 batch m n k. */
double sl_gemm_padded_flops(const struct sl_device *device, enum sl_dtype dtype, int64_t batch, int64_t m, int64_t n,
                            int64_t k);
/* The rows, as they are stored, of the operands and the result of a product, as one number: what power of two divides it
 * divides each of them. */
int64_t sl_gemm_rows(const struct sl_work *work);
/* Do products of this type run on CUDA cores, for lack of tensor cores that take it? */
bool sl_gemm_on_cuda_cores(const struct sl_device *device, enum sl_dtype dtype);
/* Can tensor cores load `rows` elements by 16 bytes at once? */
bool sl_gemm_is_aligned(enum sl_dtype dtype, int64_t rows);
/* The factor on the time of a product with such rows: 1 where they are aligned, the device's unaligned_gemm_slowdown where
 * they are multiples of 4 bytes (8 are not faster), and its odd_gemm_slowdown where they are not even that. A factor that
 * the device does not give is 1, or as the other. CUDA cores load one number at a time: 1. Measured on A100s by others:
 * experiments/published/gemm. */
double sl_gemm_slowdown(const struct sl_device *device, enum sl_dtype dtype, int64_t rows);
