/* Flash attention of 16-bit numbers on the tensor cores, for head sizes up to 128: what its two files share with the
 * launchers. Probabilities and their gradients are rounded to the tensors' type before the second product, as in
 * FlashAttention-2 (arXiv:2307.08691); sums are float. Nothing is added across blocks: equal input gives equal bits. */
#pragma once

#include "kernels/numbers/types.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

namespace sl {

constexpr int mma_threads = 128, mma_rows = 64; /* four warps of 16 queries, or keys, each */
constexpr size_t mma_most = 128;                /* the largest head size */
constexpr float log2_e = 1.44269504F;

/* The rows of the tiles that backward's blocks iterate over, for head sizes up to W, limited by registers. */
constexpr int mma_across(int W) {
  return W > 64 ? 32 : 64;
}
/* Dynamic shared memory of a block in bytes, for head sizes up to W (./dev kernels uses it too). */
constexpr size_t mma_tile_bytes(int rows, int W) {
  return (size_t)rows * (size_t)(W + 8) * 2;
}
constexpr size_t mma_forward_shared(int W) {
  return mma_tile_bytes(3 * mma_rows, W);
}
constexpr size_t mma_backward_shared(int W) {
  return mma_tile_bytes(2 * mma_rows + 4 * mma_across(W), W);
}

/* The same of the kernels for sm_90a: queries, and two tiles of keys and values; two tiles that stay, and four. */
constexpr size_t wgmma_forward_shared(int W) {
  return 1024 + (size_t)(128 + 4 * 64) * (size_t)W * 2;
}
constexpr size_t wgmma_backward_shared(int W) {
  return 1024 + (size_t)(6 * 64) * (size_t)W * 2;
}

/* The forms that a kernel is compiled in: scores that are scale q . k, and rows that can be read 16 bytes at a time;
 * the same with dropout; and everything else, with options checked at run time. */
enum mma_form { mma_lean, mma_dropout, mma_general };

inline bool mma_takes(enum sl_number type, const sl_attention_shape *shape) {
  return type != SL_NUMBER_F32 && shape->D >= 2 && shape->D <= mma_most;
}

/* Whether rows of q, k, v, and of tensors with the same layout, can be read 16 bytes at a time. */
inline bool mma_wide(const sl_attention_shape *s, const void *q, const void *k, const void *v, const void *out) {
  const size_t all = s->D | s->q_stride | s->k_stride | s->v_stride | s->out_stride;
  return all % 8 == 0 && ((uintptr_t)q | (uintptr_t)k | (uintptr_t)v | (uintptr_t)out) % 16 == 0;
}

/* The kernels count tokens and strides in 32 bits; whether these fit. */
inline bool mma_fits(const sl_attention_shape *s) {
  const size_t most = INT32_MAX / 2;
  return s->T <= most && s->keys <= most && s->q_stride <= most && s->k_stride <= most && s->v_stride <= most &&
         s->out_stride <= most;
}

int mma_forward(struct CUstream_st *stream, enum sl_number type, void *out, float *lse, const void *q, const void *k,
                const void *v, const sl_attention_shape *shape, const sl_dropout *dropout, const int64_t *step);
/* dout . out of each query must be stored in its row of dq. `parts` and `sums` as in
 * sl_cuda_flash_attention_backward. */
int mma_backward(struct CUstream_st *stream, enum sl_number type, void *dq, void *dk, void *dv, const void *dout,
                 const void *q, const void *k, const void *v, const float *lse, const sl_attention_shape *shape,
                 const sl_dropout *dropout, const int64_t *step, int parts, float *sums);

/* The same by the instructions of sm_90a, where wgmma_takes(): plain scores, `wide`, and a device that has them. */
bool wgmma_takes(const sl_attention_shape *shape, bool wide);
int wgmma_forward(struct CUstream_st *stream, enum sl_number type, void *out, float *lse, const void *q, const void *k,
                  const void *v, const sl_attention_shape *shape, const sl_dropout *dropout, const int64_t *step);
int wgmma_backward(struct CUstream_st *stream, enum sl_number type, void *dq, void *dk, void *dv, const void *dout,
                   const void *q, const void *k, const void *v, const float *lse, const sl_attention_shape *shape,
                   const sl_dropout *dropout, const int64_t *step, int parts, float *sums);

} /* namespace sl */
