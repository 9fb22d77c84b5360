/* The tensor cores of sm_80 and later, used a warp at a time: products of 16-bit tiles with sums in float (PTX ISA,
 * mma.sync .m16n8k16 and ldmatrix), and tiles of 16-bit rows in shared memory. A thread of the warp, lane = 4 g + t,
 * holds
 *   a   (16,16)  a[0]: row g, columns 2t and 2t+1; a[1]: row g+8; a[2], a[3]: the same, columns + 8
 *   b   (16,8)   b0: rows 2t and 2t+1, column g; b1: rows + 8
 *   c   (16,8)   c[0], c[1]: row g, columns 2t and 2t+1; c[2], c[3]: row g+8
 * so that two neighbouring c, rounded, form an a. */
#pragma once

#include "kernels/gpu/async.cuh"

namespace sl {
namespace {

/* Packs two numbers, the first in the low half. */
template <typename T> __device__ inline uint32_t pack_two(float x, float y) {
  return (uint32_t)put<T>(x).bits | (uint32_t)put<T>(y).bits << 16;
}

/* A number that is the same in all threads of a warp, so that the compiler knows it and keeps it in a
 * register of the warp. */
__device__ inline unsigned same_in_warp(unsigned x) {
  return __shfl_sync(0xffffffffu, x, 0);
}

/* A number that the compiler takes for another, so that what was computed from it is computed again, and needs no
 * register meanwhile. */
__device__ inline unsigned anew(unsigned x) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+r"(x));
#endif
  return x;
}

/* Two neighbouring parts of a sum, rounded: an a. */
template <typename T>
__device__ inline void as_left(uint32_t (&a)[4], const float (&left)[4], const float (&right)[4]) {
  a[0] = pack_two<T>(left[0], left[1]);
  a[1] = pack_two<T>(left[2], left[3]);
  a[2] = pack_two<T>(right[0], right[1]);
  a[3] = pack_two<T>(right[2], right[3]);
}

#ifndef __CUDACC__ /* what the instructions do, for kernels that run in emulation */
template <typename T> inline float half_of(uint32_t pair, unsigned which) {
  return load(T{(uint16_t)(pair >> 16 * which)});
}

template <typename T> inline void emulated_mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  sl_emulate::tiles mine;
  for (unsigned i = 0; i < 8; i++) mine.a[i] = half_of<T>(a[i / 2], i % 2);
  for (unsigned i = 0; i < 4; i++) mine.b[i] = half_of<T>(i < 2 ? b0 : b1, i % 2);
  const sl_emulate::sums all = sl_emulate::product(mine, {{c[0], c[1], c[2], c[3]}});
  for (unsigned i = 0; i < 4; i++) c[i] = all.c[i];
}

/* As in hardware, the address of a row must be a multiple of 16 bytes. */
template <bool TRANS, typename T> inline void emulated_ldmatrix(uint32_t (&x)[4], const T *row) {
  if ((uintptr_t)row % 16 != 0) sl_emulate::complain("ldmatrix: a row that is not aligned to 16 bytes");
  sl_emulate::bring(row);
  const unsigned lane = sl_emulate::lane(), g = lane / 4, t = lane % 4;
  const void *rows[4][2];
  sl_emulate::brought_rows(rows, TRANS ? 2 * t : g, TRANS ? 2 * t + 1 : g);
  for (unsigned m = 0; m < 4; m++) {
    const T *const first = static_cast<const T *>(rows[m][0]), *const second = static_cast<const T *>(rows[m][1]);
    x[m] = (uint32_t)first[TRANS ? g : 2 * t].bits | (uint32_t)second[TRANS ? g : 2 * t + 1].bits << 16;
  }
}
#endif

