/* Ops that the GPU does not run: updates on the CPU, and copies to and from NVMe. A thread other than the issuing one
 * runs them, so that no step waits on the host. To other lanes, the lane of such ops is a stream like any other. On
 * that stream an op is
 *
 *   1. a host callback, which tells the thread that everything the op waits for is complete;
 *   2. a wait of the stream for a word in pinned memory (cuStreamWaitValue32), which the thread writes after the op.
 *
 * The control block is in device memory: for an op that uses it, the stream copies it to the host before and back
 * afterwards. */
#pragma once

#include "backend/common/nvme.h"
#include "core/program/step_state.h"
#include "core/run/executor.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sl_cuda;

/* A lane that the host runs. */
struct sl_cuda_help {
  struct sl_cuda *cuda;
  struct sl_issued *jobs; /* the program's ops of this lane; owned */
  uint32_t put;           /* how many of them were issued */
  atomic_uint ready;      /* how many have all their waits complete */
  uint32_t over;          /* how many are complete; used by the lane's thread only */
  bool running;           /* jobs[over] is an NVMe request in flight */
  struct sl_nvme_request io;
};

typedef CUresult (*sl_cuda_wait_value)(CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned flags);

struct sl_cuda_helpers {
  bool open;
  sl_cuda_wait_value wait_value;
  volatile uint32_t *over;       /* (SL_LANE_COUNT): ops of the lane that are over; pinned, owned */
  struct sl_step_state *control; /* what an op of the CPU sees of it; pinned, owned */
  char *scratch;                 /* of such an op; owned */
  struct sl_cuda_help lanes[SL_LANE_COUNT];
  pthread_t threads[2]; /* of the CPU's lane; of both that NVMe has, whose file takes calls of one thread */
  int started;
  pthread_mutex_t lock; /* of what follows */
  pthread_cond_t wake;
  bool skip, stop;       /* skip: only mark ops as complete, without running them; stop: the threads end */
  enum sl_status status; /* the first failure; later ops are not run, only marked as complete */
  char message[1024];
};

/* Whether helper threads run the ops of this lane. */
static inline bool sl_cuda_helps(enum sl_lane lane) {
  return lane == SL_LANE_HOST || sl_lane_is_nvme(lane);
}

/* Starts threads and allocates memory if a program of this rank has such ops. Needs the CUDA context. Errors:
 * SL_ERR_MEMORY; SL_ERR_ABSENT if the driver does not support cuStreamWaitValue32. */
enum sl_status sl_cuda_helpers_open(struct sl_cuda *cuda);
/* Ends running ops and releases the streams that wait for them. Accepts helpers that were not opened. */
void sl_cuda_helpers_close(struct sl_cuda *cuda);
/* A program begins; nothing runs. */
void sl_cuda_helpers_begin(struct sl_cuda *cuda);
/* Put `it` on its lane's stream, behind the events that it waits for. */
enum sl_status sl_cuda_helpers_put(struct sl_cuda *cuda, cudaStream_t stream, const struct sl_issued *it);
/* The first failure of an op so far, recorded on this thread; SL_OK: none. */
enum sl_status sl_cuda_helpers_failed(struct sl_cuda *cuda);
