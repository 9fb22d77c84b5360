/* Workspace that the kernels of some ops ask for, in bytes: upper bounds that core plans by without knowing the
 * kernels. tests/test_scratch.c holds them against what kernels/ really asks for. `threads` are the OpenMP threads of a
 * rank on a CPU, 1 on a GPU. */
#ifndef SL_CORE_PROGRAM_WORKSPACE_H
#define SL_CORE_PROGRAM_WORKSPACE_H

#include <stdint.h>

static inline int64_t sl_scratch_pad(int64_t n, int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

/* Partial sums of dweight and dbias over at most 128 blocks of rows. */
static inline int64_t sl_scratch_layernorm_bwd(int64_t rows, int64_t columns) {
  return 2 * (rows < 128 ? rows : 128) * columns * 4;
}

/* Partial sums of dweight alone. */
static inline int64_t sl_scratch_rmsnorm_bwd(int64_t rows, int64_t columns) {
  return sl_scratch_layernorm_bwd(rows, columns) / 2;
}

/* Per thread: packed k and v of one head, and a block of 32 query rows with its scores. */
static inline int64_t sl_scratch_attention_fwd(int64_t tokens, int64_t head, int64_t threads) {
  const int64_t t = sl_scratch_pad(tokens, 256), d = sl_scratch_pad(head, 16);
  return threads * (2 * t * d + 64 * d + 32 * t + 64) * 4 + 64;
}

/* Per thread: packed q, k, v, dout and the three gradients of one head, and two blocks of scores. */
static inline int64_t sl_scratch_attention_bwd(int64_t tokens, int64_t head, int64_t threads) {
  const int64_t t = sl_scratch_pad(tokens, 256), d = sl_scratch_pad(head, 16);
  return threads * (6 * t * d + 32 * d + 64 * t + 64) * 4 + 64;
}

/* Flash attention, per thread: packed k and v of one head, a block of 32 query rows, and its scores of 256 keys. */
static inline int64_t sl_scratch_flash_attention_fwd(int64_t tokens, int64_t head, int64_t threads) {
  const int64_t t = sl_scratch_pad(tokens, 256), d = sl_scratch_pad(head, 16);
  return threads * (2 * t * d + 64 * d + 32 * 256 + 64) * 4 + 64;
}

/* Per thread: k packed twice, v, dk and dv of one head, blocks of q, dout and dq, and two blocks of scores. */
static inline int64_t sl_scratch_flash_attention_bwd(int64_t tokens, int64_t head, int64_t threads) {
  const int64_t t = sl_scratch_pad(tokens, 256), d = sl_scratch_pad(head, 16);
  return threads * (5 * t * d + 96 * d + 64 * 256 + 64) * 4 + 64;
}

/* One double per 4096 elements: sums in a fixed order. */
static inline int64_t sl_scratch_sum(int64_t elements) {
  return (elements + 4095) / 4096 * 8;
}

/* fp32 copies of both factors and the product of a 16-bit GEMM on a CPU. */
static inline int64_t sl_scratch_gemm(int64_t m, int64_t n, int64_t k) {
  return (m * k + k * n + m * n) * 4;
}

#endif
