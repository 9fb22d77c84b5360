/* An NCCL that is none: communicators, groups and calls. Bytes go through memory that the ranks share
 * (exchange.h).
 *
 * A call is work of its stream, and the stream waits in it until all members have come to theirs; the host does not,
 * and other streams go on. A communicator's calls come in the order in which they were made, whatever their streams.
 * With an odd seed the GPU has room for one NCCL kernel at a time, and they come in the order of all calls of the
 * process: whoever counts on two of them running side by side hangs. Members that disagree on what they call are an
 * error. */
#include "tests/stand_ins/exchange.h"
#include "tests/stand_ins/graph.h"
#include "tests/stand_ins/queue.h"

#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int calls, hanging = -1, hanging_from; /* hanging_from: behind so many calls */

int stand_in_calls(void) {
  return calls;
}

void stand_in_hang(int rank) {
  stand_in_hang_later(rank, 0);
}

void stand_in_hang_later(int rank, int more) {
  hanging = rank;
  hanging_from = calls + more;
}

static int ended, first_to_fail;

void stand_in_fail(int first) {
  first_to_fail = first;
}

static ncclResult_t end(void) {
  return ++ended >= first_to_fail && first_to_fail > 0 ? ncclSystemError : ncclSuccess;
}

/* --- calls on streams --- */

/* The calls of a group on one stream: one kernel. */
struct batch {
  uint64_t place; /* among the process's */
  size_t count;
  struct call calls[];
};
static uint64_t batches_made, batches_done;
static bool one_at_a_time; /* in the order of the process */

static bool finish(struct call *call) {
  struct ncclComm *comm = call->comm;
  if (call->place < comm->done) return true; /* earlier */
  if (call->place > comm->done || (comm->world_rank == hanging && calls >= hanging_from)) return false;
  if (!comm->given_up && !stand_in_exchange(call)) return false;
  comm->done++;
  calls++;
  return true;
}

static bool take_batch(void *context) {
  struct batch *batch = context;
  bool over = true;
  if (one_at_a_time && batch->place != batches_done) return false;
  for (size_t i = 0; i < batch->count; i++) over &= finish(&batch->calls[i]);
  if (!over) return false;
  batches_done++;
  free(batch);
  return true;
}

/* A launch of a graph: calls of its own, after those made before. They come in the order in which a graph's are asked
 * for. */
static void *batch_again(const void *context) {
  const struct batch *batch = context;
  const size_t bytes = sizeof *batch + batch->count * sizeof *batch->calls;
  struct batch *again = malloc(bytes);
  memcpy(again, batch, bytes);
  again->place = batches_made++;
  for (size_t i = 0; i < again->count; i++) again->calls[i].place = again->calls[i].comm->made++;
  return again;
}

static const struct stand_in_work a_batch = {STAND_IN_COLLECTIVE, take_batch, batch_again, NULL};

enum { GROUP = 4096 };
static struct call *collected; /* of the open group */
static size_t collected_count;
static int depth;

/* Those on the stream of the first one. */
static ncclResult_t launch_first(void) {
  struct batch *batch = calloc(1, sizeof *batch + collected_count * sizeof *collected);
  const cudaStream_t stream = collected[0].stream;
  size_t left = 0;
  batch->place = stand_in_is_capturing(stream) ? 0 : batches_made++;
  for (size_t i = 0; i < collected_count; i++) {
    if (collected[i].stream == stream)
      batch->calls[batch->count++] = collected[i];
    else
      collected[left++] = collected[i];
  }
  collected_count = left;
  return stand_in_put(stream, &a_batch, batch) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

static void number_parts(void) {
  for (size_t i = 0; i < collected_count; i++) {
    struct head *head = &collected[i].head;
    for (size_t k = 0; k < collected_count; k++) {
      if (collected[k].comm != collected[i].comm) continue;
      head->part += k < i;
      head->parts++;
    }
  }
}

static ncclResult_t launch(ncclResult_t code) {
  if (code != ncclSuccess) collected_count = 0;
  number_parts();
  for (size_t i = 0; i < collected_count; i++)
    if (!stand_in_is_capturing(collected[i].stream)) collected[i].place = collected[i].comm->made++;
  while (code == ncclSuccess && collected_count > 0) code = launch_first();
  return code;
}

static ncclResult_t put(struct call call) {
  if (stand_in_enter() != cudaSuccess) return ncclUnhandledCudaError;
  if (!call.stream || collected_count == GROUP) return ncclInvalidArgument;
  if (stand_in_idle() && call.bytes > SLOT) call.bytes = SLOT;
  if (!collected) collected = malloc(GROUP * sizeof *collected);
  collected[collected_count++] = call;
  return depth > 0 ? ncclSuccess : launch(ncclSuccess);
}

ncclResult_t ncclGroupStart(void) {
  depth++;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void) {
  if (depth == 0) return ncclInvalidUsage;
  return --depth > 0 ? ncclSuccess : launch(end());
}

/* --- communicators --- */

const char *ncclGetErrorString(ncclResult_t code) {
  return code == ncclSuccess ? "no error" : code == ncclInvalidUsage ? "invalid usage" : "an error";
}

const char *ncclGetLastError(ncclComm_t comm) {
  (void)comm;
  return "";
}

ncclResult_t ncclGetVersion(int *version) {
  const char *text = getenv("SHARDLAB_STAND_IN_NCCL_VERSION");
  *version = text ? atoi(text) : 22809;
  return ncclSuccess;
}

/* Two ranks of one GPU: up to 2.29 they have to look like two hosts, from 2.30 on they have to ask. */
static bool may_share(void) {
  int version = 0;
  const char *host = getenv("NCCL_HOSTID"), *wish = getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  ncclGetVersion(&version);
  return getenv("SHARDLAB_STAND_IN_APART") || (version >= 23000 ? wish && atoi(wish) != 0 : host != NULL);
}

/* The name of the meeting, which is nobody else's. */
ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  memset(id, 0, sizeof *id);
  snprintf(id->internal, sizeof id->internal, "nccl-%ld-%ld", (long)getpid(), (long)(1e6 * stand_in_now()));
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t *out, int size, ncclUniqueId id, int rank) {
  if (stand_in_enter() != cudaSuccess) return ncclUnhandledCudaError;
  if (strncmp(id.internal, "nccl-", 5) != 0 || size > RANKS) return ncclInvalidArgument; /* not rank 0's id */
  if (size > 1 && !may_share()) return ncclInvalidUsage;                                 /* a duplicate GPU */
  if (stand_in_join(id.internal) != 0) return ncclSystemError;
  one_at_a_time = stand_in_seed() % 2 == 1;
  stand_in_run_on();
  *out = calloc(1, sizeof **out);
  (*out)->size = size, (*out)->rank = (*out)->world_rank = rank;
  return ncclSuccess;
}

