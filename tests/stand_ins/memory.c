/* The stand-in's memory: a device's blocks, pinned memory and copies. Copies and fills are work of a stream; the host
 * waits where a CUDA runtime does, and only there: for what arrives in its own memory, and before memory is given back.
 * What comes from memory that is not pinned is read at once, as the runtime has it in its own pinned memory before it
 * returns. */
#include "tests/stand_ins/graph.h"
#include "tests/stand_ins/parts.h"
#include "tests/stand_ins/queue.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum place { PAGEABLE, PINNED, DEVICE };

struct block {
  struct block *next;
  char *at;
  size_t bytes, mapped; /* mapped: of the idle GPU */
  enum place place;
};
static struct block *blocks;
static size_t taken; /* bytes of "device" memory, of this process */

static struct block **find(const void *at) {
  struct block **b = &blocks;
  while (*b && !((const char *)at >= (*b)->at && (const char *)at < (*b)->at + (*b)->bytes)) b = &(*b)->next;
  return b;
}

static enum place place_of(const void *at) {
  const struct block *b = *find(at);
  return b ? b->place : PAGEABLE;
}

bool stand_in_is_pinned(const void *at) {
  return place_of(at) == PINNED;
}

static cudaError_t keep(void **out, void *at, size_t bytes, size_t mapped, enum place place) {
  struct block *b = malloc(sizeof *b);
  *b = (struct block){blocks, at, bytes, mapped, place};
  blocks = b;
  *out = at;
  return cudaSuccess;
}

/* --- blocks --- */

size_t stand_in_memory(void) {
  return stand_in_idle() ? (size_t)141 << 30 : (size_t)1 << 34;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total) {
  STAND_IN_ENTER();
  *total = stand_in_memory();
  *free_bytes = *total - taken;
  return cudaSuccess;
}

static void *idle_bytes(size_t bytes) {
  void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return map == MAP_FAILED ? NULL : map;
}

cudaError_t cudaMalloc(void **out, size_t bytes) {
  STAND_IN_ENTER_UNCAPTURED();
  const size_t whole = (bytes + 255) / 256 * 256;
  if (bytes == 0 || taken + bytes > stand_in_memory()) return cudaErrorMemoryAllocation;
  void *at = stand_in_idle() ? idle_bytes(bytes) : aligned_alloc(256, whole);
  if (!at) return cudaErrorMemoryAllocation;
  if (!stand_in_idle()) memset(at, 0xff, whole); /* NaN: what nobody wrote is not zero */
  taken += bytes;
  return keep(out, at, bytes, stand_in_idle() ? bytes : 0, DEVICE);
}

cudaError_t cudaMallocHost(void **out, size_t bytes) {
  STAND_IN_ENTER_UNCAPTURED();
  void *at = malloc(bytes);
  return at ? keep(out, at, bytes, 0, PINNED) : cudaErrorMemoryAllocation;
}

/* The device is idle before memory goes. */
static cudaError_t give_back(void *at, enum place place) {
  STAND_IN_ENTER_UNCAPTURED();
  struct block **b = find(at), *gone = *b;
  if (!at) return cudaSuccess;
  if (!gone || gone->at != at || gone->place != place) return cudaErrorInvalidValue;
  const cudaError_t code = stand_in_device_wait();
  if (code != cudaSuccess) return code;
  if (place == DEVICE) taken -= gone->bytes;
  if (gone->mapped > 0)
    munmap(at, gone->mapped);
  else
    free(at);
  *b = gone->next;
  free(gone);
  return cudaSuccess;
}

cudaError_t cudaFree(void *at) {
  return give_back(at, DEVICE);
}

cudaError_t cudaFreeHost(void *at) {
  return give_back(at, PINNED);
}

/* --- copies and fills --- */

struct copy {
  char *to;
  const char *from; /* NULL: a fill */
  char *staged;     /* owned: where `from` was read when the call was made */
  size_t bytes;
  int value;
  bool on_device; /* the idle GPU takes its time */
};

static bool take_copy(void *context) {
  struct copy *c = context;
  if (stand_in_idle() && c->on_device)
    stand_in_work(0, (c->from ? 2.0 : 1.0) * (double)c->bytes);
  else if (c->from)
    memmove(c->to, c->from, c->bytes);
  else
    memset(c->to, c->value, c->bytes);
  free(c->staged);
  free(c);
  return true;
}

/* Of a graph nothing is staged: memory that is not pinned is refused. */
static void *copy_again(const void *context) {
  struct copy *again = malloc(sizeof *again);
  *again = *(const struct copy *)context;
  return again;
}

static void forget_copy(void *context) {
  free(((struct copy *)context)->staged);
  free(context);
}

static const struct stand_in_work a_copy = {STAND_IN_OTHER, take_copy, copy_again, forget_copy};

cudaError_t cudaMemsetAsync(void *at, int value, size_t bytes, cudaStream_t stream) {
  STAND_IN_ENTER();
  if (place_of(at) != DEVICE) return cudaErrorInvalidValue;
  struct copy *c = calloc(1, sizeof *c);
  *c = (struct copy){.to = at, .value = value, .bytes = bytes, .on_device = true};
  return stand_in_put(stream, &a_copy, c);
}

cudaError_t cudaMemset(void *at, int value, size_t bytes) {
  return cudaMemsetAsync(at, value, bytes, NULL);
}

/* Does `kind` say what the addresses are? */
static bool is_kind(enum cudaMemcpyKind kind, bool from_device, bool to_device) {
  static const enum cudaMemcpyKind kinds[2][2] = {{cudaMemcpyHostToHost, cudaMemcpyHostToDevice},
                                                  {cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice}};
  return kind == cudaMemcpyDefault || kind == kinds[from_device][to_device];
}

static char *copy_of(const void *from, size_t bytes) {
  char *staged = malloc(bytes);
  memcpy(staged, from, bytes);
  return staged;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream) {
  STAND_IN_ENTER();
  const enum place source = place_of(from), target = place_of(to);
  if (!is_kind(kind, source == DEVICE, target == DEVICE)) return cudaErrorInvalidValue;
  if (stand_in_is_capturing(stream) && (source == PAGEABLE || target == PAGEABLE))
    return stand_in_spoil(cudaErrorStreamCaptureUnsupported);
  struct copy *c = calloc(1, sizeof *c);
  *c = (struct copy){.to = to, .from = from, .bytes = bytes, .on_device = source == DEVICE && target == DEVICE};
  if (source == PAGEABLE) c->from = c->staged = copy_of(from, bytes);
  const cudaError_t code = stand_in_put(stream, &a_copy, c);
  return code == cudaSuccess && target == PAGEABLE ? stand_in_stream_wait(stream) : code;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
  const bool waits = place_of(from) == PINNED || place_of(to) != DEVICE;
  const cudaError_t code = cudaMemcpyAsync(to, from, bytes, kind, NULL);
  return code == cudaSuccess && waits ? stand_in_stream_wait(NULL) : code;
}
