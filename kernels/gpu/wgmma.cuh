/* The tensor cores of sm_90a, used a warpgroup at a time (PTX ISA, wgmma.mma_async): four warps multiply 64 rows, 16
 * per warp, by 64 columns. The second factor, and on request the first, is read from shared memory by the tensor cores
 * themselves, so that no instruction of the warps brings it. Sums and a first factor in registers are laid out as in
 * mma.cuh.
 *
 * A product runs behind the warps' back: between wgmma_begin() and wgmma_wait() neither its sums nor its factors may be
 * touched. Compiled for another architecture, nothing here does anything: launchers ask has_wgmma() first. */
#pragma once

#include "kernels/gpu/mma.cuh"

namespace sl {
namespace {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || !defined(__CUDACC__)
#define SL_WGMMA 1
#endif

/* Whether the current device has these instructions: those of sm_90a are in no other generation. */
inline bool has_wgmma() {
#ifdef __CUDACC__
  int device, major, minor;
  return cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
         cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) == cudaSuccess && major == 9 &&
         minor == 0;
#else
  return sl_emulate::warpgroups;
#endif
}

/* The body of a kernel compiled for another architecture: it cannot be what a launcher chose. */
__device__ inline void no_wgmma() {
#ifdef __CUDA_ARCH__
  __trap();
#endif
}

/* The 64 columns `which` of a sum. */
template <int N> __device__ inline float (&part_of(float (&sum)[N][4], int which))[8][4] {
  return *reinterpret_cast<float(*)[8][4]>(&sum[8 * which]);
}

/* Registers that were written are complete before the products that follow. */
__device__ inline void wgmma_begin() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}
__device__ inline void wgmma_commit() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}
/* Waits until all groups of products except the last N are complete. */
template <int N> __device__ inline void wgmma_wait() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
#endif
}
/* What this thread has written to shared memory, copies that it has waited for included, can be read by the tensor
 * cores after the next barrier. */
__device__ inline void show_to_wgmma() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/* Where a factor is in shared memory, so many bytes from an address: PTX ISA, matrix descriptor. Rows of 128 bytes
 * with the 128-byte swizzle, eight rows after every 1024 bytes; no product here is wider than a row, so that the
 * other distance is never used. */
__device__ inline uint64_t wgmma_factor(const void *from, int bytes) {
#ifdef __CUDA_ARCH__
  /* the distance as a part of the descriptor, so that factors from one place cost an addition each */
  const uint32_t low = ((uint32_t)__cvta_generic_to_shared(from) & 0x3ffff) >> 4 | 1 << 16;
  return (uint64_t)(1 << 30 | 1024 >> 4) << 32 | (low + (uint32_t)bytes / 16);
#else
  return (uint64_t)(uintptr_t)from + (uint64_t)bytes;
#endif
}

#ifndef __CUDACC__ /* what the instructions do, for kernels that run in emulation */
/* Number `i` of row `r` of a factor. */
template <typename T> inline float factor_number(uint64_t factor, unsigned r, unsigned i) {
  const uint64_t at = factor + r / 8 * 1024 + r % 8 * 128 + 2 * i;
  return load(*reinterpret_cast<const T *>((uintptr_t)(at ^ (at >> 7 & 7) << 4)));
}

/* Rows g and g + 8 of the warp's 16, times b. */
template <typename T, bool ROWS>
inline void emulated_wgmma(float (&c)[8][4], const float (&a)[2][16], uint64_t b, bool add) {
  const unsigned column = 2 * (sl_emulate::lane() % 4);
  for (unsigned i = 0; i < 16; i++) {
    const unsigned n = i / 2 * 8 + column + i % 2;
    float &upper = c[i / 2][i % 2], &lower = c[i / 2][2 + i % 2];
    float sums[2] = {add ? upper : 0, add ? lower : 0};
    for (unsigned k = 0; k < 16; k++) {
      const float right = ROWS ? factor_number<T>(b, k, n) : factor_number<T>(b, n, k);
      sums[0] += a[0][k] * right, sums[1] += a[1][k] * right;
    }
    upper = sums[0], lower = sums[1];
  }
}

template <typename T> inline void emulated_left(float (&rows)[2][16], const uint32_t (&a)[4]) {
  struct quarter {
    uint32_t x[4];
  };
  sl_emulate::bring(quarter{{a[0], a[1], a[2], a[3]}});
  for (unsigned k = 0; k < 16; k++) {
    const quarter from = sl_emulate::brought<quarter>(sl_emulate::lane() / 4 * 4 + k % 8 / 2);
    for (unsigned half = 0; half < 2; half++) rows[half][k] = half_of<T>(from.x[k / 8 * 2 + half], k % 2);
  }
}

template <typename T> inline void emulated_left(float (&rows)[2][16], uint64_t a) {
  sl_emulate::meet_warp();
  const unsigned first = threadIdx.x % 128 / 32 * 16 + sl_emulate::lane() / 4;
  for (unsigned k = 0; k < 16; k++)
    for (unsigned half = 0; half < 2; half++) rows[half][k] = factor_number<T>(a, first + 8 * half, k);
}
#endif

template <typename T> struct is_bf16 { static constexpr bool value = false; };
template <> struct is_bf16<bf16> { static constexpr bool value = true; };