/* c += a b. */
template <typename T> __device__ inline void mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1);
template <> __device__ inline void mma<bf16>(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
#ifdef __CUDA_ARCH__
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#elif !defined(__CUDACC__)
  emulated_mma<bf16>(c, a, b0, b1);
#endif
}
template <> __device__ inline void mma<f16>(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
#ifdef __CUDA_ARCH__
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#elif !defined(__CUDACC__)
  emulated_mma<f16>(c, a, b0, b1);
#endif
}

/* Loads four (8,8) matrices; eight lanes per matrix point to its rows of 16 bytes. TRANS: transposes each. */
template <bool TRANS, typename T> __device__ inline void ldmatrix(uint32_t (&x)[4], const T *row) {
#ifdef __CUDA_ARCH__
  const uint32_t at = (uint32_t)__cvta_generic_to_shared(row);
  if (TRANS)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(at)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(at)
                 : "memory");
#elif !defined(__CUDACC__)
  emulated_ldmatrix<TRANS>(x, row);
#endif
}

/* A tile of rows of W numbers in shared memory. Rows are padded by 16 bytes, so that eight rows are in different
 * banks. */
template <typename T, int W> struct half_tile {
  static constexpr int stride = W + 8;
  T *x;

  static constexpr size_t bytes(int rows) {
    return (size_t)rows * stride * sizeof(T);
  }
  __device__ T *row(int r) const {
    return x + r * stride;
  }
  /* Loads (16,16) from row r and column c as an a. */
  __device__ void as_a(uint32_t (&a)[4], int r, int c) const {
    const int lane = (int)threadIdx.x % 32;
    ldmatrix<false>(a, row(r + lane % 16) + c + lane / 16 * 8);
  }
  /* Loads rows r to r+15 as the columns of two b, whose rows are columns c to c+15: b0, b1 of the first, then of the
   * second. */
  __device__ void as_b(uint32_t (&b)[4], int r, int c) const {
    const int lane = (int)threadIdx.x % 32;
    ldmatrix<false>(b, row(r + lane / 16 * 8 + lane % 8) + c + lane / 8 % 2 * 8);
  }
  /* Loads rows r to r+15 as the rows of two b, whose columns are columns c to c+15. */
  __device__ void as_b_rows(uint32_t (&b)[4], int r, int c) const {
    const int lane = (int)threadIdx.x % 32;
    ldmatrix<true>(b, row(r + lane % 16) + c + lane / 16 * 8);
  }
  /* Copies ROWS rows of `src` from row t0, with zeros past row T_ and column D. All THREADS of the block take part, 16
   * bytes at a time; addresses must be aligned to that, and D a multiple of it. The copies are asynchronous: wait by
   * copy_wait() and a barrier. */
  template <int ROWS, int THREADS>
  __device__ void fill_async(const T *src, uint32_t src_stride, int t0, int T_, int D) const {
    constexpr int vectors = W / 8, step = THREADS / vectors;
    static_assert(THREADS % vectors == 0 && ROWS % step == 0, "whole rows at a time");
    const int r = (int)threadIdx.x / vectors, c = (int)threadIdx.x % vectors * 8;
    const int end = c < D ? T_ : 0;
    const T *from = src + (uint64_t)(uint32_t)(t0 + r) * src_stride + c;
    T *const to = row(r) + c;
#pragma unroll
    for (int k = 0; k < ROWS; k += step) {
      copy_async(to + k * stride, from, t0 + r + k < end);
      from += (uint64_t)step * src_stride;
    }
  }
  /* The same, one element at a time and at any address; complete at the next barrier. */
  template <int ROWS, int THREADS>
  __device__ void fill_slowly(const T *src, uint32_t src_stride, int t0, int T_, int D) const {
#pragma unroll 1
    for (int i = (int)threadIdx.x; i < ROWS * W; i += THREADS) {
      const int r = i / W, c = i % W;
      row(r)[c] = t0 + r < T_ && c < D ? src[(uint64_t)(uint32_t)(t0 + r) * src_stride + c] : T{0};
    }
  }
};

} /* namespace */
} /* namespace sl */
