/* What each rank of this machine did last, in memory that all of them share. A job that hangs can then report whom it
 * waits for, even if that rank is stopped and cannot report anything itself. Ranks on other machines are not included.
 * The memory has no name in any file system, so nothing of it is left behind; if it cannot be created, the message
 * about a hang omits this part. */
#include "backend/host/host.h"

#include "core/base/machine.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct entry {
  _Atomic int rank;                        /* rank in the world plus 1; 0: not set yet */
  _Atomic int64_t pass;                    /* pass_of() of the running program; 0: none yet */
  _Atomic int64_t beat_ns;                 /* machine's clock when it last looked for work */
  _Atomic int32_t last;                    /* the issue that completed last; -1: none in this pass */
  _Atomic uint32_t entered[SL_LANE_COUNT]; /* per lane: messages that have begun, and other ops that have ended */
};

struct sl_host_board {
  struct entry *entries; /* (count), shared */
  int count, own;
};

/* The number of passes between one step and the next: its own, and those over an evaluation's batches. */
enum { PASSES = 1 << 28 };

/* The number of the current pass over a program; it increases from pass to pass. */
static int64_t pass_of(const struct sl_host *host) {
  if (host->kind == SL_PROGRAM_INIT) return 1;
  if (host->kind == SL_PROGRAM_SAVE) return INT64_MAX;
  const int64_t step = 2 + 2 * host->trained;
  if (host->kind == SL_PROGRAM_EVAL) return (step + 1) * PASSES + 1 + host->step;
  return (step + (host->kind != SL_PROGRAM_STEP)) * PASSES;
}

static enum sl_program_kind kind_of(int64_t pass) {
  if (pass == 1) return SL_PROGRAM_INIT;
  if (pass == INT64_MAX) return SL_PROGRAM_SAVE;
  if (pass % PASSES != 0) return SL_PROGRAM_EVAL;
  return pass / PASSES % 2 != 0 ? SL_PROGRAM_COMPRESSED : SL_PROGRAM_STEP;
}

/* ---- the memory ---- */

/* Where the other ranks find the memory, sent by the rank that created it. */
struct place {
  int64_t pid, handle, secret;
};

static struct entry *map(int handle, size_t bytes) {
  void *at = handle >= 0 ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, handle, 0) : MAP_FAILED;
  return at == MAP_FAILED ? NULL : at;
}

/* The secret is behind the entries. It is compared because a process in another PID namespace may have the same id. */
static int64_t *secret_of(struct entry *entries, int count) {
  return (int64_t *)(void *)(entries + count);
}

static struct entry *make(struct place *place, int count, size_t bytes) {
  const int handle = memfd_create("shardlab-board", MFD_CLOEXEC);
  struct entry *entries = handle >= 0 && ftruncate(handle, (off_t)bytes) == 0 ? map(handle, bytes) : NULL;
  *place = (struct place){.pid = getpid(), .handle = handle, .secret = (int64_t)(sl_machine_clock() * 1e9) ^ getpid()};
  if (entries != NULL) *secret_of(entries, count) = place->secret;
  return entries;
}

static struct entry *find(const struct place *place, int count, size_t bytes) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%lld/fd/%lld", (long long)place->pid, (long long)place->handle);
  const int handle = place->handle >= 0 ? open(path, O_RDWR | O_CLOEXEC) : -1;
  const off_t size = handle >= 0 ? lseek(handle, 0, SEEK_END) : 0;
  struct entry *entries = size == (off_t)bytes ? map(handle, bytes) : NULL;
  if (handle >= 0) close(handle);
  if (entries == NULL || *secret_of(entries, count) == place->secret) return entries;
  munmap(entries, bytes);
  return NULL;
}

static size_t bytes_of(int count) {
  return (size_t)count * sizeof(struct entry) + sizeof(int64_t);
}

void sl_host_board_open(struct sl_host *host, MPI_Comm node) {
  struct sl_host_board *board;
  struct place place = {0};
  int own, count;
  MPI_Comm_rank(node, &own);
  MPI_Comm_size(node, &count);
  if (sl_calloc(&board, 1, sizeof *board) != SL_OK) sl_error_clear(), board = NULL;
  struct entry *entries = own == 0 ? make(&place, count, bytes_of(count)) : NULL;
  MPI_Bcast(&place, (int)sizeof place, MPI_BYTE, 0, node);
  if (own > 0) entries = find(&place, count, bytes_of(count));
  MPI_Barrier(node); /* all ranks have mapped it, so the handle may be closed */
  if (own == 0 && place.handle >= 0) close((int)place.handle);
  if (board == NULL || entries == NULL) {
    free(board);
    return;
  }
  *board = (struct sl_host_board){.entries = entries, .count = count, .own = own};
  atomic_store(&entries[own].last, -1);
  atomic_store(&entries[own].rank, host->rank + 1);
  host->board = board;
  sl_host_board_beat(host, sl_machine_clock());
}

void sl_host_board_close(struct sl_host *host) {
  if (host->board == NULL) return;
  munmap(host->board->entries, bytes_of(host->board->count));
  free(host->board);
  host->board = NULL;
}

