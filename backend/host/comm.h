/* Non-blocking collectives over MPI's point-to-point calls: rings and all-to-all exchanges, split into blocks so that
 * every hop of a ring is busy. They make progress only in sl_comm_progress. This file knows no program: a call names
 * memory, a data type and which elements belong to which member; backend/host/collect.c makes calls out of ops.
 *
 * In a ring of n members piece g of a reduction starts at member g+1, is added to at every member and ends at member g;
 * a gathered piece starts at its owner and goes round. Every sum is therefore taken in the order x[g+1] + x[g+2] + ...
 * + x[g], independent of arrival times. MPI_Ireduce_scatter is not used because Open MPI 4's took 8 times as long as a
 * ring. */
#pragma once

#include "core/base/dtype.h"
#include "core/base/status.h"
#include "core/op/op.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

enum {
  SL_COMM_BLOCK = 256 << 10, /* bytes of one message at most */
  SL_COMM_WINDOW = 4,        /* messages of one call in flight in each direction */
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

/* Splits `parent`: members with equal `color` form one communicator, ordered by `key` and named `name` for tools that
 * call MPI_Comm_get_name. Collective over `parent`, also where the result is a group of one, which does not use MPI
 * afterwards. `reduces`: allocate staging memory. Errors: SL_ERR_MEMORY, SL_ERR_PEER. */
enum sl_status sl_comm_open(struct sl_comm *comm, MPI_Comm parent, int color, int key, const char *name, bool reduces);
void sl_comm_close(struct sl_comm *comm); /* accepts a zeroed one */

/* One contiguous part of a call's memory, `count` elements at `whole`. */
struct sl_comm_part {
  void *whole;
  int64_t count;
  void *shard;     /* for reduce, gather, exchange; may be the member's piece inside `whole` */
  bool accumulate; /* for reduce: add to shard instead of overwriting it */
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
 *   exchange           piece g of member m's shard becomes piece m of member g's whole (all-to-all, equal pieces)
 *   chain              broadcast: the whole of member `peer` goes to all members
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
  bool most;                 /* reductions of fp32: the largest in place of the sum */
};

/* The position of a request in the sequence of blocks on one link. */
struct sl_comm_cursor {
  int step, part;
  int64_t at;    /* element of the piece */
  int64_t index; /* blocks passed */
};

/* A call in flight. Owned by the caller, who must not move or free it before it is `done`. */
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

/* Starts `call` without blocking. All members of a group must start their calls in the same order, except send and
 * recv. */
enum sl_status sl_comm_start(struct sl_comm *comm, struct sl_comm_request *request, const struct sl_comm_call *call);
/* Makes progress on all calls of `comm` without blocking; sets *moved to true where there was any (never to false).
 * Errors: SL_ERR_PEER with MPI's text. */
enum sl_status sl_comm_progress(struct sl_comm *comm, bool *moved);
