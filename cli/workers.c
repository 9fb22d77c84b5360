/* Processes that work through a list; see workers.h. */
#include "cli/workers.h"

#include "core/base/machine.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The state of a piece, in memory that all processes share. */
struct piece {
  atomic_int state; /* FREE, DONE, or the worker that has begun it, by one operation: it may be killed at any moment */
  char error[512];  /* "": there is a result */
};
enum { FREE = -1, DONE = -2 };

struct sl_board {
  atomic_size_t next;    /* all pieces before it are begun */
  atomic_size_t done;    /* number of pieces */
  struct piece pieces[]; /* followed by the results, of result_bytes each */
};

static size_t head_bytes(const struct sl_workers *w) {
  const size_t bytes = sizeof *w->board + w->count * sizeof *w->board->pieces;
  return (bytes + 63) / 64 * 64;
}

void *sl_workers_result(const struct sl_workers *w, size_t i) {
  return (char *)w->board + head_bytes(w) + i * w->result_bytes;
}

const char *sl_workers_error(const struct sl_workers *w, size_t i) {
  return w->board->pieces[i].error;
}

double sl_workers_seconds(const struct sl_workers *w) {
  return sl_machine_clock() - w->began_s;
}

/* ---- a worker ---- */

/* Keeps the first line of the error message. */
static void keep_error(struct piece *piece) {
  snprintf(piece->error, sizeof piece->error, "%s", sl_error_message());
  piece->error[strcspn(piece->error, "\r\n")] = '\0';
  sl_error_clear();
}

/* Begins the first piece that is free; returns its index, w->count if there is none. */
static size_t begin_next(const struct sl_workers *w, int worker) {
  struct sl_board *board = w->board;
  for (size_t i = atomic_load(&board->next); i < w->count; i++) {
    int state = FREE;
    if (!atomic_compare_exchange_strong(&board->pieces[i].state, &state, worker)) continue;
    atomic_store(&board->next, i + 1);
    return i;
  }
  return w->count;
}

static void work_off(const struct sl_workers *w, int worker) {
  struct sl_board *board = w->board;
  size_t i;
  sl_warn_set_sink(sl_warn_drop, NULL); /* warnings about a configuration that no user wrote */
  while ((i = begin_next(w, worker)) < w->count) {
    struct piece *piece = &board->pieces[i];
    if (w->run(w->context, i, sl_workers_result(w, i)) != SL_OK) keep_error(piece);
    atomic_store(&piece->state, DONE);
    atomic_fetch_add(&board->done, 1);
  }
}

/* A worker dies with its parent, however that ends. */
static enum sl_status start_worker(struct sl_workers *w, int worker) {
  const pid_t parent = getpid(), child = fork();
  if (child < 0) return sl_fail(SL_ERR_IO, "a process for --jobs cannot be started: %s", strerror(errno));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent) work_off(w, worker);
    _exit(0);
  }
  w->workers[worker] = child;
  return SL_OK;
}

/* ---- the parent ---- */

static void show_progress(const struct sl_workers *w) {
  const size_t done = atomic_load(&w->board->done);
  const double seconds = sl_machine_clock() - w->began_s, rate = seconds > 0 ? (double)done / seconds : 0;
  fprintf(stderr, "\r\033[K%zu of %zu rows, %.1f rows/s", done, w->count, rate);
  if (done > 0) fprintf(stderr, ", %.0f s left", (double)(w->count - done) / rate);
  fflush(stderr);
}

/* The piece at which a worker was killed gets no result; a new worker continues with the next ones. */
static enum sl_status replace_worker(struct sl_workers *w, int worker, int state) {
  for (size_t i = 0; i < w->count; i++) {
    struct piece *piece = &w->board->pieces[i];
    if (atomic_load(&piece->state) != worker) continue;
    snprintf(piece->error, sizeof piece->error, "the process that predicted it was ended by signal %d",
             WIFSIGNALED(state) ? WTERMSIG(state) : 0);
    atomic_store(&piece->state, DONE);
    atomic_fetch_add(&w->board->done, 1);
  }
  return start_worker(w, worker);
}

/* Reaps one worker that has ended, if any. *left counts the workers that still have pieces. */
static enum sl_status reap(struct sl_workers *w, int *left, bool *any) {
  int state;
  const pid_t child = waitpid(-1, &state, WNOHANG);
  *any = child > 0;
  if (child < 0 && errno != EINTR) return sl_fail(SL_ERR_IO, "waiting for a process: %s", strerror(errno));
  for (int i = 0; child > 0 && i < w->jobs; i++) {
    if (w->workers[i] != child) continue;
    w->workers[i] = 0;
    if (!WIFEXITED(state) || WEXITSTATUS(state) != 0) return replace_worker(w, i, state);
    --*left;
  }
  return SL_OK;
}

static enum sl_status wait_for_workers(struct sl_workers *w, bool terminal) {
  static const struct timespec pause = {.tv_nsec = 10000000};
  double shown = 0;
  for (int left = w->jobs; left > 0;) {
    bool any;
    SL_TRY(reap(w, &left, &any));
    if (any) continue;
    if (terminal && sl_machine_clock() - shown > 0.2) {
      show_progress(w);
      shown = sl_machine_clock();
    }
    nanosleep(&pause, NULL);
  }
  return SL_OK;
}

void sl_workers_close(struct sl_workers *w) {
  for (int i = 0; w->workers != NULL && i < w->jobs; i++) {
    if (w->workers[i] <= 0) continue;
    kill(w->workers[i], SIGKILL);
    waitpid(w->workers[i], NULL, 0);
  }
  free(w->workers);
  if (w->board != NULL) munmap(w->board, w->bytes);
  w->workers = NULL;
  w->board = NULL;
}

enum sl_status sl_workers_run(struct sl_workers *w, bool terminal) {
  enum sl_status status;
  w->bytes = head_bytes(w) + w->count * w->result_bytes;
  void *shared = mmap(NULL, w->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return sl_fail(SL_ERR_MEMORY, "out of memory: %zu bytes of results", w->bytes);
  w->board = shared;
  for (size_t i = 0; i < w->count; i++) atomic_store(&w->board->pieces[i].state, FREE);
  SL_TRY(sl_calloc(&w->workers, (size_t)w->jobs, sizeof *w->workers));
  fflush(NULL); /* otherwise every child would write what is buffered */
  w->began_s = sl_machine_clock();
  for (int i = 0; i < w->jobs; i++) SL_GO(start_worker(w, i));
  SL_GO(wait_for_workers(w, terminal));
done:
  if (terminal) fprintf(stderr, "\r\033[K");
  return status;
}
