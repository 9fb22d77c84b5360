/* The watch thread. Whatever the main thread waits for (NCCL's rendezvous, a full launch queue, a program's end), this
 * thread checks every 50 ms whether the job can still go on, and ends the process if it cannot: a peer is gone, NCCL
 * reports an error, or there was no progress for SHARDLAB_TIMEOUT_S seconds. The message names the rank and the
 * communication op that is not complete; the other ranks receive it over the star and end too.
 *
 * The process ends by _exit, because the main thread may be inside a driver call that never returns. */
#include "backend/cuda/cuda.h"
#include "core/base/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void nap(void) {
  nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
}

static const struct sl_op *op_of(const struct sl_cuda *cuda, uint32_t issue) {
  return &cuda->program->ops[cuda->program->issues[issue].op];
}

/* In a graph: whether a mark shows that this communication op is complete. */
static bool is_marked(const struct sl_cuda *cuda, uint32_t issue) {
  const struct sl_op *op = op_of(cuda, issue);
  return cuda->graphs.replaying && sl_op_is_comm(op->kind) &&
         cuda->marks.over[op->lane] > cuda->program->issues[issue].lane_index;
}

/* Finds the first issue, from `looked` on, whose event is not complete. A failure of the device is returned. */
static enum sl_status look(struct sl_cuda *cuda, uint32_t *stands_at) {
  const struct sl_cuda_events *plan = &cuda->plans[cuda->kind];
  const uint32_t issued = atomic_load(&cuda->issued);
  uint32_t i = cuda->watch.looked;
  SL_CUDA_TRY(cudaSetDevice(cuda->device)); /* the device is chosen per thread; otherwise this thread would create a
                                             * context on device 0 */
  for (; i < issued; i++) {
    if (plan->event_of[i] == SL_CUDA_NO_EVENT || is_marked(cuda, i)) continue;
    /* events recorded in a graph say nothing about progress, but any event reports a lost device */
    const bool graph = cuda->graphs.replaying;
    const cudaError_t code = cudaEventQuery(graph ? cuda->base : cuda->events[plan->event_of[i]]);
    if (code != cudaSuccess && code != cudaErrorNotReady) return sl_cuda_failed("cudaEventQuery", code);
    if (code == cudaErrorNotReady || (graph && sl_op_is_comm(op_of(cuda, i)->kind))) break;
  }
  if (i > cuda->watch.looked || issued != cuda->watch.issued) cuda->watch.moved_s = sl_machine_clock();
  cuda->watch.looked = i;
  cuda->watch.issued = issued;
  *stands_at = i;
  return SL_OK;
}

/* Describes the communication op that a stuck program waits for: the first incomplete one. It may be the op that is
 * being issued, if its NCCL call does not return. */
static void stands_in(const struct sl_cuda *cuda, uint32_t from, char *out, size_t size) {
  uint32_t issued = atomic_load(&cuda->issued);
  if (issued < cuda->program->issue_count) issued++;
  for (uint32_t i = from; i < issued; i++) {
    if (!sl_op_is_comm(cuda->program->ops[cuda->program->issues[i].op].kind)) continue;
    sl_cuda_describe(cuda, cuda->program, i, out, size);
    return;
  }
  if (from < issued)
    sl_cuda_describe(cuda, cuda->program, from, out, size);
  else
    snprintf(out, size, "the end of the program");
}

static void where(const struct sl_cuda *cuda, uint32_t stands_at, char *out, size_t size) {
  if (cuda->watch.running)
    stands_in(cuda, stands_at, out, size);
  else
    snprintf(out, size, "%s", cuda->watch.phase ? cuda->watch.phase : "its own work");
}

/* `quiet`: another rank has already reported the reason. */
static _Noreturn void end_process(struct sl_cuda *cuda, enum sl_status status, const char *text, bool quiet) {
  sl_cuda_claim_end(cuda);
  if (!quiet) fprintf(stderr, "shardlab: rank %d: %s\n", cuda->rank, text);
  fflush(NULL);
  sl_star_abort(&cuda->star, text);
  _exit(sl_exit_code(status));
}

static enum sl_status check(struct sl_cuda *cuda, uint32_t *stands_at) {
  struct sl_cuda_watch *w = &cuda->watch;
  SL_TRY(sl_star_watch(&cuda->star));
  if (w->running) {
    SL_TRY(sl_cuda_comms_poll(cuda));
    SL_TRY(look(cuda, stands_at));
  }
  const double still = sl_machine_clock() - w->moved_s;
  /* lower ranks time out first, so that one rank reports and ends the job */
  if ((!w->running && !w->phase) || still < cuda->timeout_s + 0.25 * (cuda->rank < 16 ? cuda->rank : 16)) return SL_OK;
  return sl_fail(SL_ERR_PEER, "no progress for %g s (SHARDLAB_TIMEOUT_S sets the limit)", cuda->timeout_s);
}

/* If one of our own ops failed, that is the reason. For any other failure the message says what the rank waits for. */
static _Noreturn void give_up(struct sl_cuda *cuda, enum sl_status status, uint32_t stands_at) {
  char at[256], text[2048];
  if (cuda->watch.running && sl_cuda_marks_blame(cuda, &status)) end_process(cuda, status, sl_error_message(), false);
  where(cuda, stands_at, at, sizeof at);
  snprintf(text, sizeof text, "%s; it waits in %s", sl_error_message(), at);
  end_process(cuda, SL_ERR_PEER, text, strstr(sl_error_message(), " ended the job: ") != NULL);
}

static void *watch(void *argument) {
  struct sl_cuda *cuda = argument;
  while (!atomic_load(&cuda->watch.stop)) {
    nap();
    pthread_mutex_lock(&cuda->watch.lock);
    uint32_t stands_at = cuda->watch.looked;
    const enum sl_status status = atomic_load(&cuda->watch.stop) ? SL_OK : check(cuda, &stands_at);
    if (status != SL_OK) give_up(cuda, status, stands_at);
    pthread_mutex_unlock(&cuda->watch.lock);
  }
  return NULL;
}

enum sl_status sl_cuda_watch_start(struct sl_cuda *cuda) {
  struct sl_cuda_watch *w = &cuda->watch;
  atomic_init(&w->stop, false);
  w->moved_s = sl_machine_clock();
  /* there are no peers to wait for, and a failure is reported where the call is made */
  if (cuda->place.world == 1) return SL_OK;
  if (pthread_mutex_init(&w->lock, NULL) != 0) return sl_fail(SL_ERR_MEMORY, "no memory for a lock");
  if (pthread_create(&w->thread, NULL, watch, cuda) != 0) {
    pthread_mutex_destroy(&w->lock);
    return sl_fail(SL_ERR_MEMORY, "no watch thread can be started");
  }
  w->started = true;
  return SL_OK;
}

void sl_cuda_watch_stop(struct sl_cuda *cuda) {
  struct sl_cuda_watch *w = &cuda->watch;
  if (!w->started) return;
  atomic_store(&w->stop, true);
  pthread_join(w->thread, NULL);
  pthread_mutex_destroy(&w->lock);
  w->started = false;
}
