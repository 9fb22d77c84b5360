/* Asynchronous copies from global to shared memory (sm_80; PTX ISA, cp.async). A thread issues copies, closes groups of
 * them, and waits until all but the last N groups are complete; after a barrier they are complete for the whole block.
 * Between issue and wait the target's contents are undefined. */
#pragma once

#include "kernels/gpu/device.cuh"

namespace sl {
namespace {

/* Copies 16 bytes; both addresses must be multiples of 16. Unless `there`, writes zeros and reads nothing. */
__device__ inline void copy_async(void *to, const void *from, bool there) {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((uint32_t)__cvta_generic_to_shared(to)), "l"(from),
               "r"(there ? 16 : 0)
               : "memory");
#elif !defined(__CUDACC__)
  sl_emulate::copy_async(to, from, there);
#endif
}

__device__ inline void copy_commit() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.commit_group;" ::: "memory");
#elif !defined(__CUDACC__)
  sl_emulate::copy_commit();
#endif
}

/* Waits until all groups of this thread except the last N are complete. */
template <int N> __device__ inline void copy_wait() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#elif !defined(__CUDACC__)
  sl_emulate::copy_wait(N);
#endif
}

} /* namespace */
} /* namespace sl */
