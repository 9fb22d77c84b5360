/* Ops that the GPU does not run: updates on the CPU and copies to and from NVMe, each lane of them by a thread beside the one that
 * issues, so that no step waits on the host. To the other lanes such a lane is a stream like any other: its op stands between what
 * it waits for and what waits for it as
 *
 *   1. a call of the host that tells the thread that all the op waits for is over;
 *   2. a wait of the stream for a word in pinned memory (cuStreamWaitValue32), which the thread writes behind the op.
 *
 * The control block lives on the device: an op that uses it gets a copy, taken and brought back by the stream around the two. */
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
  uint32_t put;           /* of them issued */
  atomic_uint ready;      /* whose waits are over */
  uint32_t over;          /* by its thread alone */
  bool running;           /* jobs[over], and it is a request */
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
  bool skip, stop;       /* do nothing any more, only tell that it is over; end */
  enum sl_status status; /* the first failure; what comes after it is not done, only told to be over */
  char message[1024];
};

/* Is it a lane of such ops? */
static inline bool sl_cuda_helps(enum sl_lane lane) {
  return lane == SL_LANE_HOST || sl_lane_is_nvme(lane);
}

/* Threads and memory, where a program of this rank has such ops; once the context is there. Errors: SL_ERR_MEMORY; SL_ERR_ABSENT: a
 * driver without waits for words. */
enum sl_status sl_cuda_helpers_open(struct sl_cuda *cuda);
/* Ends what runs, and the device's waits for it; accepts what is not open. */
void sl_cuda_helpers_close(struct sl_cuda *cuda);
/* A program begins; nothing runs. */
void sl_cuda_helpers_begin(struct sl_cuda *cuda);
/* Put `it` on its lane's stream, behind the events that it waits for. */
enum sl_status sl_cuda_helpers_put(struct sl_cuda *cuda, cudaStream_t stream, const struct sl_issued *it);
/* The first failure of an op so far, recorded on this thread; SL_OK: none. */
enum sl_status sl_cuda_helpers_failed(struct sl_cuda *cuda);
