/* How the members of a stand-in's communicator exchange bytes, through slots in memory that the ranks share. Internal
 * to tests/stand_ins. */
#pragma once

#include "tests/stand_ins/parts.h"

#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdatomic.h>

enum { RANKS = 8, COMMS = 160, SLOT = 64 << 10 };

/* What must be the same in the calls of all members. */
struct head {
  char what[16];
  uint64_t count;
  int32_t type, root;  /* root: the sender of a broadcast, the receiver of a sum, or -1 */
  int32_t part, parts; /* among a group's calls on this communicator */
};

struct ncclComm {
  int id, size, rank, world_rank, splits;
  uint64_t made, done; /* number of calls */
  uint64_t rounds;     /* completed rounds of its members' exchange */
  atomic_int error;    /* ncclResult_t */
  bool given_up;
};

struct call;
/* Called between two synchronisations: the members have posted bytes [at, at + bytes) of a call. */
typedef void (*take_fn)(const struct call *call, size_t at, size_t bytes);

struct call {
  struct ncclComm *comm;
  cudaStream_t stream;
  struct head head;
  uint64_t place;   /* its index among the communicator's calls */
  const char *from; /* NULL: this member sends nothing */
  char *to;         /* NULL: it receives nothing */
  size_t bytes, at; /* bytes that each sends; bytes exchanged so far */
  bool posted;
  take_fn take;
  /* of a sum over the members: elements [first, first + count) of what all sent */
  size_t first, count, element;
  enum number type; /* OTHER: double */
  bool most;        /* the largest in place of the sum */
  /* of an all-gather: the distance between what members sent */
  size_t apart;
  int only; /* take only from that member; -1: from all */
};

/* What a member has posted. */
const char *stand_in_slot(const struct call *call, int member);
/* Advances the exchange as far as possible; true if it is complete. A member may go on to its next round when all have
 * read its last one. Members that disagree on the call never complete it, and their communicators get an error. */
bool stand_in_exchange(struct call *call);
/* For ranks that are separate programs and share no memory yet: shares memory under the name `meeting`. 0 = success. */
int stand_in_join(const char *meeting);
