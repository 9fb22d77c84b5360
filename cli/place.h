/* The place of this process in a job, from the launcher's environment, before MPI is initialised. */
#pragma once

#include <stdbool.h>

struct sl_place {
  int rank, size; /* 0 of 1 without a launcher */
  int local_size; /* processes of the job on this node */
};

/* Reads the variables of Open MPI, PMI (MPICH, Intel MPI) or Slurm (core/base/launchers.h); with `torchrun`, looks for
 * torchrun's first, as the cuda backend does. */
struct sl_place sl_place_read(bool torchrun);
