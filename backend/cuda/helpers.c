/* Threads for ops that the host runs between ops of streams; see helpers.h. */
#include "backend/cuda/helpers.h"

#include "backend/common/offload.h"
#include "backend/cuda/cuda.h"
#include "core/op/workspace.h"

#include <cuda.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- called by the main thread and the streams ---- */

/* The runtime API has no such call. The driver library is not linked, since it exists only where a driver is
 * installed. */
static enum sl_status find_wait(sl_cuda_wait_value *out) {
  enum cudaDriverEntryPointQueryResult found;
  void *at = NULL;
  SL_CUDA_TRY(cudaGetDriverEntryPointByVersion("cuStreamWaitValue32", &at, 12000, cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess || at == NULL)
    return sl_fail(SL_ERR_ABSENT, "offload needs a driver with cuStreamWaitValue32, and this one has none");
  memcpy(out, &at, sizeof at);
  return SL_OK;
}

static enum sl_status await(const struct sl_cuda_helpers *h, cudaStream_t stream, enum sl_lane lane, uint32_t over) {
  const CUdeviceptr at = (CUdeviceptr)(uintptr_t)&h->over[lane];
  const CUresult code = h->wait_value(stream, at, over, CU_STREAM_WAIT_VALUE_GEQ);
  return code == CUDA_SUCCESS ? SL_OK : sl_cuda_failed("cuStreamWaitValue32", (cudaError_t)code);
}

/* Called by the driver, which forbids CUDA calls in here. */
static void CUDART_CB tell(void *context) {
  struct sl_cuda_help *lane = context;
  struct sl_cuda_helpers *h = &lane->cuda->helpers;
  pthread_mutex_lock(&h->lock);
  atomic_fetch_add(&lane->ready, 1);
  pthread_cond_broadcast(&h->wake);
  pthread_mutex_unlock(&h->lock);
}

enum sl_status sl_cuda_helpers_put(struct sl_cuda *cuda, cudaStream_t stream, const struct sl_issued *it) {
  struct sl_cuda_helpers *h = &cuda->helpers;
  struct sl_cuda_help *lane = &h->lanes[it->op->lane];
  const int at = sl_op_at(it->op, SL_AT_CONTROL);
  void *control = at < 0 ? NULL : sl_cuda_operand(cuda, it, at);
  lane->jobs[lane->put++] = *it;
  if (control) SL_CUDA_TRY(cudaMemcpyAsync(h->control, control, sizeof *h->control, cudaMemcpyDefault, stream));
  SL_CUDA_TRY(cudaLaunchHostFunc(stream, tell, lane));
  SL_TRY(await(h, stream, it->op->lane, lane->put));
  if (control && sl_op_slices(it->program, it->op)[at].access != SL_READ)
    SL_CUDA_TRY(cudaMemcpyAsync(control, h->control, sizeof *h->control, cudaMemcpyDefault, stream));
  return SL_OK;
}

/* ---- the helper threads ---- */

static void fail(struct sl_cuda_helpers *h, enum sl_status status) {
  pthread_mutex_lock(&h->lock);
  if (h->status == SL_OK) {
    h->status = status;
    snprintf(h->message, sizeof h->message, "%s", sl_error_message());
  }
  pthread_mutex_unlock(&h->lock);
  sl_error_clear();
}

static bool is_over_for_all(struct sl_cuda_helpers *h) {
  pthread_mutex_lock(&h->lock);
  const bool over = h->status != SL_OK || h->skip;
  pthread_mutex_unlock(&h->lock);
  return over;
}

static enum sl_status update(struct sl_cuda *cuda, const struct sl_issued *it) {
  const struct sl_call_rank rank = sl_cuda_call_rank(cuda);
  struct sl_call call;
  sl_call_decode(&call, &rank, it);
  call.x[SL_AT_CONTROL] = cuda->helpers.control;
  call.x[SL_AT_SCRATCH] = cuda->helpers.scratch;
  return sl_offload_update(it->op->kind)(&call);
}

/* Advances the current op of a lane. Sets *moved if there was progress and *over if the op is complete. */
static enum sl_status work(struct sl_cuda_help *lane, bool *moved, bool *over) {
  struct sl_cuda *cuda = lane->cuda;
  const struct sl_issued *it = &lane->jobs[lane->over];
  *over = true;
  if (is_over_for_all(&cuda->helpers)) return SL_OK;
  if (it->op->lane == SL_LANE_HOST) return update(cuda, it);
  if (!lane->running) {
    const struct sl_call_rank rank = sl_cuda_call_rank(cuda);
    lane->io = sl_offload_request(&rank, it);
    sl_nvme_start(&lane->io);
  }
  lane->running = true;
  return sl_nvme_drive(cuda->nvme, &lane->io, over, moved);
}

static void drive(struct sl_cuda_helpers *h, int number, bool *moved) {
  struct sl_cuda_help *lane = &h->lanes[number];
  bool over;
  if (atomic_load(&lane->ready) == lane->over) return;
  const enum sl_status status = work(lane, moved, &over);
  if (status != SL_OK) fail(h, status);
  if (status == SL_OK && !over) return;
  lane->running = false;
  *moved = true;
  lane->over++;
  __atomic_store_n(&h->over[number], lane->over, __ATOMIC_RELEASE); /* after everything that the op wrote */
}

/* Whether any of the lanes first .. last has an op to run. */
static bool has_work(struct sl_cuda_helpers *h, int first, int last) {
  for (int i = first; i <= last; i++)
    if (atomic_load(&h->lanes[i].ready) != h->lanes[i].over) return true;
  return false;
}

static void serve(struct sl_cuda_helpers *h, int first, int last) {
  for (int idle = 0;;) {
    pthread_mutex_lock(&h->lock);
    while (!h->stop && !has_work(h, first, last)) pthread_cond_wait(&h->wake, &h->lock);
    const bool stop = h->stop && !has_work(h, first, last);
    pthread_mutex_unlock(&h->lock);
    if (stop) return;
    bool moved = false;
    for (int i = first; i <= last; i++) drive(h, i, &moved);
    idle = moved ? 0 : idle + 1;
    if (idle > 20)
      nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL); /* blocks are in flight */
    else if (idle > 0)
      sched_yield();
  }
}

