/* A CUDA runtime that is none: its device, streams and events, on the host. An event is what its last record before a
 * call was, whatever is recorded later; one that never was recorded is complete. */
#include "tests/stand_ins/graph.h"
#include "tests/stand_ins/parts.h"
#include "tests/stand_ins/queue.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

/* --- the device --- */

const char *cudaGetErrorString(cudaError_t code) {
  switch (code) {
  case cudaSuccess:
    return "no error";
  case cudaErrorNotReady:
    return "device not ready";
  case cudaErrorIllegalAddress:
    return "an illegal memory access was encountered";
  case cudaErrorMemoryAllocation:
    return "out of memory";
  default:
    return "an error";
  }
}

cudaError_t cudaGetLastError(void) {
  return stand_in_enter();
}

cudaError_t cudaPeekAtLastError(void) {
  return stand_in_enter();
}

cudaError_t cudaGetDeviceCount(int *count) {
  STAND_IN_ENTER();
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version) {
  return cudaDriverGetVersion(version);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *out, int device) {
  STAND_IN_ENTER();
  if (device != 0) return cudaErrorInvalidDevice;
  const char *old = getenv("SHARDLAB_STAND_IN_OLD"); /* an A100, else an H100 */
  *out = (struct cudaDeviceProp){
      .name = "a stand-in", .totalGlobalMem = stand_in_memory(), .l2CacheSize = 1 << 20, .major = old && *old ? 8 : 9};
  /* a launcher that shows each rank a device of its own */
  const char *rank = getenv("LOCAL_RANK");
  if (rank && getenv("SHARDLAB_STAND_IN_APART")) out->pciBusID = atoi(rank);
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  STAND_IN_ENTER();
  return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaDeviceGetPCIBusId(char *out, int size, int device) {
  (void)out, (void)size, (void)device;
  return cudaErrorInvalidDevice;
}

/* The idle GPU's work is on no stream any more: only its time is left. */
static cudaError_t sleep_after(cudaError_t code) {
  if (code == cudaSuccess && stand_in_idle()) stand_in_sleep(stand_in_idle_end());
  return code;
}

cudaError_t cudaDeviceSynchronize(void) {
  STAND_IN_ENTER_UNCAPTURED();
  return sleep_after(stand_in_device_wait());
}

/* --- streams --- */

/* Others wait for the default stream: the backend has none of them. */
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags) {
  STAND_IN_ENTER();
  if (flags != cudaStreamNonBlocking) return cudaErrorNotSupported;
  *out = stand_in_stream_new();
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  STAND_IN_ENTER();
  stand_in_stream_delete(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  STAND_IN_ENTER_UNCAPTURED();
  return sleep_after(stand_in_stream_wait(stream));
}

/* --- the host among a stream's work --- */

struct host_call {
  cudaHostFn_t function;
  void *data;
};

static bool take_call(void *context) {
  const struct host_call call = *(struct host_call *)context;
  free(context);
  call.function(call.data);
  return true;
}

static void *call_again(const void *context) {
  struct host_call *again = malloc(sizeof *again);
  *again = *(const struct host_call *)context;
  return again;
}

static const struct stand_in_work a_call = {STAND_IN_OTHER, take_call, call_again, NULL};

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data) {
  STAND_IN_ENTER();
  struct host_call *call = malloc(sizeof *call);
  *call = (struct host_call){function, data};
  return stand_in_put(stream, &a_call, call);
}

/* A stream that waits for a word of the host's, at least `value`; a word that is not pinned is not the device's to
 * read. */
struct word_wait {
  const uint32_t *word;
  uint32_t value;
};

static bool take_word(void *context) {
  const struct word_wait *wait = context;
  if ((int32_t)(__atomic_load_n(wait->word, __ATOMIC_ACQUIRE) - wait->value) < 0) return false;
  free(context);
  return true;
}

static const struct stand_in_work a_word = {STAND_IN_OTHER, take_word, NULL, NULL};

static CUresult wait_value(CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned flags) {
  if (stand_in_enter() != cudaSuccess) return CUDA_ERROR_ILLEGAL_ADDRESS;
  const uint32_t *word = (const uint32_t *)(uintptr_t)at;
  if (flags != CU_STREAM_WAIT_VALUE_GEQ || !stand_in_is_pinned(word)) return CUDA_ERROR_INVALID_VALUE;
  struct word_wait *wait = malloc(sizeof *wait);
  *wait = (struct word_wait){word, value};
  return stand_in_put(stream, &a_word, wait) == cudaSuccess ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **out, unsigned version, unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *found) {
  CUresult (*const function)(CUstream, CUdeviceptr, cuuint32_t, unsigned) = wait_value;
  STAND_IN_ENTER();
  *found = strcmp(name, "cuStreamWaitValue32") == 0 && version >= 12000 && flags == cudaEnableDefault &&
                   !getenv("SHARDLAB_STAND_IN_NO_WORDS")
               ? cudaDriverEntryPointSuccess
               : cudaDriverEntryPointSymbolNotFound;
  memcpy(out, &function, sizeof function);
  return cudaSuccess;
}

