/* A CUDA runtime that is none: everything happens at once, on the host. */
#include "tests/cuda_backend/stand_in_parts.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* --- the idle GPU --- */

static double busy_until, speed = -1;

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void stand_in_launches(void (*instead)(size_t threads, size_t bytes)); /* tests/cuda/emulate.cpp */
static void launch(size_t threads, size_t bytes);

bool stand_in_idle(void) {
  if (speed >= 0) return speed > 0;
  const char *text = getenv("SHARDLAB_STAND_IN_IDLE");
  speed = text ? strtod(text, NULL) : 0;
  if (speed > 0) stand_in_launches(launch);
  return speed > 0;
}

/* One kernel after another, whatever its stream. */
void stand_in_work(double flops, double bytes) {
  const double now = seconds(), takes = 3e-6 + flops / 600e12 + bytes / 3e12;
  if (busy_until < now) busy_until = now;
  busy_until += takes / speed;
}

static void launch(size_t threads, size_t bytes) {
  stand_in_work(0, 8.0 * (double)threads + (double)bytes);
}

static void wait_until(double time) {
  const double left = time - seconds();
  if (left > 0) nanosleep(&(struct timespec){(time_t)left, (long)(1e9 * (left - (double)(time_t)left))}, NULL);
}

/* --- CUDA --- */

struct CUevent_st {
  bool recorded;
  double at;
};

static int bad_waits;

int stand_in_bad_waits(void) {
  return bad_waits;
}

const char *cudaGetErrorString(cudaError_t code) {
  return code == cudaSuccess ? "no error" : "an error";
}

cudaError_t cudaGetDeviceCount(int *count) {
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

static size_t stand_in_memory(void) {
  return stand_in_idle() ? (size_t)141 << 30 : (size_t)1 << 34;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *out, int device) {
  if (device != 0) return cudaErrorInvalidDevice;
  *out = (struct cudaDeviceProp){.name = "a stand-in", .totalGlobalMem = stand_in_memory(), .l2CacheSize = 1 << 20};
  /* a launcher that shows each rank a device of its own */
  const char *rank = getenv("LOCAL_RANK");
  if (rank && getenv("SHARDLAB_STAND_IN_APART")) out->pciBusID = atoi(rank);
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaDeviceSynchronize(void) {
  wait_until(busy_until);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *out, int size, int device) {
  (void)out, (void)size, (void)device;
  return cudaErrorInvalidDevice;
}

static size_t taken; /* bytes of "device" memory, of this process */

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total) {
  *total = stand_in_memory();
  *free_bytes = *total - taken;
  return cudaSuccess;
}

/* The size stands in front of a block. */
cudaError_t cudaMalloc(void **out, size_t bytes) {
  if (stand_in_idle()) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *map =
        taken + bytes > stand_in_memory() ? MAP_FAILED : mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (map == MAP_FAILED) return cudaErrorMemoryAllocation;
    memcpy(map + 3840, &bytes, sizeof bytes);
    taken += bytes;
    *out = map + 4096;
    return cudaSuccess;
  }
  char *at = aligned_alloc(256, (bytes + 511) / 256 * 256);
  if (!at) return cudaErrorMemoryAllocation;
  memset(at, 0xff, bytes + 256); /* NaN: what nobody wrote is not zero */
  memcpy(at, &bytes, sizeof bytes);
  taken += bytes;
  *out = at + 256;
  return cudaSuccess;
}

cudaError_t cudaFree(void *at) {
  size_t bytes;
  if (!at) return cudaSuccess;
  memcpy(&bytes, (char *)at - 256, sizeof bytes);
  taken -= bytes;
  if (stand_in_idle())
    munmap((char *)at - 4096, bytes + 4096);
  else
    free((char *)at - 256);
  return cudaSuccess;
}

cudaError_t cudaMallocHost(void **out, size_t bytes) {
  *out = malloc(bytes);
  return *out ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFreeHost(void *at) {
  free(at);
  return cudaSuccess;
}

cudaError_t cudaMemset(void *at, int value, size_t bytes) {
  if (stand_in_idle())
    stand_in_work(0, (double)bytes);
  else
    memset(at, value, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *at, int value, size_t bytes, cudaStream_t stream) {
  (void)stream;
  return cudaMemset(at, value, bytes);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
  if (stand_in_idle() && kind == cudaMemcpyDeviceToDevice)
    stand_in_work(0, 2.0 * (double)bytes);
  else
    memmove(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream) {
  (void)stream;
  return cudaMemcpy(to, from, bytes, kind);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags) {
  (void)flags;
  *out = malloc(1);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  free(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  (void)stream;
  wait_until(busy_until);
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags) {
  (void)flags;
  *out = calloc(1, sizeof **out);
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *out) {
  return cudaEventCreateWithFlags(out, 0);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  free(event);
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (!stream) bad_waits++; /* a lane without a stream */
  event->recorded = true;
  event->at = stand_in_idle() && busy_until > seconds() ? busy_until : seconds();
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return event->recorded && event->at <= seconds() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (event->recorded) wait_until(event->at);
  return event->recorded ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end) {
  *ms = (float)(1e3 * (end->at - start->at));
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  (void)flags;
  if (!event->recorded || !stream) bad_waits++;
  return cudaSuccess;
}
