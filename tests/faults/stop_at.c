/* A rank that stops itself at a chosen point of its life, by MPI's profiling interface: what signals at random instants
 * meet once in many runs, again and again.
 *
 *   LD_PRELOAD=libshardlab_stop_at.so STOP_RANK=1 STOP_AT=7 mpirun ... stops rank 1 there. Points: 0 is before main; then two for
 * every call of MPI that may wait for other ranks, before and after it, in the order of the calls; -1 is after all that
 * main does. */
#include <mpi.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static int points;

static void stop_here(void) {
  const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *chosen = getenv("STOP_RANK");
  if (rank != NULL && chosen != NULL && strcmp(rank, chosen) == 0) (void)raise(SIGSTOP);
}

static void point(void) {
  const char *at = getenv("STOP_AT");
  if (at != NULL && atoi(at) == points++) stop_here();
}

__attribute__((constructor)) static void begin(void) {
  point();
}

__attribute__((destructor)) static void end(void) {
  const char *at = getenv("STOP_AT");
  if (at != NULL && atoi(at) == -1) stop_here();
}

#define BETWEEN_POINTS(call)                                                                                           \
  point();                                                                                                             \
  const int code = P##call;                                                                                            \
  point();                                                                                                             \
  return code

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
  BETWEEN_POINTS(MPI_Init_thread(argc, argv, required, provided));
}

int MPI_Finalize(void) {
  BETWEEN_POINTS(MPI_Finalize());
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *out) {
  BETWEEN_POINTS(MPI_Comm_dup(comm, out));
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *out) {
  BETWEEN_POINTS(MPI_Comm_split(comm, color, key, out));
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *out) {
  BETWEEN_POINTS(MPI_Comm_split_type(comm, type, key, info, out));
}

int MPI_Comm_free(MPI_Comm *comm) {
  BETWEEN_POINTS(MPI_Comm_free(comm));
}

int MPI_Barrier(MPI_Comm comm) {
  BETWEEN_POINTS(MPI_Barrier(comm));
}

int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  BETWEEN_POINTS(MPI_Bcast(data, count, type, root, comm));
}

int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  BETWEEN_POINTS(MPI_Allreduce(in, out, count, type, op, comm));
}

int MPI_Iallreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request *request) {
  BETWEEN_POINTS(MPI_Iallreduce(in, out, count, type, op, comm, request));
}

int MPI_Iallgather(const void *in, int in_count, MPI_Datatype in_type, void *out, int out_count, MPI_Datatype out_type,
                   MPI_Comm comm, MPI_Request *request) {
  BETWEEN_POINTS(MPI_Iallgather(in, in_count, in_type, out, out_count, out_type, comm, request));
}
