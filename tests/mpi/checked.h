/* What MPI tests of training share: this process's rank, the count of its checks, and how such a program begins and
 * ends. */
#pragma once

#include "tests/mpi/grid.h"

static int rank, world, failures, checks;

/* Reports the error of this process and ends all of them. */
static inline void give_up(const char *config) {
  fprintf(stderr, "rank %d: %s\n  config %s\n", rank, sl_error_message(), config);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* `good` must be written so that it is false for NaN. */
static inline void expect(bool good, const char *what, double value, double bound, const char *config) {
  checks++;
  if (good) return;
  failures++;
  fprintf(stderr, "FAIL rank %d of %d: %s: %.17g, expected %.17g\n  config %s\n", rank, world, what, value, bound,
          config);
}

static inline void checked_train(struct grid_result *r, const struct sl_exec_ops *host, const struct grid_run *g) {
  if (grid_execute(r, host, g, world) != SL_OK) give_up(g->config);
}

/* Starts MPI and loads the host backend. */
static inline const struct sl_exec_ops *checked_open(int *argc, char ***argv) {
  const struct sl_exec_ops *host;
  int provided;
  MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  if (sl_exec_load("host", &host) != SL_OK) give_up("none: the host backend cannot be loaded");
  return host;
}

/* Reports the result and ends MPI; returns the exit status. A run without checks fails. */
static inline int checked_close(void) {
  if (rank == 0) printf("world %d: %d checks, %d failures\n", world, checks, failures);
  MPI_Finalize();
  return failures > 0 || checks == 0;
}

/* ---- long runs of tests/mpi/gpt2_narrow.json on examples/corpus.txt: do they learn equally well? ---- */

enum { LONG_STEPS = 200, TAIL = 20, SEEDS = 3 };

/* The mean loss of the last steps; NaN if it fell by less than 2 from ln 256 = 5.5, because a run that learns nothing
 * proves nothing. */
static inline double learned(const struct grid_result *r) {
  double sum = 0;
  for (int s = LONG_STEPS - TAIL; s < LONG_STEPS; s++) sum += r->run.results[s].loss;
  return r->run.results[0].loss - sum / TAIL > 2 ? sum / TAIL : NAN;
}
