/* Collectives of our own over MPI's point-to-point calls: rings, and exchanges of all with all, cut into blocks so that every hop of the chain is
 * busy, non-blocking, and driven by whoever calls sl_comm_progress. They know no program: a call names memory, a data
 * type and which elements are whose; backend/host/exec.c makes calls out of ops.
 *
 * In a ring of n members piece g of a reduction starts at member g+1, is added to at every member and ends at g; a
 * gathered piece starts at its owner and goes round. The order of every sum is therefore x[g+1] + x[g+2] + ... + x[g],
 * whatever arrives when. Why not MPI_Ireduce_scatter: Open MPI 4's was measured at 8 times a ring's time. */
#pragma once

#include "core/base/dtype.h"
#include "core/base/status.h"
#include "core/op/op.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

enum {
  SL_COMM_BLOCK = 256 << 10, /* bytes of one message at most */
  SL_COMM_WINDOW = 4,        /* messages of one call in flight, each way */
  SL_COMM_SLOTS = 8          /* blocks of staging memory of one communicator: two reductions at once */
};

struct sl_comm_request;

struct sl_comm {
  MPI_Comm mpi; /* MPI_COMM_NULL for a group of one */
  int size, index;
  char *staging;                    /* SL_COMM_SLOTS blocks, or NULL where nothing is reduced; owned */
  unsigned slots_used;              /* bit i: block i is lent to a request */
  unsigned sequence;                /* calls started: the tag, equal on all members */
  struct sl_comm_request *requests; /* not yet complete, in the order of their start */
};

/* Split `parent`: members with equal `color` form one communicator, ordered by `key`, called `name` for tools that ask
 * MPI_Comm_get_name. Collective over `parent`. `reduces`: allocate staging. `size` == 1 makes a group of one without
 * MPI, but the call is collective all the same. Errors: SL_ERR_MEMORY, SL_ERR_PEER. */
enum sl_status sl_comm_open(struct sl_comm *comm, MPI_Comm parent, int color, int key, const char *name, bool reduces);
void sl_comm_close(struct sl_comm *comm); /* accepts a zeroed one */

/* One stretch of memory of a call, `count` elements at `whole`. */
struct sl_comm_part {
  void *whole;
  int64_t count;
  void *shard;     /* of one ring alone; may lie in `whole` exactly where the member's piece is */
  bool accumulate; /* reduce alone: add to shard instead of overwriting it */
};

/* Member g's piece of part `part`: elements [whole_first, +count) of whole are [shard_first, +count) of its shard. */
struct sl_comm_piece {
  int64_t whole_first, shard_first, count;
};
typedef struct sl_comm_piece (*sl_comm_piece_fn)(const void *context, int part, int member);

/* What a call does, by its moves (sl_move):
 *   reduce and gather  whole becomes the sum over the members, in place
 *   reduce             the member's piece of the sum goes to shard; whole holds partial sums afterwards
 *   gather             every member's shard goes to its piece of whole
 *   exchange           piece g of every member's shard goes to member g, as piece m of its whole where m sent it: n pieces alike
 *   chain              peer's whole goes to everyone's
 *   send, recv         whole goes to, or comes from, member `peer` */
struct sl_comm_call {
  unsigned moves;
  enum sl_dtype dtype; /* reductions: fp32, fp64, bf16, fp16; any type otherwise */
  int peer;            /* send, recv: the other member; chain: the root */
  int channel;         /* send, recv: messages of one channel between two members arrive in order; 0 .. 15 */
  const struct sl_comm_part *parts;
  int part_count;
  sl_comm_piece_fn piece;    /* rings: how members cut a part; equal on all members */
  const void *piece_context; /* both valid until the request is complete */
};

/* Where in the stream of blocks of one link a request is. */
struct sl_comm_cursor {
  int step, part;
  int64_t at;    /* element of the piece */
  int64_t index; /* blocks passed */
};

/* A call in flight. Owned by the caller, who neither moves nor frees it until `done`. */
struct sl_comm_request {
  struct sl_comm_call call;
  bool done;
  int64_t wire_bytes; /* handed to MPI_Isend so far */
  /* private */
  bool active;
  int tag, send_to, recv_from, slot_count;
  unsigned char slots[SL_COMM_WINDOW];
  int64_t free_sends;   /* the first sends, which depend on no receive; send i waits for receive i - free_sends */
  int64_t reduce_recvs; /* blocks that arrive as partial sums */
  int64_t send_done;
  struct sl_comm_cursor recv, take, send; /* receives posted, receives consumed, sends posted */
  MPI_Request recv_requests[SL_COMM_WINDOW], send_requests[SL_COMM_WINDOW];
  struct sl_comm_request *next;
};

/* Start `call`. Members of a group start their calls in the same order (send and recv excepted). Does not block. */
enum sl_status sl_comm_start(struct sl_comm *comm, struct sl_comm_request *request, const struct sl_comm_call *call);
/* Drive all calls of `comm`; *moved becomes true when any of them got further (it is never set to false).
 * Does not block. Errors: SL_ERR_PEER with MPI's text. */
enum sl_status sl_comm_progress(struct sl_comm *comm, bool *moved);
