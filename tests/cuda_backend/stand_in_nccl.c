/* An NCCL that is none: a slot for each member of each communicator in memory that the ranks share. */
#include "tests/cuda_backend/stand_in_parts.h"

#include <fcntl.h>
#include <nccl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int calls, hanging = -1;

int stand_in_calls(void) {
  return calls;
}

void stand_in_hang(int rank) {
  hanging = rank;
}

static int ended, first_to_fail;

void stand_in_fail(int first) {
  first_to_fail = first;
}

static ncclResult_t end(void) {
  return ++ended >= first_to_fail && first_to_fail > 0 ? ncclSystemError : ncclSuccess;
}

enum { RANKS = 8, COMMS = 160, SLOT = 64 << 10 };

struct shared {
  struct {
    atomic_int arrived;
    char slots[RANKS][SLOT];
  } comms[COMMS];
};
static struct shared *shared;

struct ncclComm {
  int id, size, rank, world_rank, splits;
};

/* Ranks that are programs of their own meet in memory named by the port at which they meet anyway. */
static int open_named(void) {
  const char *stem = getenv("SHARDLAB_STAND_IN"), *port = getenv("MASTER_PORT");
  char name[128];
  snprintf(name, sizeof name, "%s-%s", stem ? stem : "/shardlab-stand-in", port ? port : "0");
  const int file = shm_open(name, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, sizeof *shared) != 0) return 1;
  void *map = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  close(file);
  shared = map == MAP_FAILED ? NULL : map;
  return shared == NULL;
}

int stand_in_open(void) {
  const int flags = MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE;
  void *map = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, flags, -1, 0);
  shared = map == MAP_FAILED ? NULL : map;
  return shared == NULL;
}

/* All members arrive before any leaves. */
static void barrier(struct ncclComm *comm) {
  atomic_int *arrived = &shared->comms[comm->id].arrived;
  const int mine = atomic_fetch_add(arrived, 1), until = (mine / comm->size + 1) * comm->size;
  while (comm->world_rank == hanging) pause();
  for (int turns = 0; atomic_load(arrived) < until; turns++) {
    if (turns < 10)
      sched_yield();
    else
      nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL); /* the others compute, perhaps on this core */
  }
}

/* A member's `bytes` in its slot, seen by all between two barriers; `take` runs there. */
typedef void (*take_fn)(void *context, struct ncclComm *comm, size_t at, size_t bytes);
static void meet(struct ncclComm *comm, const char *mine, size_t bytes, take_fn take, void *context) {
  calls++;
  if (stand_in_idle() && bytes > SLOT) bytes = SLOT;
  for (size_t done = 0; done < bytes; done += SLOT) {
    const size_t n = bytes - done < SLOT ? bytes - done : SLOT;
    if (mine) memcpy(shared->comms[comm->id].slots[comm->rank], mine + done, n);
    barrier(comm);
    take(context, comm, done, n);
    barrier(comm);
  }
}

static const char *slot(const struct ncclComm *comm, int member) {
  return shared->comms[comm->id].slots[member];
}

const char *ncclGetErrorString(ncclResult_t code) {
  return code == ncclSuccess ? "no error" : "an error";
}

const char *ncclGetLastError(ncclComm_t comm) {
  (void)comm;
  return "";
}

ncclResult_t ncclGetVersion(int *version) {
  *version = 22809;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  memset(id, 0x5a, sizeof *id);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t *out, int size, ncclUniqueId id, int rank) {
  if (id.internal[3] != 0x5a || size > RANKS) return ncclInvalidArgument; /* not rank 0's id */
  if (!shared && open_named()) return ncclSystemError;
  *out = calloc(1, sizeof **out);
  **out = (struct ncclComm){.id = 0, .size = size, .rank = rank, .world_rank = rank};
  return ncclSuccess;
}

struct choice {
  int color, key;
};
struct choices {
  struct choice all[RANKS];
};

