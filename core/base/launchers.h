/* The environment variables in which launchers tell a process its rank: one table for all readers. Which variables are
 * read, and what a malformed value means, is left to them (cli/place.h, backend/cuda/place.h). */
#pragma once

/* In the order in which they are tried. Slurm's variables are set in every process of an allocation, so they come
 * last. */
enum sl_launcher_kind {
  SL_LAUNCHER_TORCHRUN,
  SL_LAUNCHER_OPEN_MPI,
  SL_LAUNCHER_PMI,
  SL_LAUNCHER_SLURM,
  SL_LAUNCHER_COUNT
};

struct sl_launcher {
  const char *rank, *world;
  const char *local_rank;  /* index among the processes of the node; NULL: the launcher does not say */
  const char *local_world; /* processes of the node */
  const char *by_node;     /* processes of every node, such as 8(x2),4; NULL: the launcher does not say */
};

extern const struct sl_launcher sl_launchers[SL_LAUNCHER_COUNT];
