/* What the files of the equivalence grid share: the state of a run, how a failure is reported, and what a run is
 * compared with besides a single rank. */
#pragma once

#include "tests/mpi/grid.h"
#include "tests/mpi/grid3d_draw.h"

enum { STEPS = 5 };

struct grid3d {
  int rank, world, failures, checks;
  struct draw now; /* the current configuration */
};
extern struct grid3d grid3d;

/* Counts a check; reports the first failures with the configuration as a command line. Write `good` so that it is false
 * for NaN. */
void grid3d_expect(bool good, const char *what, double value, double bound);

/* The bytes handed to MPI by the end of each step, by group; SL_GROUP_NONE is the pipeline's. */
typedef int64_t grid3d_sent[STEPS][SL_GROUP_COUNT];

/* Access to the witness (tests/witness) if it is preloaded; otherwise the functions return false or do nothing. */
bool grid3d_find_witness(void);
void grid3d_take_counts(grid3d_sent sent, int64_t step);

/* Compares the arena with the plan, and states of fp32 with closed forms of the model's size. */
void grid3d_compare_memory(const struct grid_result *r);
/* Compares rows and order of calls of every rank with a simulated run (which only the first rank has). Collective. */
void grid3d_compare_traffic(const struct grid_result *r, const struct sl_run *simulated);
/* Compares the witness with the host's count, by group and step, and with the program, call by call. */
void grid3d_compare_witness(const struct grid_result *r, grid3d_sent sent);