static void take_choices(void *context, struct ncclComm *comm, size_t at_byte, size_t bytes) {
  struct choices *choices = context;
  (void)at_byte;
  for (int i = 0; i < comm->size; i++) memcpy(&choices->all[i], slot(comm, i), bytes);
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *out, ncclConfig_t *config) {
  struct choice mine = {color, key};
  struct choices choices;
  (void)config;
  meet(comm, (const char *)&mine, sizeof mine, take_choices, &choices);
  const int split = comm->splits++;
  *out = NULL;
  if (color == NCCL_SPLIT_NOCOLOR) return ncclSuccess;
  struct ncclComm made = {.id = 1 + split * RANKS + color, .world_rank = comm->world_rank};
  for (int i = 0; i < comm->size; i++) {
    const struct choice *c = &choices.all[i];
    made.size += c->color == color;
    made.rank += c->color == color && (c->key < key || (c->key == key && i < comm->rank));
  }
  if (color >= RANKS || made.id >= COMMS) return ncclInvalidArgument;
  *out = malloc(sizeof **out);
  **out = made;
  return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count) {
  *count = comm->size;
  return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank) {
  *rank = comm->rank;
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  free(comm);
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  free(comm);
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state) {
  (void)comm;
  *state = ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart(void) {
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void) {
  return end();
}

static size_t bytes_of(ncclDataType_t type) {
  return type == ncclFloat64 ? 8 : type == ncclBfloat16 || type == ncclFloat16 ? 2 : type == ncclUint8 ? 1 : 4;
}

/* Sum over the members, in rank order, of elements [first, first + count) of what all sent. */
struct sum {
  char *to; /* NULL: not wanted here */
  size_t first, count, element;
  enum number type; /* OTHER: double */
};

static void take_sum(void *context, struct ncclComm *comm, size_t at_byte, size_t bytes) {
  const struct sum *s = context;
  for (size_t i = 0; s->to && i < bytes / s->element; i++) {
    const size_t global = at_byte / s->element + i;
    double total = 0;
    if (global < s->first || global >= s->first + s->count) continue;
    for (int m = 0; m < comm->size; m++)
      total += s->type == OTHER ? ((const double *)slot(comm, m))[i] : (double)number_get(slot(comm, m), s->type, i);
    if (s->type == OTHER)
      ((double *)s->to)[global - s->first] = total;
    else
      number_set(s->to, s->type, global - s->first, (float)total);
  }
}

static ncclResult_t reduce(const void *from, char *to, size_t all, size_t first, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  struct sum s = {to, first, count, bytes_of(type), OTHER};
  if (type == ncclFloat32) s.type = FLOAT;
  if (type == ncclBfloat16) s.type = BFLOAT;
  if (type == ncclFloat16) s.type = HALF;
  if ((s.type == OTHER && type != ncclFloat64) || op != ncclSum || !stream) return ncclInvalidArgument;
  meet(comm, from, all * bytes_of(type), take_sum, &s);
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  return reduce(from, to, count, 0, count, type, op, comm, stream);
}

ncclResult_t ncclReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  return reduce(from, comm->rank == root ? to : NULL, count, 0, count, type, op, comm, stream);
}

ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  const size_t all = count * (size_t)comm->size;
  return reduce(from, to, all, (size_t)comm->rank * count, count, type, op, comm, stream);
}

/* What members sent, each to its place: `whole` bytes apart; only: from that member alone. */
struct gather {
  char *to;
  size_t apart;
  int only; /* -1: all */
};

static void take_all(void *context, struct ncclComm *comm, size_t at_byte, size_t bytes) {
  const struct gather *g = context;
  for (int m = 0; g->to && m < comm->size; m++)
    if (g->only < 0 || g->only == m)
      memcpy(g->to + (g->only < 0 ? (size_t)m * g->apart : 0) + at_byte, slot(comm, m), bytes);
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  struct gather g = {to, count * bytes_of(type), -1};
  if (!stream) return ncclInvalidArgument;
  meet(comm, from, g.apart, take_all, &g);
  return ncclSuccess;
}

ncclResult_t ncclBroadcast(const void *from, void *to, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  struct gather g = {to, 0, root};
  if (!stream) return ncclInvalidArgument;
  meet(comm, comm->rank == root ? from : NULL, count * bytes_of(type), take_all, &g);
  return ncclSuccess;
}

/* Pairs only, as the backend has them. */
ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  struct gather none = {NULL, 0, -1};
  if (comm->size != 2 || peer == comm->rank || !stream) return ncclInvalidArgument;
  meet(comm, from, count * bytes_of(type), take_all, &none);
  return end();
}

ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  struct gather g = {to, 0, peer};
  if (comm->size != 2 || peer == comm->rank || !stream) return ncclInvalidArgument;
  meet(comm, NULL, count * bytes_of(type), take_all, &g);
  return end();
}
