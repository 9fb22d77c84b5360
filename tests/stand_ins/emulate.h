/* As much of CUDA C++ as the kernels (*.cu) use, on one CPU thread, so that the kernels' logic is tested without a GPU.
 * Passed to a C++ compiler by -include; without __CUDACC__ the sources take their number conversions from
 * kernels/numbers/half.h.
 *
 * A thread of a block is a fiber. It runs until a barrier of its block or an exchange in its warp; then the next fiber
 * of its warp runs, and the next warp when this one cannot go on. Every barrier must be reached by all threads: if one
 * has returned, or waits elsewhere, the program ends with a message. The order of threads and of blocks can be
 * reversed, so that a missing barrier shows as a difference of the results.
 *
 * Under the thread sanitizer every fiber counts as a thread, and only __syncthreads and __syncwarp order the memory of
 * two: a missing barrier is a data race, whatever the results. Shuffles, votes and the tensor cores' instructions order
 * nothing, as on a GPU. Blocks run one after another, as if in a stream. */
#pragma once

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
struct uint3 {
  unsigned x, y, z;
};

extern dim3 gridDim, blockDim; /* of the running launch */
typedef struct CUstream_st *cudaStream_t;

namespace sl_emulate {

/* A copy into shared memory that the thread has issued and not yet waited for. */
struct pending {
  void *to;
  const void *from;
  bool there;
  unsigned group;
};
struct position {
  dim3 thread, block;
  std::vector<pending> copies;
  unsigned group = 0; /* the open group */
};
extern position *now; /* of the running fiber */

void sync_block();
void sync_warp();
void meet_warp(); /* all lanes have arrived, but it orders no memory */
/* For exchanges within a warp: writes to the running lane's slot of 64 bytes, and, after meet_warp(), reads one of the
 * warp's. A lane has two slots, used in turn, because it may reach its next exchange before others have read this
 * one. */
void put_slot(const void *from, size_t bytes);
void take_slot(unsigned lane, void *to, size_t bytes);
/* Of every eighth of the warp's lanes the addresses that two have brought. */
void brought_rows(const void *(&rows)[4][2], unsigned first, unsigned second);
unsigned lane();
void *dynamic_shared();
[[noreturn]] void complain(const char *what); /* about the running block; ends the program */

typedef uint64_t __attribute__((may_alias)) eight_bytes;
/* Copies 16 bytes. The previous contents are lost at once, since a copy may begin at once; the new contents arrive with
 * the wait, since a copy may take until then. Both count as writes of this thread, so a thread that reads in between,
 * or without a barrier, is in a race. */
inline void copy_async(void *to, const void *from, bool there) {
  if ((uintptr_t)to % 16 != 0 || (there && (uintptr_t)from % 16 != 0))
    complain("cp.async: 16 bytes that are not aligned");
  eight_bytes *const bytes = static_cast<eight_bytes *>(to);
  bytes[0] = bytes[1] = ~(uint64_t)0; /* NaN */
  now->copies.push_back({to, from, there, now->group});
}
inline void copy_commit() {
  now->group++;
}
inline void copy_wait(unsigned but) {
  size_t left = 0;
  for (const pending &p : now->copies) {
    if (p.group + but >= now->group) {
      now->copies[left++] = p;
      continue;
    }
    eight_bytes *const to = static_cast<eight_bytes *>(p.to);
    const eight_bytes *const from = static_cast<const eight_bytes *>(p.from);
    to[0] = p.there ? from[0] : 0, to[1] = p.there ? from[1] : 0;
  }
  now->copies.resize(left);
}

/* A kernel requests that much dynamic shared memory; sm_80 has 163 KiB. */
int ask(const void *kernel, size_t shared);
/* Whether a launch is valid. Unless requested, dynamic shared memory and the 16 KiB that a kernel may declare
 * statically must fit into 48 KiB. */
int check(const void *kernel, dim3 blocks, dim3 threads, size_t shared);
/* Runs body(context) once for each thread of each block, with `shared` bytes of dynamic shared memory, filled with
 * NaN. */
void run(dim3 blocks, dim3 threads, size_t shared, void (*body)(void *), void *context);
/* Whether the device has sm_90a's instructions (kernels/gpu/wgmma.cuh). */
extern bool warpgroups;
/* Whether of many blocks only some run, of which the first and the last. */
extern bool few_blocks;
/* 1: threads and blocks in reverse order. */
void set_reverse(int reverse);
/* If set, it receives every launch, with its number of threads, and every fill, with its number of bytes, to be put
 * onto a stream. It calls act(context, 1) at any time to do the work, act(context, 2) to do it and keep it for another
 * call, or act(context, 0) to free it. */
extern int (*take)(cudaStream_t to, void (*act)(void *context, int run), void *context, size_t threads, size_t bytes);

/* Writes this lane's value and waits until all lanes have written theirs; then any lane's can be read. */
template <typename T> void bring(const T &mine) {
  static_assert(sizeof(T) <= 64, "a slot holds 64 bytes");
  put_slot(&mine, sizeof mine);
  meet_warp();
}
template <typename T> T brought(unsigned lane) {
  T y;
  take_slot(lane, &y, sizeof y);
  return y;
}
/* The same of one lane's word, in one call. */
uint64_t trade(uint64_t mine, unsigned from);
template <typename T> T exchange(T x, unsigned from) {
  static_assert(sizeof(T) <= sizeof(uint64_t), "a word");
  uint64_t bits = 0;
  memcpy(&bits, &x, sizeof x);
  bits = trade(bits, from % 32);
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* A lane's numbers of the tiles of mma.m16n8k16, in the order of its registers (kernels/gpu/mma.cuh), and their c + a
 * b: the warp's numbers are multiplied here, where no sanitizer takes them for the kernel's own memory. */
struct __attribute__((may_alias)) tiles {
  float a[8], b[4];
};
struct sums {
  float c[4];
};
sums product(const tiles &mine, sums c);

} /* namespace sl_emulate */

#define threadIdx (sl_emulate::now->thread)
#define blockIdx (sl_emulate::now->block)
#define SL_DYNAMIC_SHARED(name) unsigned char *const name = static_cast<unsigned char *>(sl_emulate::dynamic_shared())

static inline void __syncthreads() {
  sl_emulate::sync_block();
}
static inline void __syncwarp(unsigned = 0xffffffffu) {
  sl_emulate::sync_warp();
}
template <typename T> static inline T __shfl_xor_sync(unsigned, T x, int mask) {
  return sl_emulate::exchange(x, sl_emulate::lane() ^ (unsigned)mask);
}
template <typename T> static inline T __shfl_sync(unsigned, T x, int from) {
  return sl_emulate::exchange(x, (unsigned)from);
}
static inline unsigned __ballot_sync(unsigned, int condition) {
  unsigned bits = 0;
  sl_emulate::bring(condition);
  for (unsigned l = 0; l < 32; l++) bits |= (sl_emulate::brought<int>(l) ? 1u : 0u) << l;
  return bits;
}
static inline int __syncthreads_or(int condition) {
  static std::atomic<int> any;
  sl_emulate::sync_block();
  any.store(0, std::memory_order_relaxed);
  sl_emulate::sync_block();
  if (condition) any.store(1, std::memory_order_relaxed);
  sl_emulate::sync_block();
  return any.load(std::memory_order_relaxed);
}
/* Blocks run one after another, threads as fibers: one atomic access is one step of either. */
static inline int atomicMax(int *at, int x) {
  const int old = __atomic_load_n(at, __ATOMIC_RELAXED);
  if (x > old) __atomic_store_n(at, x, __ATOMIC_RELAXED);
  return old;
}
static inline int __float_as_int(float x) {
  int bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
static inline int __popc(unsigned x) {
  return __builtin_popcount(x);
}
static inline int __ffs(int x) {
  return __builtin_ffs(x);
}

typedef int cudaError_t;
enum { cudaSuccess = 0, cudaErrorInvalidValue = 1 };
enum { cudaFuncAttributeMaxDynamicSharedMemorySize, cudaFuncAttributePreferredSharedMemoryCarveout };
enum { cudaSharedmemCarveoutMaxShared = 100 };
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
};

static inline cudaError_t cudaFuncSetAttribute(const void *kernel, int attribute, int value) {
  return attribute == cudaFuncAttributeMaxDynamicSharedMemorySize ? sl_emulate::ask(kernel, (size_t)value)
                                                                  : cudaSuccess;
}
namespace sl_emulate {
template <typename F> void call_body(void *f) {
  (*static_cast<F *>(f))();
}
template <typename F> void act(void *f, int run) {
  if (run) (*static_cast<F *>(f))();
  if (run != 2) delete static_cast<F *>(f);
}
/* Does the work at once, or later: `work` holds everything that it needs by value. */
template <typename F> int put(cudaStream_t to, size_t threads, size_t bytes, F work) {
  if (take) return take(to, act<F>, new F(work), threads, bytes);
  work();
  return cudaSuccess;
}
} /* namespace sl_emulate */

static inline cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream) {
  return sl_emulate::put(stream, 0, bytes, [=]() { std::memset(p, value, bytes); });
}

template <typename... P, typename... A>
static inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(P...), A... args) {
  const cudaLaunchConfig_t launch = *config;
  const dim3 g = launch.gridDim, b = launch.blockDim;
  const int error = sl_emulate::check((const void *)kernel, g, b, launch.dynamicSmemBytes);
  if (error) return error;
  return sl_emulate::put(launch.stream, (size_t)g.x * g.y * g.z * b.x * b.y * b.z, 0, [=]() {
    auto body = [&]() { kernel(P(args)...); };
    sl_emulate::run(launch.gridDim, launch.blockDim, launch.dynamicSmemBytes, sl_emulate::call_body<decltype(body)>,
                    &body);
  });
}
