/* The environment variables in which launchers tell a process its rank: one table for all readers. Which variables are
 * read, and what a malformed value means, is left to them (cli/place.h, backend/cuda/place.h). */
#pragma once

/* In the order in which they are tried. Slurm's variables are set in what srun starts beside another launcher's, so
 * they come last. */
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

/* The value of the launcher's variable of the rank, NULL where it did not start this process. Slurm sets its own in
 * the script of a job (sbatch) and in a shell (salloc), too: neither is a task, and they count only in the steps of
 * srun. */
const char *sl_launcher_rank(enum sl_launcher_kind kind);
