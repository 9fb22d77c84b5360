/* The stand-in's streams: queues that the device works off late and in a random legal order. Internal to stand_in_*.c.
 *
 * A call only puts work on its stream. It is done when the host waits or asks, one piece after another: the first of some
 * stream, whichever has the highest of random priorities that change now and then (Burckhardt et al., ASPLOS 2010), so that
 * a stream runs far ahead of another, or far behind, as often as in step. What no wait orders comes in either order;
 * SHARDLAB_STAND_IN_SEED chooses. Memory is read and written when the work is done, not when it is put there. */
#pragma once

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

/* The first in a runtime call: what is wrong with the device, once and for ever. The very first call of a process takes
 * SHARDLAB_STAND_IN_START_S seconds, as with a driver that has to wake. */
cudaError_t stand_in_enter(void);
#define STAND_IN_ENTER()                                                                                               \
  do {                                                                                                                 \
    const cudaError_t code_ = stand_in_enter();                                                                        \
    if (code_ != cudaSuccess) return code_;                                                                            \
  } while (0)

/* A turn of a piece of work. True: it is over, and has freed its context; false: it waits, and is asked again. */
typedef bool (*stand_in_turn)(void *context);
enum stand_in_kind { STAND_IN_KERNEL, STAND_IN_OTHER }; /* kernels and products can fault (SHARDLAB_STAND_IN_FAULT) */
struct stand_in_work {
  enum stand_in_kind kind;
  stand_in_turn turn;
  void *(*again)(const void *context); /* a context of its own for a launch of a graph; NULL: none can be captured */
  void (*forget)(void *context);       /* NULL: free() */
};
/* Put work on a stream, or, where that is captured, into its graph. Where launches block (CUDA_LAUNCH_BLOCKING, the idle
 * GPU) it is over on return. */
cudaError_t stand_in_put(cudaStream_t stream, const struct stand_in_work *work, void *context);
void stand_in_forget(const struct stand_in_work *work, void *context);
/* A piece of work that the device is at, which is not one of a stream: does it fault? Under the lock of turns. */
bool stand_in_faults(const struct stand_in_work *work);
uint64_t stand_in_draw(void); /* under that lock */

/* Work until `over(what)`, which is asked under the lock that turns are taken under. */
cudaError_t stand_in_until(bool (*over)(const void *what), const void *what);
/* Work for a random while, or until then. Only the thread that puts work drives it: another one that asks learns how
 * things are. */
cudaError_t stand_in_some(bool (*over)(const void *what), const void *what, bool *is_over);
/* The device also works while the host makes no call at all: peers may wait for it. */
void stand_in_run_on(void);

/* Memory of cudaMallocHost? */
bool stand_in_is_pinned(const void *at);

cudaStream_t stand_in_stream_new(void);
void stand_in_stream_delete(cudaStream_t stream); /* its work is still done */
cudaError_t stand_in_stream_wait(cudaStream_t stream);
cudaError_t stand_in_device_wait(void);

uint64_t stand_in_seed(void);
/* A while that gets longer: 0, 1, ... are the turns since something moved. */
void stand_in_nap(int turns);