#define SL_WGMMA_SUMS(c, i) "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])
#define SL_WGMMA_ASM(type, left, right, transposed, ...)                                                               \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" right ", 0;\n"                                                 \
               "wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type                                             \
               " {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,"  \
               "%27,%28,%29,%30,%31}, " left ", add, 1, 1, " transposed ";\n}\n"                                       \
               : SL_WGMMA_SUMS(c, 0), SL_WGMMA_SUMS(c, 1), SL_WGMMA_SUMS(c, 2), SL_WGMMA_SUMS(c, 3),                   \
                 SL_WGMMA_SUMS(c, 4), SL_WGMMA_SUMS(c, 5), SL_WGMMA_SUMS(c, 6), SL_WGMMA_SUMS(c, 7)                    \
               : __VA_ARGS__)

/* c (64,64) = a b, or c + a b with `add`; a (64,16) in registers, b (16,64) in shared memory: with ROWS its rows are
 * the rows there, otherwise its columns. */
template <typename T, bool ROWS>
__device__ inline void wgmma(float (&c)[8][4], const uint32_t (&a)[4], uint64_t b, bool add) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  if (is_bf16<T>::value)
    SL_WGMMA_ASM("bf16", "{%32,%33,%34,%35}, %36", "37", "%38", "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b),
                 "r"((int)add), "n"(ROWS ? 1 : 0));
  else
    SL_WGMMA_ASM("f16", "{%32,%33,%34,%35}, %36", "37", "%38", "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b),
                 "r"((int)add), "n"(ROWS ? 1 : 0));
#elif !defined(__CUDACC__)
  float rows[2][16];
  emulated_left<T>(rows, a);
  emulated_wgmma<T, ROWS>(c, rows, b, add);
#endif
}

/* The same with a in shared memory, its rows the rows there. */
template <typename T, bool ROWS> __device__ inline void wgmma(float (&c)[8][4], uint64_t a, uint64_t b, bool add) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  if (is_bf16<T>::value)
    SL_WGMMA_ASM("bf16", "%32, %33", "34", "0, %35", "l"(a), "l"(b), "r"((int)add), "n"(ROWS ? 1 : 0));
  else
    SL_WGMMA_ASM("f16", "%32, %33", "34", "0, %35", "l"(a), "l"(b), "r"((int)add), "n"(ROWS ? 1 : 0));
#elif !defined(__CUDACC__)
  float rows[2][16];
  emulated_left<T>(rows, a);
  emulated_wgmma<T, ROWS>(c, rows, b, add);
#endif
}

/* ROWS rows of W numbers in shared memory, as the tensor cores read them: one panel per 64 columns, in which a row is
 * 128 bytes and its eight pieces of 16 bytes change places with the row, so that eight rows of one piece are in
 * different banks. `x` must be a multiple of 1024 bytes, and so must the rows that a factor starts from, of 8. */
template <typename T, int ROWS, int W> struct panel_tile {
  static_assert(W % 64 == 0 && ROWS % 8 == 0, "whole panels of whole groups of rows");
  static constexpr int numbers = ROWS * W;
  T *x;

  __device__ T *at(int r, int c) const {
    return x + c / 64 * (ROWS * 64) + r * 64 + ((c / 8 ^ r) & 7) * 8 + c % 8;
  }
  /* b, or a, whose 16 rows along the sum are columns d on, of the 64 rows from r: a wgmma without ROWS. */
  __device__ uint64_t columns(int r, int d) const {
    return wgmma_factor(x, 2 * (d / 64 * (ROWS * 64) + r * 64 + d % 64));
  }
  /* b whose 16 rows along the sum are rows r on, of the 64 columns of panel `which`: a wgmma with ROWS. */
  __device__ uint64_t rows(int r, int which) const {
    return wgmma_factor(x, 2 * (which * (ROWS * 64) + r * 64));
  }
  /* Loads (16,16) from row r and column d as an a in registers. */
  __device__ void as_a(uint32_t (&a)[4], int r, int d) const {
    const int lane = (int)threadIdx.x % 32;
    ldmatrix<false>(a, at(r + lane % 16, d + lane / 16 * 8));
  }
  /* As half_tile::fill_async. */
  template <int THREADS> __device__ void fill_async(const T *src, uint32_t src_stride, int t0, int T_, int D) const {
    constexpr int vectors = W / 8, step = THREADS / vectors;
    static_assert(THREADS % vectors == 0 && ROWS % step == 0 && step % 8 == 0, "whole groups of rows at a time");
    const int r = (int)threadIdx.x / vectors, c = (int)threadIdx.x % vectors * 8;
    const int end = c < D ? T_ : 0;
    const T *from = src + (uint64_t)(uint32_t)(t0 + r) * src_stride + c;
    T *const to = at(r, c);
#pragma unroll
    for (int k = 0; k < ROWS; k += step) {
      copy_async(to + k * 64, from, t0 + r + k < end);
      from += (uint64_t)step * src_stride;
    }
  }
};

/* The first multiple of 1024 bytes in the dynamic shared memory of a launch, which asks for that many more. */
constexpr size_t panel_slack = 1024;
template <typename T> __device__ inline T *first_panel(unsigned char *shared) {
#ifdef __CUDA_ARCH__
  const uint32_t at = (uint32_t)__cvta_generic_to_shared(shared);
#else
  const uint32_t at = (uint32_t)(uintptr_t)shared;
#endif
  return reinterpret_cast<T *>(shared + (0 - at) % panel_slack);
}

} /* namespace */
} /* namespace sl */
