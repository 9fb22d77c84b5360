/* Flash attention of 16-bit numbers on the tensor cores, for heads of up to 128 elements: what its two files share with
 * the launchers. Probabilities and their gradients are rounded to the tensors' type before the second product, as in
 * FlashAttention-2 (arXiv:2307.08691); sums are float. Nothing is added across blocks: equal input gives equal bits. */
#pragma once

#include "kernels/numbers/types.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

namespace sl {

constexpr int mma_threads = 128, mma_rows = 64; /* four warps of 16 queries, or keys, each */
constexpr size_t mma_most = 128;                /* head size */
constexpr float log2_e = 1.44269504F;

inline bool mma_takes(enum sl_number type, const sl_attention_shape *shape) {
  return type != SL_NUMBER_F32 && shape->D >= 2 && shape->D <= mma_most;
}

/* Rows of q, k, v and of what is laid out as they are can be read 16 bytes at a time. */
inline bool mma_wide(const sl_attention_shape *s, const void *q, const void *k, const void *v, const void *out) {
  const size_t all = s->D | s->q_stride | s->k_stride | s->v_stride | s->out_stride;
  return all % 8 == 0 && ((uintptr_t)q | (uintptr_t)k | (uintptr_t)v | (uintptr_t)out) % 16 == 0;
}

int mma_forward(struct CUstream_st *stream, enum sl_number type, void *out, float *lse, const void *q, const void *k,
                const void *v, const sl_attention_shape *shape, const sl_dropout *dropout, const int64_t *step);
/* dout . out of each query has been left in its row of dq. */
int mma_backward(struct CUstream_st *stream, enum sl_number type, void *dq, void *dk, void *dv, const void *dout,
                 const void *q, const void *k, const void *v, const float *lse, const sl_attention_shape *shape,
                 const sl_dropout *dropout, const int64_t *step);

} /* namespace sl */
