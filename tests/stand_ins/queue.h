/* The stand-in's streams: queues that the device works off late and in a random legal order. Internal to
 * tests/stand_ins.
 *
 * A call only enqueues work on its stream. The work is done when the host waits or queries, one piece at a time: the
 * first piece of the stream with the highest of random priorities that change now and then (Burckhardt et al., ASPLOS
 * 2010). A stream therefore runs far ahead of another, or far behind, as often as in step. Work that no wait orders is
 * done in either order; SHARDLAB_STAND_IN_SEED chooses. Memory is read and written when work is done, not when it is
 * enqueued. */
#pragma once

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

/* The first statement of every runtime call: returns the device's error, which is permanent. The first call of a
 * process takes SHARDLAB_STAND_IN_START_S seconds, as with a driver that has to start. */
cudaError_t stand_in_enter(void);
#define STAND_IN_ENTER()                                                                                               \
  do {                                                                                                                 \
    const cudaError_t code_ = stand_in_enter();                                                                        \
    if (code_ != cudaSuccess) return code_;                                                                            \
  } while (0)

/* The call that was entered only asks how far the device is: how often that is done depends on how long it takes. */
void stand_in_only_asked(void);
/* Executes a piece of work. True: it is complete and has freed its context; false: it waits, and is called again. */
typedef bool (*stand_in_turn)(void *context);
/* Kernels and products can fault (SHARDLAB_STAND_IN_FAULT). On a device a call of NCCL is a kernel, too. */
enum stand_in_kind { STAND_IN_KERNEL, STAND_IN_COLLECTIVE, STAND_IN_OTHER };
struct stand_in_work {
  enum stand_in_kind kind;
  stand_in_turn turn;
  void *(*again)(const void *context); /* copies the context for a launch of a graph; NULL: the work cannot be
                                        * captured */
  void (*forget)(void *context);       /* NULL: free() */
};
/* Enqueues work on a stream, or, if the stream is being captured, adds it to its graph. If launches block
 * (CUDA_LAUNCH_BLOCKING, the idle GPU), the work is complete on return. */
cudaError_t stand_in_put(cudaStream_t stream, const struct stand_in_work *work, void *context);
void stand_in_forget(const struct stand_in_work *work, void *context);
/* For a piece of work that the device executes, but that is not in a stream: whether it faults. Call with the lock of
 * turns held. */
bool stand_in_faults(const struct stand_in_work *work);
uint64_t stand_in_draw(void); /* call with that lock held */

/* Works until `over(what)`, which is called with the lock held under which turns are executed. */
cudaError_t stand_in_until(bool (*over)(const void *what), const void *what);
/* Works for a random time, or until then. Only the thread that enqueues work drives it; another thread that calls this
 * only queries the state. */
cudaError_t stand_in_some(bool (*over)(const void *what), const void *what, bool *is_over);
/* The device also works while the host makes no call at all, because peers may wait for it. */
void stand_in_run_on(void);

/* Whether this is memory of cudaMallocHost. */
bool stand_in_is_pinned(const void *at);

cudaStream_t stand_in_stream_new(void);
void stand_in_stream_delete(cudaStream_t stream); /* its work is still done */
cudaError_t stand_in_stream_wait(cudaStream_t stream);
cudaError_t stand_in_device_wait(void);

uint64_t stand_in_seed(void);
/* Sleeps; longer for larger `turns`, which counts the turns since there was progress. */
void stand_in_nap(int turns);
