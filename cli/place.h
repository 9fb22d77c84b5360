/* This process among those of a job, as the launcher's environment tells it before MPI is up. */
#pragma once

#include <stdbool.h>

struct sl_place {
  int rank, size; /* 0 of 1 when no launcher stands behind this process */
  int local_size; /* processes of the job on this node */
};

/* Read it from Open MPI's, PMI's (MPICH, Intel MPI) or Slurm's variables (core/base/launchers.h); with `torchrun`, from
 * torchrun's before them, as the cuda backend does. */
struct sl_place sl_place_read(bool torchrun);
