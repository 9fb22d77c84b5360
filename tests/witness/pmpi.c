/* A witness that knows no program: counts what a process hands to MPI, per communicator, by MPI's profiling interface.
 *
 *   LD_PRELOAD=libshardlab_pmpi.so SHARDLAB_PMPI_OUT=calls mpirun ... writes calls.0, calls.1, ... at MPI_Finalize:
 *   {"rank": 0, "size": 2, "communicators": [{"id": 0, "name": "...", "size": 2, "calls": {"MPI_Isend": {"calls": 3,
 *   "bytes": 96}}}]}
 * Communicators are numbered in the order in which the process made them, from 0 = MPI_COMM_WORLD. `bytes` is what this
 * process gives to the call: the send buffer's size, 0 for a receive.
 *
 * A program that was started with it may also ask while it runs: tests/witness/pmpi.h. */
#include "tests/witness/pmpi.h"

#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL_MAP(X)                                                                                                    \
  X(MPI_Send)                                                                                                          \
  X(MPI_Ssend)                                                                                                         \
  X(MPI_Isend)                                                                                                         \
  X(MPI_Recv)                                                                                                          \
  X(MPI_Irecv)                                                                                                         \
  X(MPI_Sendrecv)                                                                                                      \
  X(MPI_Allreduce)                                                                                                     \
  X(MPI_Iallreduce)                                                                                                    \
  X(MPI_Reduce_scatter)                                                                                                \
  X(MPI_Reduce_scatter_block)                                                                                          \
  X(MPI_Allgather)                                                                                                     \
  X(MPI_Bcast)                                                                                                         \
  X(MPI_Barrier)

enum call {
#define X(name) CALL_##name,
  CALL_MAP(X)
#undef X
      CALL_COUNT
};
static const char *const call_names[] = {
#define X(name) #name,
    CALL_MAP(X)
#undef X
};

enum { MAX_COMMUNICATORS = 8192 }; /* also over the life of a process that opens many jobs */
struct communicator {
  MPI_Comm handle;
  int open, size;
  char name[MPI_MAX_OBJECT_NAME];
  long long calls[CALL_COUNT], bytes[CALL_COUNT];
  struct sl_pmpi_message *messages; /* kept where a program asked for it, until the communicator is freed; owned */
  long long message_count, message_capacity;
};
static struct communicator communicators[MAX_COMMUNICATORS];
static int communicator_count, keeps;

static void add_communicator(MPI_Comm handle) {
  if (handle == MPI_COMM_NULL || communicator_count == MAX_COMMUNICATORS) return;
  struct communicator *c = &communicators[communicator_count++];
  c->handle = handle;
  c->open = 1;
  PMPI_Comm_size(handle, &c->size);
}

static struct communicator *find(MPI_Comm handle) {
  for (int i = communicator_count - 1; i >= 0; i--)
    if (communicators[i].open && communicators[i].handle == handle) return &communicators[i];
  return NULL;
}

static void count(enum call call, MPI_Comm handle, long long elements, MPI_Datatype type) {
  struct communicator *c = find(handle);
  if (!c) return;
  int size = 0;
  if (type != MPI_DATATYPE_NULL) PMPI_Type_size(type, &size);
  c->calls[call]++;
  c->bytes[call] += elements * size;
}

static void keep_message(MPI_Comm handle, int tag, int to, long long bytes) {
  struct communicator *c = keeps ? find(handle) : NULL;
  if (!c) return;
  if (c->message_count == c->message_capacity) {
    c->message_capacity = 2 * c->message_capacity + 64;
    c->messages = realloc(c->messages, (size_t)c->message_capacity * sizeof *c->messages);
    if (!c->messages) perror("the witness"), abort();
  }
  c->messages[c->message_count++] = (struct sl_pmpi_message){tag, to, bytes};
}

static void keep_name(struct communicator *c) {
  int length = 0;
  PMPI_Comm_get_name(c->handle, c->name, &length);
}

/* --- life of a process and of communicators --- */

int MPI_Init(int *argc, char ***argv) {
  int code = PMPI_Init(argc, argv);
  if (code == MPI_SUCCESS) add_communicator(MPI_COMM_WORLD);
  return code;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
  int code = PMPI_Init_thread(argc, argv, required, provided);
  if (code == MPI_SUCCESS) add_communicator(MPI_COMM_WORLD);
  return code;
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *out) {
  int code = PMPI_Comm_dup(comm, out);
  if (code == MPI_SUCCESS) add_communicator(*out);
  return code;
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *out) {
  int code = PMPI_Comm_split(comm, color, key, out);
  if (code == MPI_SUCCESS) add_communicator(*out);
  return code;
}

int MPI_Comm_free(MPI_Comm *comm) {
  struct communicator *c = find(*comm);
  if (c) {
    keep_name(c);
    c->open = 0;
    free(c->messages);
    c->messages = NULL;
    c->message_count = c->message_capacity = 0;
  }
  return PMPI_Comm_free(comm);
}

static void write_communicator(FILE *out, int i) {
  const struct communicator *c = &communicators[i];
  fprintf(out, "%s\n  {\"id\": %d, \"name\": \"%s\", \"size\": %d, \"calls\": {", i ? "," : "", i, c->name, c->size);
  int first = 1;
  for (int call = 0; call < CALL_COUNT; call++) {
    if (!c->calls[call]) continue;
    fprintf(out, "%s\"%s\": {\"calls\": %lld, \"bytes\": %lld}", first ? "" : ", ", call_names[call], c->calls[call],
            c->bytes[call]);
    first = 0;
  }
  fprintf(out, "}}");
}

