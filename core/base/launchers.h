/* The variables by which launchers tell a process where it stands in its job: one table for all that read them. Who reads
 * what, and what a malformed value means, is up to them (cli/place.h, backend/cuda/place.h). */
#pragma once

/* In the order in which they are asked: Slurm's stand in every process of an allocation, so they come last. */
enum sl_launcher_kind {
  SL_LAUNCHER_TORCHRUN,
  SL_LAUNCHER_OPEN_MPI,
  SL_LAUNCHER_PMI,
  SL_LAUNCHER_SLURM,
  SL_LAUNCHER_COUNT
};

struct sl_launcher {
  const char *rank, *world;
  const char *local_rank;  /* among the processes of the node; NULL: it does not say */
  const char *local_world; /* processes of the node */
  const char *by_node;     /* processes of every node, such as 8(x2),4; NULL: it does not say */
};

extern const struct sl_launcher sl_launchers[SL_LAUNCHER_COUNT];
