/* Warm-up: makes libraries allocate the memory that they keep, so that it counts as context and not as the job's.
 *
 * OpenBLAS packs operands into buffers that fill up with the shapes it gets (measured: 60 to 160 MB for a vocabulary of
 * 50257), so every shape of the program runs once, on zeros. MPI makes a connection at its first use. */
#include "backend/host/host.h"
#include "backend/host/product.h"
#include "backend/host/watch.h"
#include "core/base/machine.h"

#include <cblas.h>
#include <errno.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { WARM_BYTES = SL_COMM_BLOCK, SHAPES = 64 };

struct shape {
  int m, n, k;
  bool trans_a, trans_b;
};

static bool same(const struct shape *a, const struct shape *b) {
  return a->m == b->m && a->n == b->n && a->k == b->k && a->trans_a == b->trans_a && a->trans_b == b->trans_b;
}

/* The distinct shapes of the rank's products; at most SHAPES are warmed up. */
static int shapes_of(const struct sl_program *program, struct shape *out) {
  int count = 0;
  for (size_t i = 0; i < program->op_count && count < SHAPES; i++) {
    const struct sl_op *op = &program->ops[i];
    if (op->kind != SL_OP_GEMM) continue;
    struct shape s = {(int)op->dim[0], (int)op->dim[1], (int)op->dim[2], op->flags & SL_OP_TRANS_A,
                      op->flags & SL_OP_TRANS_B};
    bool known = false;
    for (int j = 0; j < count; j++) known |= same(&out[j], &s);
    if (!known) out[count++] = s;
  }
  return count;
}

/* Runs one product of zeros; its memory is returned to the system. */
static enum sl_status warm_product(const struct shape *s) {
  const size_t m = (size_t)s->m, n = (size_t)s->n, k = (size_t)s->k, bytes = (m * k + k * n + m * n) * sizeof(float);
  float *x = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (x == MAP_FAILED) return sl_fail(SL_ERR_MEMORY, "no %zu bytes to warm up OpenBLAS: %s", bytes, strerror(errno));
  sl_host_product(&(struct sl_product){.m = s->m,
                                       .n = s->n,
                                       .k = s->k,
                                       .trans_a = s->trans_a,
                                       .trans_b = s->trans_b,
                                       .scale = 1,
                                       .a = x,
                                       .b = x + m * k,
                                       .c = x + m * k + k * n});
  munmap(x, bytes);
  return SL_OK;
}

/* Every thread of product.c takes a buffer of OpenBLAS's, which retries forever if it cannot get it, and glibc reserves
 * an arena for the first allocation of each further thread. `had`: the threads that OpenBLAS started with; the buffers
 * of all but one of them are free since it was set to one. */
static enum sl_status check_room(int threads, int had) {
  static const size_t buffer = 128, stack = 8, arena = 64, mib = 1 << 20;
  const size_t buffers = threads > had ? (size_t)(threads - had + 1) : 1;
  const size_t need = buffer * buffers + arena * (size_t)(threads - 1);
  if (sl_machine_has_room((need + stack * (size_t)threads) * mib)) return SL_OK;
  return sl_fail(SL_ERR_MEMORY,
                 "too little address space (ulimit -v, -d): OpenBLAS called by %d threads takes %zu MiB more", threads,
                 need);
}

static enum sl_status warm_products(const struct sl_host *host) {
  struct shape shapes[SHAPES];
  const int count = shapes_of(&host->rank_class->programs[SL_PROGRAM_STEP], shapes);
  for (int i = 0; i < count; i++) SL_TRY(warm_product(&shapes[i]));
  return SL_OK;
}

/* Connections and their buffers are created by the first large message between two ranks. It goes over the world's
 * communicator, so that the counts of the groups' own communicators contain only the program's messages. */
static enum sl_status warm_ring(const struct sl_host *host, char *out, char *in, int next, int previous) {
  if (MPI_Sendrecv(out, WARM_BYTES, MPI_BYTE, next, 0, in, WARM_BYTES, MPI_BYTE, previous, 0, host->everyone,
                   MPI_STATUS_IGNORE) == MPI_SUCCESS)
    return SL_OK;
  return sl_fail(SL_ERR_PEER, "the first message from rank %d to rank %d failed", host->rank, next);
}

static enum sl_status warm_rings(const struct sl_host *host, char *out, char *in) {
  for (enum sl_group group = SL_GROUP_NONE + 1; group < SL_GROUP_COUNT; group++) {
    const struct sl_members *m = &host->members[group];
    if (host->groups[group].size <= 1) continue;
    int next = (m->index + 1) % m->size, previous = (m->index + m->size - 1) % m->size;
    SL_TRY(warm_ring(host, out, in, sl_members_rank(m, next), sl_members_rank(m, previous)));
  }
  const struct sl_plan *plan = host->job->plan;
  if (plan->pp == 1) return SL_OK;
  struct sl_coord next = host->coord, previous = host->coord;
  next.pp = (next.pp + 1) % plan->pp, previous.pp = (previous.pp + plan->pp - 1) % plan->pp;
  const int up = sl_plan_rank(plan, next), down = sl_plan_rank(plan, previous);
  SL_TRY(warm_ring(host, out, in, up, down));
  return warm_ring(host, out, in, down, up);
}

enum sl_status sl_host_warm_up(struct sl_host *host) {
  const int threads = host->options.threads > 0 ? host->options.threads : omp_get_max_threads();
  const int had = openblas_get_num_threads();
  openblas_set_num_threads(1);  /* product.c distributes work over threads ... */
  omp_set_num_threads(threads); /* ... a number that OpenBLAS, if built for OpenMP, has just set to 1 */
  SL_TRY(check_room(threads, had));
  SL_TRY(warm_products(host));
  char *memory = calloc(2, WARM_BYTES);
  if (!memory) return sl_fail(SL_ERR_MEMORY, "no memory to warm up MPI");
  sl_host_watch_begin(host->timeout_s, host->rank, "the first messages");
  enum sl_status status = warm_rings(host, memory, memory + WARM_BYTES);
  sl_host_watch_end();
  free(memory);
  return status;
}