static void write_counts(void) {
  const char *stem = getenv("SHARDLAB_PMPI_OUT");
  if (!stem || !*stem) return;
  int rank = 0, size = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  char path[4096];
  snprintf(path, sizeof path, "%s.%d", stem, rank);
  FILE *out = fopen(path, "w");
  if (!out) {
    perror(path);
    return;
  }
  for (int i = 0; i < communicator_count; i++)
    if (communicators[i].open) keep_name(&communicators[i]);
  fprintf(out, "{\"rank\": %d, \"size\": %d, \"communicators\": [", rank, size);
  for (int i = 0; i < communicator_count; i++) write_communicator(out, i);
  fprintf(out, "\n]}\n");
  if (fclose(out)) perror(path);
}

long long sl_pmpi_sent(const char *name) {
  long long bytes = 0;
  for (int i = 0; i < communicator_count; i++) {
    if (communicators[i].open) keep_name(&communicators[i]);
    if (strcmp(communicators[i].name, name) == 0) bytes += communicators[i].bytes[CALL_MPI_Isend];
  }
  return bytes;
}

void sl_pmpi_keep(void) {
  keeps = 1;
}

long long sl_pmpi_messages(const char *name, const struct sl_pmpi_message **out) {
  for (int i = communicator_count - 1; i >= 0; i--) {
    struct communicator *c = &communicators[i];
    if (!c->open) continue;
    keep_name(c);
    if (strcmp(c->name, name) != 0) continue;
    *out = c->messages;
    return c->message_count;
  }
  return 0;
}

int MPI_Finalize(void) {
  write_counts();
  return PMPI_Finalize();
}

/* --- messages --- */

int MPI_Send(const void *x, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  count(CALL_MPI_Send, comm, n, type);
  return PMPI_Send(x, n, type, to, tag, comm);
}

int MPI_Ssend(const void *x, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  count(CALL_MPI_Ssend, comm, n, type);
  return PMPI_Ssend(x, n, type, to, tag, comm);
}

int MPI_Isend(const void *x, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request) {
  count(CALL_MPI_Isend, comm, n, type);
  if (keeps) {
    int size = 0;
    PMPI_Type_size(type, &size);
    keep_message(comm, tag, to, (long long)n * size);
  }
  return PMPI_Isend(x, n, type, to, tag, comm, request);
}

int MPI_Recv(void *x, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status) {
  count(CALL_MPI_Recv, comm, 0, type);
  return PMPI_Recv(x, n, type, from, tag, comm, status);
}

int MPI_Irecv(void *x, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request) {
  count(CALL_MPI_Irecv, comm, 0, type);
  return PMPI_Irecv(x, n, type, from, tag, comm, request);
}

int MPI_Sendrecv(const void *x, int n, MPI_Datatype type, int to, int tag, void *y, int m, MPI_Datatype other, int from,
                 int other_tag, MPI_Comm comm, MPI_Status *status) {
  count(CALL_MPI_Sendrecv, comm, n, type);
  return PMPI_Sendrecv(x, n, type, to, tag, y, m, other, from, other_tag, comm, status);
}

/* --- collectives --- */

int MPI_Allreduce(const void *x, void *y, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  count(CALL_MPI_Allreduce, comm, n, type);
  return PMPI_Allreduce(x, y, n, type, op, comm);
}

int MPI_Iallreduce(const void *x, void *y, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request) {
  count(CALL_MPI_Iallreduce, comm, n, type);
  return PMPI_Iallreduce(x, y, n, type, op, comm, request);
}

int MPI_Reduce_scatter(const void *x, void *y, const int counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  int size = 0;
  long long all = 0;
  PMPI_Comm_size(comm, &size);
  for (int i = 0; i < size; i++) all += counts[i];
  count(CALL_MPI_Reduce_scatter, comm, all, type);
  return PMPI_Reduce_scatter(x, y, counts, type, op, comm);
}

int MPI_Reduce_scatter_block(const void *x, void *y, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  int size = 0;
  PMPI_Comm_size(comm, &size);
  count(CALL_MPI_Reduce_scatter_block, comm, (long long)n * size, type);
  return PMPI_Reduce_scatter_block(x, y, n, type, op, comm);
}

int MPI_Allgather(const void *x, int n, MPI_Datatype type, void *y, int m, MPI_Datatype other, MPI_Comm comm) {
  count(CALL_MPI_Allgather, comm, x == MPI_IN_PLACE ? m : n, x == MPI_IN_PLACE ? other : type);
  return PMPI_Allgather(x, n, type, y, m, other, comm);
}

int MPI_Bcast(void *x, int n, MPI_Datatype type, int root, MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  count(CALL_MPI_Bcast, comm, rank == root ? n : 0, type);
  return PMPI_Bcast(x, n, type, root, comm);
}

int MPI_Barrier(MPI_Comm comm) {
  count(CALL_MPI_Barrier, comm, 0, MPI_DATATYPE_NULL);
  return PMPI_Barrier(comm);
}