/* --- events --- */

/* One record of an event: the event, the stream and those who wait hold it. */
struct mark {
  int holders;
  bool over;
  double at;   /* CLOCK_MONOTONIC, seconds */
  int capture; /* of a stream that was captured: in which capture, and what it stands for */
  struct stand_in_set after;
};

struct CUevent_st {
  struct mark *mark; /* the last one; NULL: never recorded */
  bool timed;
};

static int bad_waits;

int stand_in_bad_waits(void) {
  return bad_waits;
}

static struct mark *hold(struct mark *mark) {
  __atomic_fetch_add(&mark->holders, 1, __ATOMIC_RELAXED);
  return mark;
}

static void let_go(struct mark *mark) {
  if (!mark || __atomic_fetch_sub(&mark->holders, 1, __ATOMIC_ACQ_REL) > 1) return;
  stand_in_set_free(&mark->after);
  free(mark);
}

static bool is_over(const void *what) {
  return ((const struct mark *)what)->over;
}

static bool take_record(void *context) {
  struct mark *mark = context;
  mark->at = stand_in_idle_end();
  mark->over = true;
  let_go(mark);
  return true;
}

static bool take_wait(void *context) {
  struct mark *mark = context;
  if (!mark->over) return false;
  let_go(mark);
  return true;
}

/* A capture has no records and waits: they are the order of its pieces. */
static const struct stand_in_work a_record = {STAND_IN_OTHER, take_record, NULL, NULL};
static const struct stand_in_work a_wait = {STAND_IN_OTHER, take_wait, NULL, NULL};

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags) {
  STAND_IN_ENTER();
  *out = calloc(1, sizeof **out);
  (*out)->timed = !(flags & cudaEventDisableTiming);
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *out) {
  return cudaEventCreateWithFlags(out, 0);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  STAND_IN_ENTER();
  let_go(event->mark);
  free(event);
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  STAND_IN_ENTER();
  if (!stream) bad_waits++; /* a lane without a stream */
  struct mark *mark = calloc(1, sizeof *mark);
  mark->holders = 1;
  let_go(event->mark);
  event->mark = mark;
  if (!stand_in_is_capturing(stream)) return stand_in_put(stream, &a_record, hold(mark));
  mark->capture = stand_in_open_capture();
  mark->after = stand_in_captured(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  STAND_IN_ENTER();
  (void)flags;
  if (!event->mark || !stream) bad_waits++;
  const bool captures = stand_in_is_capturing(stream);
  if (!event->mark) return cudaSuccess;
  if (event->mark->capture == 0 && captures) return stand_in_spoil(cudaErrorStreamCaptureIsolation);
  if (event->mark->capture == 0) return stand_in_put(stream, &a_wait, hold(event->mark));
  if (event->mark->capture != stand_in_open_capture()) return cudaErrorCapturedEvent;
  stand_in_join_capture(stream, &event->mark->after);
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  STAND_IN_ENTER();
  stand_in_only_asked();
  bool over = false;
  if (!event->mark) return cudaSuccess;
  if (event->mark->capture != 0) return cudaErrorCapturedEvent;
  const cudaError_t code = stand_in_some(is_over, event->mark, &over);
  if (code != cudaSuccess) return code;
  return over && event->mark->at <= stand_in_now() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  STAND_IN_ENTER_UNCAPTURED();
  if (!event->mark) return cudaSuccess;
  if (event->mark->capture != 0) return cudaErrorCapturedEvent;
  const cudaError_t code = stand_in_until(is_over, event->mark);
  if (code == cudaSuccess) stand_in_sleep(event->mark->at);
  return code;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end) {
  STAND_IN_ENTER();
  if (!start->mark || !end->mark || !start->timed || !end->timed) return cudaErrorInvalidResourceHandle;
  if (start->mark->capture != 0 || end->mark->capture != 0) return cudaErrorCapturedEvent;
  if (!start->mark->over || !end->mark->over) return cudaErrorNotReady;
  *ms = (float)(1e3 * (end->mark->at - start->mark->at));
  return cudaSuccess;
}
