/* The table of launchers; see launchers.h. PMI is the interface of MPICH and Intel MPI. */
#include "core/base/launchers.h"

#include <stddef.h>

/* clang-format off */
const struct sl_launcher sl_launchers[SL_LAUNCHER_COUNT] = {
    /*                        rank                    world                   local_rank                    local_world                   by_node */
    [SL_LAUNCHER_TORCHRUN] = {"RANK",                 "WORLD_SIZE",           "LOCAL_RANK",                 "LOCAL_WORLD_SIZE",           NULL},
    [SL_LAUNCHER_OPEN_MPI] = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", NULL},
    [SL_LAUNCHER_PMI]      = {"PMI_RANK",             "PMI_SIZE",             NULL,                         "MPI_LOCALNRANKS",            NULL},
    [SL_LAUNCHER_SLURM]    = {"SLURM_PROCID",         "SLURM_NTASKS",         "SLURM_LOCALID",              "SLURM_NTASKS_PER_NODE",      "SLURM_TASKS_PER_NODE"},
};
/* clang-format on */