_Static_assert(SL_LANE_NVME_WRITE == SL_LANE_NVME_READ + 1, "one thread has both lanes of NVMe");

static void *serve_nvme(void *cuda) {
  serve(&((struct sl_cuda *)cuda)->helpers, SL_LANE_NVME_READ, SL_LANE_NVME_WRITE);
  return NULL;
}

static void *serve_cpu(void *context) {
  struct sl_cuda *cuda = context;
  if (cuda->options.threads > 1) omp_set_num_threads(cuda->options.threads); /* otherwise OpenMP chooses */
  serve(&cuda->helpers, SL_LANE_HOST, SL_LANE_HOST);
  return NULL;
}

/* ---- open and close ---- */

/* The number of ops that the lane has in the largest program. For the CPU's lane, also raises *scratch to the scratch
 * that its ops need. */
static uint32_t count_ops(const struct sl_class *c, int lane, int64_t *scratch) {
  uint32_t most = 0;
  for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) {
    const struct sl_program *p = &c->programs[kind];
    if (p->lane_ops[lane] > most) most = p->lane_ops[lane];
    for (size_t i = 0; i < p->op_count && lane == SL_LANE_HOST; i++) {
      const int64_t bytes = p->ops[i].lane == SL_LANE_HOST ? sl_op_workspace(&p->ops[i], 1) : 0;
      if (bytes > *scratch) *scratch = bytes;
    }
  }
  return most;
}

