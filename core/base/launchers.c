/* The table of launchers; see launchers.h. PMI is the interface of MPICH and Intel MPI. */
#include "core/base/launchers.h"

#include <stddef.h>
#include <stdlib.h>

/* clang-format off */
const struct sl_launcher sl_launchers[SL_LAUNCHER_COUNT] = {
    /*                        rank                    world                   local_rank                    local_world                   by_node */
    [SL_LAUNCHER_TORCHRUN] = {"RANK",                 "WORLD_SIZE",           "LOCAL_RANK",                 "LOCAL_WORLD_SIZE",           NULL},
    [SL_LAUNCHER_OPEN_MPI] = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", NULL},
    [SL_LAUNCHER_PMI]      = {"PMI_RANK",             "PMI_SIZE",             NULL,                         "MPI_LOCALNRANKS",            NULL},
    [SL_LAUNCHER_SLURM]    = {"SLURM_PROCID",         "SLURM_NTASKS",         "SLURM_LOCALID",              "SLURM_NTASKS_PER_NODE",      "SLURM_TASKS_PER_NODE"},
};
/* clang-format on */

/* Slurm numbers the steps of srun from 0; the script, a shell and what stands around them have the last numbers of 32
 * bits (SLURM_MAX_NORMAL_STEP_ID of slurm.h) or none. */
static const unsigned long LAST_STEP = 0xfffffff0;

static const char *value_of(const char *name) {
  const char *text = getenv(name);
  return text != NULL && *text ? text : NULL;
}

const char *sl_launcher_rank(enum sl_launcher_kind kind) {
  const char *step = kind == SL_LAUNCHER_SLURM ? value_of("SLURM_STEP_ID") : "0";
  return step != NULL && strtoul(step, NULL, 10) <= LAST_STEP ? value_of(sl_launchers[kind].rank) : NULL;
}
