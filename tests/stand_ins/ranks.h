/* Runs the ranks of the CUDA backend as processes of a test, on the stand-ins. Each has a launcher's environment, all
 * share one standard error, and every run has its own order of streams. */
#pragma once

#include "tests/stand_ins/stand_in.h"

#include "core/base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char ranks_said[1 << 14]; /* standard error of the ranks of the last run */

static inline double ranks_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void ranks_set(const char *name, int value) {
  char text[16];
  snprintf(text, sizeof text, "%d", value);
  setenv(name, text, 1);
}

/* Called in the child. */
static inline _Noreturn void ranks_start(int rank, int world, int port, int (*work)(const void *what, int rank),
                                         const void *what) {
  alarm(100);
  sl_error_clear();
  if (world > 1) {
    ranks_set("RANK", rank), ranks_set("LOCAL_RANK", rank);
    ranks_set("WORLD_SIZE", world), ranks_set("LOCAL_WORLD_SIZE", world);
    ranks_set("MASTER_PORT", port);
  }
  _exit(work(what, rank));
}

/* Runs work(what, rank) for `world` ranks and waits for them: codes[rank] is the exit status, or 128 + the signal that
 * ended the rank. Returns seconds; below 0 if the run cannot be set up. */
static inline double ranks_run(int world, int (*work)(const void *what, int rank), const void *what, int *codes) {
  static int port = 0, seed = 0;
  pid_t pids[64];
  char path[] = "cuda_ranks_XXXXXX";
  const int file = mkstemp(path);
  const double start = ranks_seconds();
  if (file < 0 || world > 64 || stand_in_open() != 0) return -1;
  unlink(path);
  ranks_set("SHARDLAB_STAND_IN_SEED", ++seed);
  /* programs that run at once have neighbouring ids: a hundred ports each, below those that the system gives away */
  port = port ? port + 1 : 20000 + (int)(getpid() % 127) * 100;
  fflush(NULL);
  for (int rank = 0; rank < world; rank++) {
    pids[rank] = fork();
    if (pids[rank] != 0) continue;
    dup2(file, STDERR_FILENO);
    ranks_start(rank, world, port, work, what);
  }
  for (int rank = 0; rank < world; rank++) {
    int how;
    waitpid(pids[rank], &how, 0);
    codes[rank] = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
  }
  const ssize_t n = pread(file, ranks_said, sizeof ranks_said - 1, 0);
  ranks_said[n > 0 ? n : 0] = '\0';
  close(file);
  return ranks_seconds() - start;
}