static enum sl_status open_lanes(struct sl_cuda *cuda, bool *any) {
  struct sl_cuda_helpers *h = &cuda->helpers;
  int64_t scratch = 1;
  *any = false;
  for (int i = 0; i < SL_LANE_COUNT; i++) {
    if (!sl_cuda_helps((enum sl_lane)i)) continue;
    const uint32_t count = count_ops(cuda->rank_class, i, &scratch);
    h->lanes[i].cuda = cuda;
    atomic_init(&h->lanes[i].ready, 0);
    SL_TRY(sl_calloc(&h->lanes[i].jobs, count, sizeof *h->lanes[i].jobs));
    *any |= count > 0;
  }
  return sl_calloc(&h->scratch, (size_t)scratch, 1);
}

static enum sl_status open_pinned(struct sl_cuda_helpers *h) {
  void *at = NULL;
  SL_TRY(find_wait(&h->wait_value));
  SL_CUDA_TRY(cudaMallocHost(&at, SL_LANE_COUNT * sizeof *h->over));
  h->over = at;
  SL_CUDA_TRY(cudaMallocHost(&at, sizeof *h->control));
  h->control = at;
  return SL_OK;
}

enum sl_status sl_cuda_helpers_open(struct sl_cuda *cuda) {
  static void *(*const work_of[2])(void *) = {serve_cpu, serve_nvme};
  struct sl_cuda_helpers *h = &cuda->helpers;
  bool any;
  SL_TRY(open_lanes(cuda, &any));
  if (!any) return SL_OK;
  SL_TRY(open_pinned(h));
  if (pthread_mutex_init(&h->lock, NULL) != 0) return sl_fail(SL_ERR_MEMORY, "no memory for a lock");
  pthread_cond_init(&h->wake, NULL);
  h->open = true;
  sl_cuda_helpers_begin(cuda);
  for (; h->started < 2; h->started++)
    if (pthread_create(&h->threads[h->started], NULL, work_of[h->started], cuda) != 0)
      return sl_fail(SL_ERR_MEMORY, "no thread can be started for updates in host memory");
  return SL_OK;
}

void sl_cuda_helpers_begin(struct sl_cuda *cuda) {
  struct sl_cuda_helpers *h = &cuda->helpers;
  if (!h->open) return;
  pthread_mutex_lock(&h->lock);
  for (int i = 0; i < SL_LANE_COUNT; i++) {
    h->lanes[i].put = h->lanes[i].over = 0;
    atomic_store(&h->lanes[i].ready, 0);
    h->over[i] = 0;
  }
  pthread_mutex_unlock(&h->lock);
}

enum sl_status sl_cuda_helpers_failed(struct sl_cuda *cuda) {
  struct sl_cuda_helpers *h = &cuda->helpers;
  if (!h->open) return SL_OK;
  pthread_mutex_lock(&h->lock);
  const enum sl_status status = h->status == SL_OK ? SL_OK : sl_error_relay(h->status, h->message);
  pthread_mutex_unlock(&h->lock);
  return status;
}

static void set(struct sl_cuda_helpers *h, bool *what) {
  pthread_mutex_lock(&h->lock);
  *what = true;
  pthread_cond_broadcast(&h->wake);
  pthread_mutex_unlock(&h->lock);
}

void sl_cuda_helpers_close(struct sl_cuda *cuda) {
  struct sl_cuda_helpers *h = &cuda->helpers;
  if (h->open) {
    set(h, &h->skip); /* streams that wait for an op become idle, and then none of them signals another op */
    sl_cuda_release("cudaDeviceSynchronize", cudaDeviceSynchronize());
    set(h, &h->stop);
    for (int i = 0; i < h->started; i++) pthread_join(h->threads[i], NULL);
    pthread_cond_destroy(&h->wake);
    pthread_mutex_destroy(&h->lock);
    h->open = false;
  }
  if (h->over) sl_cuda_release("cudaFreeHost", cudaFreeHost((void *)(uintptr_t)h->over));
  if (h->control) sl_cuda_release("cudaFreeHost", cudaFreeHost(h->control));
  for (int i = 0; i < SL_LANE_COUNT; i++) free(h->lanes[i].jobs);
  free(h->scratch);
}