struct choice {
  int color, key;
};

static void take_choices(const struct call *call, size_t at_byte, size_t bytes) {
  for (int i = 0; i < call->comm->size; i++)
    memcpy(call->to + (size_t)i * bytes + at_byte, stand_in_slot(call, i), bytes);
}

/* Of all members, on the host. */
static void exchange_choices(struct ncclComm *comm, struct choice mine, struct choice *all) {
  struct call call = {.comm = comm,
                      .head = {.what = "split"},
                      .from = (const char *)&mine,
                      .to = (char *)all,
                      .bytes = sizeof mine,
                      .take = take_choices};
  for (int turns = 0; !stand_in_exchange(&call); turns++) stand_in_nap(turns);
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *out, ncclConfig_t *config) {
  struct choice all[RANKS];
  (void)config;
  exchange_choices(comm, (struct choice){color, key}, all);
  const int split = comm->splits++;
  *out = NULL;
  if (color == NCCL_SPLIT_NOCOLOR) return ncclSuccess;
  if (color >= RANKS || 1 + split * RANKS + color >= COMMS) return ncclInvalidArgument;
  struct ncclComm *made = *out = calloc(1, sizeof **out);
  made->id = 1 + split * RANKS + color;
  made->world_rank = comm->world_rank;
  for (int i = 0; i < comm->size; i++) {
    const struct choice *c = &all[i];
    made->size += c->color == color;
    made->rank += c->color == color && (c->key < key || (c->key == key && i < comm->rank));
  }
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

static bool is_quiet(const void *what) {
  const struct ncclComm *comm = what;
  return comm->done == comm->made;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (stand_in_until(is_quiet, comm) != cudaSuccess) return ncclUnhandledCudaError;
  free(comm);
  return ncclSuccess;
}

/* Calls on streams may still name it: it stays. */
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  comm->given_up = true;
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state) {
  *state = (ncclResult_t)atomic_load(&comm->error);
  return ncclSuccess;
}

/* --- what members send and receive --- */

static size_t bytes_of(ncclDataType_t type) {
  return type == ncclFloat64 ? 8 : type == ncclBfloat16 || type == ncclFloat16 ? 2 : type == ncclUint8 ? 1 : 4;
}

static struct head head_of(const char *what, size_t count, ncclDataType_t type, int root) {
  struct head head;
  memset(&head, 0, sizeof head); /* it is compared as bytes */
  snprintf(head.what, sizeof head.what, "%s", what);
  head.count = count, head.type = (int32_t)type, head.root = root;
  return head;
}

/* In rank order. Without `most` the sum of what the members sent, else the largest. */
static void take_sum(const struct call *call, size_t at_byte, size_t bytes) {
  for (size_t i = 0; call->to && i < bytes / call->element; i++) {
    const size_t global = at_byte / call->element + i;
    double total = 0;
    if (global < call->first || global >= call->first + call->count) continue;
    for (int m = 0; m < call->comm->size; m++) {
      const double one = call->type == OTHER ? ((const double *)stand_in_slot(call, m))[i]
                                             : (double)number_get(stand_in_slot(call, m), call->type, i);
      total = !call->most ? total + one : m == 0 || one > total ? one : total;
    }
    if (call->type == OTHER)
      ((double *)call->to)[global - call->first] = total;
    else
      number_set(call->to, call->type, global - call->first, (float)total);
  }
}

