/* What the files of the equivalence grid share: where a run stands, how a failure is told, what a run is held against besides
 * one rank. */
#pragma once

#include "tests/mpi/grid.h"
#include "tests/mpi/grid3d_draw.h"

enum { STEPS = 5 };

struct grid3d {
  int rank, world, failures, checks;
  struct draw now; /* the configuration at hand */
};
extern struct grid3d grid3d;

/* Counts; tells the first failures, and the configuration as a command line. Write `good` so that NaN fails. */
void grid3d_expect(bool good, const char *what, double value, double bound);

/* Bytes that MPI was given by the end of each step, by group, that of none being the pipeline's. */
typedef int64_t grid3d_sent[STEPS][SL_GROUP_COUNT];

/* The witness (tests/witness), where it is preloaded; each returns or does nothing where it is not. */
bool grid3d_find_witness(void);
void grid3d_take_counts(grid3d_sent sent, int64_t step);

/* The arena against the plan; the states against closed forms of the model's size. */
void grid3d_compare_memory(const struct grid_result *r);
/* Rows and order of calls of every rank against a simulated run (which the first rank alone has). Collective. */
void grid3d_compare_traffic(const struct grid_result *r, const struct sl_run *simulated);
/* The witness against the host's count, by group and step, and against the program, call by call. */
void grid3d_compare_witness(const struct grid_result *r, grid3d_sent sent);
