/* How the members of a stand-in's communicator exchange bytes, through slots in memory that the ranks share. Internal to
 * stand_in_*.c. */
#pragma once

#include "tests/stand_ins/parts.h"

#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdatomic.h>

enum { RANKS = 8, COMMS = 160, SLOT = 64 << 10 };

/* What all members of a call must say alike. */
struct head {
  char what[16];
  uint64_t count;
  int32_t type, root;  /* root: who sends, sums or -1 */
  int32_t part, parts; /* of a group's calls on this communicator */
};

struct ncclComm {
  int id, size, rank, world_rank, splits;
  uint64_t made, done; /* calls */
  uint64_t rounds;     /* of its members' exchange that are over */
  atomic_int error;    /* ncclResult_t */
  bool given_up;
};

struct call;
/* Between two meetings: what members have posted of bytes [at, at + bytes) of a call. */
typedef void (*take_fn)(const struct call *call, size_t at, size_t bytes);

struct call {
  struct ncclComm *comm;
  cudaStream_t stream;
  struct head head;
  uint64_t place;   /* among the communicator's calls */
  const char *from; /* NULL: this member sends nothing */
  char *to;         /* NULL: it receives nothing */
  size_t bytes, at; /* of what each sends; exchanged so far */
  bool posted;
  take_fn take;
  /* of a sum over the members: elements [first, first + count) of what all sent */
  size_t first, count, element;
  enum number type; /* OTHER: double */
  /* of a gathering: what members sent lies that far apart */
  size_t apart;
  int only; /* from that member alone; -1: all */
};

/* What a member has posted. */
const char *stand_in_slot(const struct call *call, int member);
/* As far as it goes now; true: to the end. A member may go on to its next round when all have taken from its last. Members
 * that disagree on the call never come to its end, and their communicators have an error. */
bool stand_in_exchange(struct call *call);
/* Where no memory is shared yet: ranks that are programs of their own share some under the name of their meeting. 0 =
 * success. */
int stand_in_join(const char *meeting);