static enum number number_of(ncclDataType_t type) {
  return type == ncclFloat32 ? FLOAT : type == ncclBfloat16 ? BFLOAT : type == ncclFloat16 ? HALF : OTHER;
}

/* Of `all` elements that each sends, [first, first + count). */
static ncclResult_t put_sum(struct head head, const void *from, void *to, size_t all, size_t first, size_t count,
                            ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  const ncclDataType_t type = (ncclDataType_t)head.type;
  if ((number_of(type) == OTHER && type != ncclFloat64) || (op != ncclSum && op != ncclMax)) return ncclInvalidArgument;
  return put((struct call){.comm = comm,
                           .stream = stream,
                           .head = head,
                           .from = from,
                           .to = to,
                           .bytes = all * bytes_of(type),
                           .take = take_sum,
                           .first = first,
                           .count = count,
                           .element = bytes_of(type),
                           .type = number_of(type),
                           .most = op == ncclMax});
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  return put_sum(head_of("all_reduce", count, type, -1), from, to, count, 0, count, op, comm, stream);
}

ncclResult_t ncclReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  return put_sum(head_of("reduce", count, type, root), from, comm->rank == root ? to : NULL, count, 0, count, op, comm,
                 stream);
}

ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  return put_sum(head_of("reduce_scatter", count, type, -1), from, to, count * (size_t)comm->size,
                 (size_t)comm->rank * count, count, op, comm, stream);
}

static void take_all(const struct call *call, size_t at_byte, size_t bytes) {
  for (int m = 0; call->to && m < call->comm->size; m++)
    if (call->only < 0 || call->only == m)
      memcpy(call->to + (call->only < 0 ? (size_t)m * call->apart : 0) + at_byte, stand_in_slot(call, m), bytes);
}

static ncclResult_t put_all(struct head head, const void *from, void *to, ncclComm_t comm, cudaStream_t stream) {
  const size_t bytes = (size_t)head.count * bytes_of((ncclDataType_t)head.type);
  return put((struct call){.comm = comm,
                           .stream = stream,
                           .head = head,
                           .from = from,
                           .to = to,
                           .bytes = bytes,
                           .take = take_all,
                           .apart = bytes,
                           .only = head.root});
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  return put_all(head_of("all_gather", count, type, -1), from, to, comm, stream);
}

ncclResult_t ncclBroadcast(const void *from, void *to, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return put_all(head_of("broadcast", count, type, root), comm->rank == root ? from : NULL, to, comm, stream);
}

/* An exchange of all with all, as the backend has it: a group of a send to each member and a receive from each, of
 * pieces that stand one behind the other. Once the last of them is there it is one call, of which each member posts all
 * that it sends. */
static struct pieces {
  ncclComm_t comm;
  const char *from;
  char *to;
  size_t bytes; /* of a piece */
  int sent, received;
} pieces;

static void take_pieces(const struct call *call, size_t at_byte, size_t bytes) {
  const size_t own = (size_t)call->comm->rank * call->apart, end = own + call->apart;
  const size_t lo = at_byte > own ? at_byte : own, hi = at_byte + bytes < end ? at_byte + bytes : end;
  for (int m = 0; m < call->comm->size && lo < hi; m++)
    memcpy(call->to + (size_t)m * call->apart + lo - own, stand_in_slot(call, m) + lo - at_byte, hi - lo);
}

static ncclResult_t put_piece(const void *from, void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                              cudaStream_t stream) {
  struct pieces *p = &pieces;
  const size_t bytes = count * bytes_of(type);
  if (p->sent + p->received == 0) *p = (struct pieces){.comm = comm, .from = from, .bytes = bytes};
  if (to && p->received == 0) p->to = to;
  const char *expected = from ? p->from + (size_t)p->sent * bytes : p->to + (size_t)p->received * bytes;
  const int turn = from ? p->sent++ : p->received++;
  if (p->comm != comm || p->bytes != bytes || turn != peer || expected != (from ? from : to)) return ncclInvalidUsage;
  if (p->sent < comm->size || p->received < comm->size) return ncclSuccess;
  p->sent = p->received = 0;
  return put((struct call){.comm = comm,
                           .stream = stream,
                           .head = head_of("exchange", count, type, -1),
                           .from = p->from,
                           .to = p->to,
                           .bytes = bytes * (size_t)comm->size,
                           .take = take_pieces,
                           .apart = bytes});
}

/* By itself: pairs only, as the backend has them, and a message is a broadcast of its sender. */
static ncclResult_t put_message(const void *from, void *to, size_t count, ncclDataType_t type, int peer,
                                ncclComm_t comm, cudaStream_t stream) {
  if (depth > 0) return put_piece(from, to, count, type, peer, comm, stream);
  if (comm->size != 2 || peer != 1 - comm->rank) return ncclInvalidArgument;
  const ncclResult_t code = end();
  if (code != ncclSuccess) return code;
  return put_all(head_of("message", count, type, from ? comm->rank : peer), from, to, comm, stream);
}

ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return put_message(from, NULL, count, type, peer, comm, stream);
}

ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return put_message(NULL, to, count, type, peer, comm, stream);
}
