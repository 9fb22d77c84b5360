/* Slots and rounds; see exchange.h. */
#include "tests/stand_ins/exchange.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct shared {
  struct {
    atomic_ulong posted, taken; /* by all members, since the beginning */
    struct head heads[RANKS];
    char slots[RANKS][SLOT];
  } comms[COMMS];
};
static struct shared *shared;

int stand_in_join(const char *meeting) {
  const char *stem = getenv("SHARDLAB_STAND_IN");
  char name[128];
  if (shared) return 0;
  snprintf(name, sizeof name, "%s-%s", stem ? stem : "/shardlab-stand-in", meeting);
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

const char *stand_in_slot(const struct call *call, int member) {
  return shared->comms[call->comm->id].slots[member];
}

static size_t round_bytes(const struct call *call) {
  return call->bytes - call->at < SLOT ? call->bytes - call->at : SLOT;
}

static void post(struct call *call) {
  struct ncclComm *comm = call->comm;
  shared->comms[comm->id].heads[comm->rank] = call->head;
  if (call->from) memcpy(shared->comms[comm->id].slots[comm->rank], call->from + call->at, round_bytes(call));
  call->posted = true;
  atomic_fetch_add(&shared->comms[comm->id].posted, 1);
}

static void describe(const struct head *head, int member, char out[128]) {
  snprintf(out, 128, "member %d calls %s of %llu (root %d, %d of %d in its group)", member, head->what,
           (unsigned long long)head->count, head->root, head->part + 1, head->parts);
}

static void tell(const struct call *call, int member) {
  char own[128], other[128];
  describe(&call->head, call->comm->rank, own);
  describe(&shared->comms[call->comm->id].heads[member], member, other);
  fprintf(stderr, "NCCL stand-in: %s, %s\n", own, other);
}

/* Said once a communicator; the call is never over. */
static bool agree(struct call *call) {
  struct ncclComm *comm = call->comm;
  for (int m = 0; m < comm->size; m++) {
    const struct head *other = &shared->comms[comm->id].heads[m];
    if (memcmp(other, &call->head, sizeof *other) == 0) continue;
    if (atomic_exchange(&comm->error, ncclInvalidUsage) == ncclSuccess) tell(call, m);
    return false;
  }
  return true;
}

bool stand_in_exchange(struct call *call) {
  struct ncclComm *comm = call->comm;
  atomic_ulong *posted = &shared->comms[comm->id].posted, *taken = &shared->comms[comm->id].taken;
  while (call->at < call->bytes) {
    const uint64_t before = comm->rounds * (uint64_t)comm->size;
    if (!call->posted && atomic_load(taken) < before) return false;
    if (!call->posted) post(call);
    if (atomic_load(posted) < before + (uint64_t)comm->size || !agree(call)) return false;
    call->take(call, call->at, round_bytes(call));
    call->at += round_bytes(call);
    call->posted = false;
    comm->rounds++;
    atomic_fetch_add(taken, 1);
  }
  return true;
}
