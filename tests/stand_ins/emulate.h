/* As much of CUDA C++ as the kernels (*.cu) use, on one CPU thread, so that the kernels' logic is tested where no GPU is. Given
 * to a C++ compiler by -include; without __CUDACC__ the sources take their number conversions from kernels/numbers/half.h.
 *
 * A thread of a block is a fiber. It runs until a barrier of its block or an exchange in its warp; the next one of its
 * warp runs then, and the next warp when this one can go no further. Every barrier must be met by all threads: one that
 * has returned, or waits elsewhere, ends the program with a message. The order of threads and of blocks can be turned
 * round, so that a forgotten barrier shows as a difference of the results.
 *
 * Built with the thread sanitizer, a fiber is a thread to it, and only __syncthreads and __syncwarp order the memory of
 * two: a forgotten barrier is a data race, whatever the results. Shuffles, votes and the tensor cores' instructions order
 * nothing, as on a GPU. Blocks come one after another, as if in a stream. */
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

/* A copy into shared memory that the thread has issued and not waited for. */
struct pending {
  void *to;
  const void *from;
  bool there;
  unsigned group;
};
struct position {
  dim3 thread, block;
  std::vector<pending> copies;
  unsigned group = 0; /* the one that is open */
};
extern position *now; /* of the running fiber */

void sync_block();
void sync_warp();
void meet_warp(); /* all lanes are there, but it orders no memory */
/* For exchanges within a warp: into the running lane's slot of 64 bytes, and, after meet_warp(), out of one of the warp's.
 * A lane has two slots, in turns: it may be at its next exchange before others have taken from this one. */
void put_slot(const void *from, size_t bytes);
void take_slot(unsigned lane, void *to, size_t bytes);
unsigned lane();
void *dynamic_shared();
[[noreturn]] void complain(const char *what); /* of the running block, and end the program */

typedef uint64_t __attribute__((may_alias)) eight_bytes;
/* 16 bytes. What they replace is gone at once, for a copy may begin at once; what comes is there after the wait, for it may take
 * until then. Both are writes of this thread, so that a thread that reads between the two, or without a barrier, is in a race. */
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

/* A kernel asks for that much dynamic shared memory; sm_80 has 163 KiB. */
int ask(const void *kernel, size_t shared);
/* Is that a launch? Without having been asked for, dynamic shared memory and the 16 KiB that a kernel may declare itself
 * must fit into 48. */
int check(const void *kernel, dim3 blocks, dim3 threads, size_t shared);
/* Run body(context) once for each thread of each block; `shared` bytes of dynamic shared memory, full of NaN. */
void run(dim3 blocks, dim3 threads, size_t shared, void (*body)(void *), void *context);
/* 1: threads and blocks in turned order. */
void set_reverse(int reverse);
/* Where set, it takes every launch of so many threads and every fill of so many bytes onto a stream, to call
 * act(context, 1) when it likes, act(context, 2) to call it again later, or act(context, 0), which only forgets it. */
extern int (*take)(cudaStream_t to, void (*act)(void *context, int run), void *context, size_t threads, size_t bytes);

/* Mine, when all lanes have brought theirs; then any lane's. */
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
template <typename T> T exchange(T x, unsigned from) {
  bring(x);
  return brought<T>(from % 32);
}

/* A lane's numbers of the tiles of mma.m16n8k16, in the order of its registers (kernels/gpu/mma.cuh), and c + a b of them: what
 * the warp brings is multiplied here, where no sanitizer takes it for the kernel's own memory. */
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
static inline int __popc(unsigned x) {
  return __builtin_popcount(x);
}
static inline int __ffs(int x) {
  return __builtin_ffs(x);
}

typedef int cudaError_t;
enum { cudaSuccess = 0, cudaErrorInvalidValue = 1 };
enum { cudaFuncAttributeMaxDynamicSharedMemorySize };
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
};

static inline cudaError_t cudaFuncSetAttribute(const void *kernel, int, int bytes) {
  return sl_emulate::ask(kernel, (size_t)bytes);
}
namespace sl_emulate {
template <typename F> void call_body(void *f) {
  (*static_cast<F *>(f))();
}
template <typename F> void act(void *f, int run) {
  if (run) (*static_cast<F *>(f))();
  if (run != 2) delete static_cast<F *>(f);
}
/* At once, or later: `work` has all that it needs by value. */
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
