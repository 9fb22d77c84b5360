/* The rings of backend/host/comm.h.
 *
 * All kinds of calls use the same mechanism. A member sends a stream of blocks to its successor and receives one from
 * its predecessor, in an order that both ends of a link compute identically: by step, part, and block within the step's
 * piece. Send i is the block that receive i - free_sends brought, where the first free_sends sends are the member's own
 * data, so comparing two counters tells whether a block may be sent. Sends leave in order and depend only on earlier
 * receives, so there is no cycle of waits. */
#include "backend/host/comm.h"

#include "backend/host/add.h"

#include <stdlib.h>
#include <string.h>

#define MPI_TRY(e)                                                                                                     \
  do {                                                                                                                 \
    int mpi_try_code_ = (e);                                                                                           \
    if (mpi_try_code_ != MPI_SUCCESS) return mpi_failed(#e, mpi_try_code_);                                            \
  } while (0)

static enum sl_status mpi_failed(const char *call, int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return sl_fail(SL_ERR_PEER, "%.*s failed: %s", (int)strcspn(call, "("), call, text);
}

enum sl_status sl_comm_open(struct sl_comm *comm, MPI_Comm parent, int color, int key, const char *name, bool reduces) {
  *comm = (struct sl_comm){.mpi = MPI_COMM_NULL};
  MPI_TRY(MPI_Comm_split(parent, color, key, &comm->mpi));
  MPI_TRY(MPI_Comm_size(comm->mpi, &comm->size));
  MPI_TRY(MPI_Comm_rank(comm->mpi, &comm->index));
  if (comm->size == 1) return MPI_Comm_free(&comm->mpi), SL_OK;
  MPI_TRY(MPI_Comm_set_errhandler(comm->mpi, MPI_ERRORS_RETURN));
  MPI_TRY(MPI_Comm_set_name(comm->mpi, name));
  if (!reduces) return SL_OK;
  comm->staging = aligned_alloc(4096, (size_t)SL_COMM_SLOTS * SL_COMM_BLOCK);
  if (!comm->staging) return sl_fail(SL_ERR_MEMORY, "no memory for the staging blocks of group %s", name);
  memset(comm->staging, 0, (size_t)SL_COMM_SLOTS * SL_COMM_BLOCK); /* makes it resident at once, so that it counts as
                                                                    * context */
  return SL_OK;
}

void sl_comm_close(struct sl_comm *comm) {
  if (comm->size > 1 && comm->mpi != MPI_COMM_NULL) MPI_Comm_free(&comm->mpi);
  free(comm->staging);
  *comm = (struct sl_comm){.mpi = MPI_COMM_NULL};
}

/* --- the order of blocks --- */

/* A block of one link's stream: elements [first, +count) of part `part`. */
struct block {
  int part;
  int64_t first, count, shard_first;
  bool reduce; /* partial sums, to be added at the receiver */
  bool last;   /* of a reduction: the receiver owns the piece */
  bool own;    /* sent from the shard, not from the whole */
  int peer;    /* the other end of the link */
};

enum { RING = SL_MOVE_REDUCE | SL_MOVE_GATHER, PAIR = SL_MOVE_SEND | SL_MOVE_RECV };

/* Whether the call runs both rings, one after the other: an all-reduce. */
static bool both_rings(const struct sl_comm_call *call) {
  return (call->moves & RING) == RING;
}

static int steps_of(const struct sl_comm *comm, const struct sl_comm_request *r, bool sending) {
  const int n = comm->size, next = (comm->index + 1) % n;
  const unsigned moves = r->call.moves;
  if (moves & SL_MOVE_CHAIN) return sending ? next != r->call.peer : comm->index != r->call.peer;
  if (moves & PAIR) return sending == !!(moves & SL_MOVE_SEND);
  return both_rings(&r->call) ? 2 * (n - 1) : n - 1;
}

/* In step `step` of an exchange: the block that this member sends to the one `step` + 1 places on, or receives from the
 * one that many places back. */
static struct block exchanged(const struct sl_comm *comm, const struct sl_comm_request *r, bool sending, int step,
                              int part) {
  const int n = comm->size, peer = (comm->index + (sending ? step + 1 : n - 1 - step)) % n;
  const int64_t count = r->call.parts[part].count / n;
  return (struct block){.part = part, .first = peer * count, .count = count, .own = sending, .peer = peer};
}

/* What member `sender` sends to its successor in `step`: piece sender-1-step while reducing, sender-step while
 * gathering. */
static struct block piece_of(const struct sl_comm *comm, const struct sl_comm_request *r, int sender, int step,
                             int part) {
  const int n = comm->size, peer = sender == comm->index ? r->send_to : r->recv_from;
  if (r->call.moves & SL_MOVE_EXCHANGE) return exchanged(comm, r, sender == comm->index, step, part);
  if (!(r->call.moves & RING)) return (struct block){.part = part, .count = r->call.parts[part].count, .peer = peer};
  bool reduce = r->call.moves & SL_MOVE_REDUCE && step < n - 1;
  int turn = both_rings(&r->call) && !reduce ? step - (n - 1) : step;
  int member = ((sender - turn - (reduce ? 1 : 0)) % n + n) % n;
  struct sl_comm_piece p = r->call.piece(r->call.piece_context, part, member);
  return (struct block){.part = part,
                        .first = p.whole_first,
                        .count = p.count,
                        .shard_first = p.shard_first,
                        .reduce = reduce,
                        .last = reduce && step == n - 2,
                        .peer = peer};
}

static int64_t block_elements(const struct sl_comm_request *r) {
  return SL_COMM_BLOCK / sl_dtype_bytes(r->call.dtype);
}

/* The block at `cursor` of the stream that `sender` sends; moves the cursor over empty pieces. False at the end of the
 * stream. */
static bool block_at(const struct sl_comm *comm, const struct sl_comm_request *r, struct sl_comm_cursor *cursor,
                     bool sending, struct block *out) {
  const int steps = steps_of(comm, r, sending);
  const int sender = sending ? comm->index : (comm->index + comm->size - 1) % comm->size;
  while (cursor->step < steps) {
    struct block b = piece_of(comm, r, sender, cursor->step, cursor->part);
    if (cursor->at < b.count) {
      int64_t left = b.count - cursor->at, most = block_elements(r);
      b.first += cursor->at;
      b.shard_first += cursor->at;
      b.count = left < most ? left : most;
      *out = b;
      return true;
    }
    cursor->at = 0;
    if (++cursor->part == r->call.part_count) cursor->part = 0, cursor->step++;
  }
  return false;
}

static void pass(struct sl_comm_cursor *cursor, const struct block *b) {
  cursor->at += b->count;
  cursor->index++;
}

/* The number of blocks that this member sends, or receives, in steps [0, steps). */
static int64_t blocks_in(const struct sl_comm *comm, const struct sl_comm_request *r, bool sending, int steps) {
  const int sender = sending ? comm->index : (comm->index + comm->size - 1) % comm->size;
  const int64_t most = block_elements(r);
  int64_t blocks = 0;
  for (int step = 0; step < steps; step++)
    for (int part = 0; part < r->call.part_count; part++)
      blocks += (piece_of(comm, r, sender, step, part).count + most - 1) / most;
  return blocks;
}

/* --- memory --- */

static char *element(const struct sl_comm_request *r, void *base, int64_t index) {
  return (char *)base + index * sl_dtype_bytes(r->call.dtype);
}

static char *block_memory(const struct sl_comm_request *r, const struct block *b) {
  const struct sl_comm_part *part = &r->call.parts[b->part];
  return element(r, b->own ? part->shard : part->whole, b->first);
}

static char *staging_of(const struct sl_comm *comm, const struct sl_comm_request *r, int64_t index) {
  return comm->staging + (size_t)r->slots[index % r->slot_count] * SL_COMM_BLOCK;
}

static sl_add_fn reduction_of(const struct sl_comm_call *call) {
  return call->most ? sl_most_of(call->dtype) : sl_add_of(call->dtype);
}

/* Adds a received block of partial sums to this member's own; its own piece goes to the shard. */
static void take_sum(const struct sl_comm *comm, const struct sl_comm_request *r, const struct block *b) {
  sl_add_fn add = reduction_of(&r->call);
  char *got = staging_of(comm, r, r->take.index), *own = block_memory(r, b);
  const struct sl_comm_part *part = &r->call.parts[b->part];
  if (!b->last || both_rings(&r->call)) {
    add(own, got, own, (size_t)b->count);
  } else {
    char *shard = element(r, part->shard, b->shard_first);
    if (part->accumulate) {
      add(got, got, own, (size_t)b->count);
      add(shard, shard, got, (size_t)b->count);
    } else {
      add(shard, got, own, (size_t)b->count);
    }
  }
}

/* In an exchange: copies a member's piece for itself. */
static void keep_own(const struct sl_comm *comm, const struct sl_comm_request *r) {
  for (int i = 0; i < r->call.part_count; i++) {
    const struct sl_comm_part *part = &r->call.parts[i];
    const int64_t count = part->count / comm->size, first = comm->index * count;
    memcpy(element(r, part->whole, first), element(r, part->shard, first),
           (size_t)(count * sl_dtype_bytes(r->call.dtype)));
  }
}

/* Copies what needs no message: the own shard of a gather that is not part of an all-reduce, and everything in a group
 * of one. */
static void copy_local(const struct sl_comm *comm, const struct sl_comm_request *r) {
  const struct sl_comm_call *call = &r->call;
  if (call->moves & SL_MOVE_EXCHANGE) keep_own(comm, r);
  bool gather = call->moves == SL_MOVE_GATHER;
  if (!gather && !(call->moves == SL_MOVE_REDUCE && comm->size == 1)) return;
  for (int i = 0; i < call->part_count; i++) {
    struct sl_comm_piece p = call->piece(call->piece_context, i, comm->index);
    char *whole = element(r, call->parts[i].whole, p.whole_first),
         *shard = element(r, call->parts[i].shard, p.shard_first);
    size_t bytes = (size_t)(p.count * sl_dtype_bytes(call->dtype));
    if (gather && whole != shard) memcpy(whole, shard, bytes);
    if (!gather && call->parts[i].accumulate) reduction_of(call)(shard, shard, whole, (size_t)p.count);
    if (!gather && !call->parts[i].accumulate && whole != shard) memcpy(shard, whole, bytes);
  }
}

/* --- progress --- */

/* Lends the request its staging blocks; true when it has what it needs. Requests of a group get them in the order of
 * their start, which is the same on all members, so a waiting request waits for a call that every member runs. */
static bool take_slots(struct sl_comm *comm, struct sl_comm_request *r) {
  int want = r->reduce_recvs < SL_COMM_WINDOW ? (int)r->reduce_recvs : SL_COMM_WINDOW, got = 0;
  unsigned used = comm->slots_used;
  for (int i = 0; i < SL_COMM_SLOTS && got < want; i++) {
    if (used >> i & 1u) continue;
    used |= 1u << i;
    r->slots[got++] = (unsigned char)i;
  }
  if (got < want) return false;
  comm->slots_used = used;
  r->slot_count = got;
  return true;
}

static void give_slots(struct sl_comm *comm, struct sl_comm_request *r) {
  for (int i = 0; i < r->slot_count; i++) comm->slots_used &= ~(1u << r->slots[i]);
  r->slot_count = 0;
}

static void plan_request(struct sl_comm *comm, struct sl_comm_request *r) {
  const int n = comm->size;
  const unsigned moves = r->call.moves;
  r->send_to = moves & PAIR ? r->call.peer : (comm->index + 1) % n;
  r->recv_from = moves & PAIR ? r->call.peer : (comm->index + n - 1) % n;
  bool root = moves & (SL_MOVE_SEND | SL_MOVE_EXCHANGE) || (moves & SL_MOVE_CHAIN && comm->index == r->call.peer);
  r->free_sends = root ? INT64_MAX : moves & RING ? blocks_in(comm, r, true, 1) : 0;
  r->reduce_recvs = moves & SL_MOVE_REDUCE ? blocks_in(comm, r, false, n - 1) : 0;
}

enum { CHANNEL_TAGS = 16, TAGS = 32767 - CHANNEL_TAGS }; /* 32767 is the smallest MPI_TAG_UB that MPI allows */

enum sl_status sl_comm_start(struct sl_comm *comm, struct sl_comm_request *request, const struct sl_comm_call *call) {
  *request = (struct sl_comm_request){.call = *call};
  const bool reduces = call->moves & SL_MOVE_REDUCE, pair = call->moves & PAIR;
  if (reduces && !reduction_of(call))
    return sl_fail(SL_ERR_INPUT, "the host backend cannot reduce %s", sl_dtype_name(call->dtype));
  if (reduces && comm->size > 1 && !comm->staging)
    return sl_fail(SL_ERR_INTERNAL, "a reduction in a communicator that was opened without staging memory");
  copy_local(comm, request);
  if (comm->size == 1) return request->done = true, SL_OK;
  request->tag = pair ? call->channel : CHANNEL_TAGS + (int)(comm->sequence++ % TAGS);
  plan_request(comm, request);
  struct sl_comm_request **tail = &comm->requests;
  while (*tail) tail = &(*tail)->next;
  *tail = request;
  bool moved = false;
  return sl_comm_progress(comm, &moved);
}

static enum sl_status take_receives(struct sl_comm *comm, struct sl_comm_request *r, bool *moved) {
  struct block b;
  while (r->take.index < r->recv.index) {
    int arrived = 0;
    MPI_TRY(MPI_Test(&r->recv_requests[r->take.index % SL_COMM_WINDOW], &arrived, MPI_STATUS_IGNORE));
    if (!arrived) break;
    if (!block_at(comm, r, &r->take, false, &b)) return sl_fail(SL_ERR_INTERNAL, "a receive past the end of a ring");
    if (b.reduce) take_sum(comm, r, &b);
    pass(&r->take, &b);
    *moved = true;
  }
  return SL_OK;
}

/* Whether the next block may be received now. Partial sums need a staging block. The gathering half of an all_reduce
 * writes where the reducing half sent from, so MPI requires that send to be complete first. */
static bool may_receive(const struct sl_comm_request *r, const struct block *b) {
  int64_t in_flight = r->recv.index - r->take.index;
  if (b->reduce) return in_flight < r->slot_count;
  if (in_flight >= SL_COMM_WINDOW) return false;
  return !both_rings(&r->call) || r->send_done > r->recv.index - r->reduce_recvs;
}

static enum sl_status post_receives(struct sl_comm *comm, struct sl_comm_request *r, bool *moved) {
  struct block b;
  while (block_at(comm, r, &r->recv, false, &b) && may_receive(r, &b)) {
    void *to = b.reduce ? staging_of(comm, r, r->recv.index) : block_memory(r, &b);
    int bytes = (int)(b.count * sl_dtype_bytes(r->call.dtype));
    MPI_TRY(
        MPI_Irecv(to, bytes, MPI_BYTE, b.peer, r->tag, comm->mpi, &r->recv_requests[r->recv.index % SL_COMM_WINDOW]));
    pass(&r->recv, &b);
    *moved = true;
  }
  return SL_OK;
}

static enum sl_status post_sends(struct sl_comm *comm, struct sl_comm_request *r, bool *moved) {
  struct block b;
  while (r->send_done < r->send.index) {
    int gone = 0;
    MPI_TRY(MPI_Test(&r->send_requests[r->send_done % SL_COMM_WINDOW], &gone, MPI_STATUS_IGNORE));
    if (!gone) break;
    r->send_done++;
    *moved = true;
  }
  while (r->send.index - r->send_done < SL_COMM_WINDOW && block_at(comm, r, &r->send, true, &b)) {
    if (r->send.index >= r->free_sends && r->take.index <= r->send.index - r->free_sends) break;
    int bytes = (int)(b.count * sl_dtype_bytes(r->call.dtype));
    MPI_TRY(MPI_Isend(block_memory(r, &b), bytes, MPI_BYTE, b.peer, r->tag, comm->mpi,
                      &r->send_requests[r->send.index % SL_COMM_WINDOW]));
    r->wire_bytes += bytes;
    pass(&r->send, &b);
    *moved = true;
  }
  return SL_OK;
}

static enum sl_status drive(struct sl_comm *comm, struct sl_comm_request *r, bool *moved) {
  SL_TRY(take_receives(comm, r, moved));
  SL_TRY(post_receives(comm, r, moved));
  SL_TRY(post_sends(comm, r, moved));
  struct block b;
  r->done = r->take.index == r->recv.index && r->send_done == r->send.index &&
            !block_at(comm, r, &r->recv, false, &b) && !block_at(comm, r, &r->send, true, &b);
  return SL_OK;
}

/* Messages of one channel are sent one at a time: a send or receive waits until the previous one on its channel is
 * complete. */
static bool channel_free(const struct sl_comm *comm, const struct sl_comm_request *r) {
  if (!(r->call.moves & PAIR)) return true;
  for (const struct sl_comm_request *q = comm->requests; q != r; q = q->next)
    if (q->call.moves == r->call.moves && q->call.peer == r->call.peer && q->call.channel == r->call.channel)
      return false;
  return true;
}

enum sl_status sl_comm_progress(struct sl_comm *comm, bool *moved) {
  bool staging_left = true; /* no call may overtake one that waits for staging */
  struct sl_comm_request **at = &comm->requests;
  while (*at) {
    struct sl_comm_request *r = *at;
    if (!r->active && channel_free(comm, r) && (staging_left || !r->reduce_recvs)) {
      r->active = take_slots(comm, r);
      staging_left = r->active;
    }
    if (r->active) SL_TRY(drive(comm, r, moved));
    if (r->done) {
      give_slots(comm, r);
      *at = r->next;
      *moved = true;
    } else {
      at = &r->next;
    }
  }
  return SL_OK;
}