/* ---- recording what this rank does ---- */

void sl_host_board_begin(struct sl_host *host) {
  if (host->board == NULL) return;
  struct entry *own = &host->board->entries[host->board->own];
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) atomic_store_explicit(&own->entered[lane], 0, memory_order_relaxed);
  atomic_store_explicit(&own->last, -1, memory_order_relaxed);
  atomic_store_explicit(&own->pass, pass_of(host), memory_order_release);
}

void sl_host_board_beat(struct sl_host *host, double now_s) {
  if (host->board == NULL) return;
  atomic_store_explicit(&host->board->entries[host->board->own].beat_ns, (int64_t)(now_s * 1e9), memory_order_relaxed);
}

void sl_host_board_enter(struct sl_host *host, const struct sl_host_lane *lane) {
  if (host->board == NULL) return;
  struct entry *own = &host->board->entries[host->board->own];
  atomic_store_explicit(&own->entered[lane - host->lanes], lane->complete + 1, memory_order_relaxed);
}

void sl_host_board_finish(struct sl_host *host, const struct sl_host_lane *lane, uint32_t issue) {
  if (host->board == NULL) return;
  struct entry *own = &host->board->entries[host->board->own];
  atomic_store_explicit(&own->entered[lane - host->lanes], lane->complete, memory_order_relaxed);
  atomic_store_explicit(&own->last, (int32_t)issue, memory_order_relaxed);
}

/* ---- reporting what all ranks did ---- */

/* "step 3 #57 gemm on lane compute in action 0F0" */
static void describe(const struct sl_host *host, const struct entry *e, int rank, FILE *out) {
  const int64_t pass = atomic_load(&e->pass), last = atomic_load(&e->last);
  const struct sl_class *c = &host->job->classes[sl_job_class_of(host->job, rank)];
  const struct sl_program *p = &c->programs[kind_of(pass)];
  char action[64];
  if (pass > 1 && pass < INT64_MAX)
    fprintf(out, "%sstep %lld ", kind_of(pass) == SL_PROGRAM_EVAL ? "evaluation behind " : "",
            (long long)(pass / PASSES / 2));
  if (pass == 0 || last < 0 || (size_t)last >= p->issue_count) {
    fputs(pass == 0 ? "nothing" : "no op", out);
    return;
  }
  const struct sl_op *op = &p->ops[p->issues[last].op];
  sl_action_print(action, sizeof action, &p->instances[p->issues[last].instance].action);
  fprintf(out, "#%lld %s on lane %s in action %s", (long long)last, sl_op_name(op->kind), sl_lane_name(op->lane),
          action);
}

/* Whether that member has begun the collective `it` of this rank. Members have the same messages on a lane, in the same
 * order. */
static bool has_come(const struct sl_host *host, const struct entry *e, const struct sl_issued *it) {
  const int64_t mine = pass_of(host), theirs = atomic_load(&e->pass);
  return theirs > mine || (theirs == mine && atomic_load(&e->entered[it->op->lane]) > it->lane_index);
}

static bool is_member(const struct sl_members *m, int rank) {
  for (int i = 0; i < m->size; i++)
    if (sl_members_rank(m, i) == rank) return true;
  return false;
}

/* Prints whom this rank waits for: members that have not reached its collective, and ranks that are silent, because
 * they are stopped or take long in one op. */
static void tell_missing(const struct sl_host *host, const struct sl_issued *it, bool running, FILE *out) {
  const bool collective = running && it->op->group != SL_GROUP_NONE;
  const double now_s = sl_machine_clock();
  int told = 0;
  for (int i = 0; i < host->board->count; i++) {
    const struct entry *e = &host->board->entries[i];
    const int rank = atomic_load(&e->rank) - 1;
    const double silent_s = now_s - 1e-9 * (double)atomic_load(&e->beat_ns);
    const bool silent = silent_s > host->timeout_s / 2;
    const bool late = collective && is_member(&host->members[it->op->group], rank) && !has_come(host, e, it);
    if (rank < 0 || i == host->board->own || (!silent && !late)) continue;
    fprintf(out, "%s rank %d", told++ > 0 ? "," : "; it waits for", rank);
    if (silent) fprintf(out, " (silent for %.1f s)", silent_s);
  }
}

void sl_host_board_tell(const struct sl_host *host, const struct sl_issued *it, bool running, char *text, size_t size) {
  enum { MOST = 8 };
  text[0] = '\0';
  FILE *out = host->board != NULL ? fmemopen(text, size, "w") : NULL;
  if (out == NULL) return;
  tell_missing(host, it, running, out);
  fputs("; last finished:", out);
  for (int i = 0, told = 0; i < host->board->count && told < MOST; i++) {
    const int rank = atomic_load(&host->board->entries[i].rank) - 1;
    if (rank < 0) continue;
    fprintf(out, "%s rank %d ", told++ > 0 ? "," : "", rank);
    describe(host, &host->board->entries[i], rank, out);
  }
  if (host->board->count > MOST) fputs(", ...", out);
  fclose(out);
}
