/* Starting a job on many hosts without MPI: one ssh a host, which runs this program as a node of the job (core/launch/remote.h),
 * and the node starts its ranks (cli/launch_ranks.h). Nodes are on a leash (cli/leash.h). And srun, once for all. */
#pragma once

#include "cli/ended.h"
#include "core/launch/remote.h"

/* The first address of the first host, by `hostname -I` there; the caller's. Errors: SL_ERR_INPUT where ssh does not get there,
 * SL_ERR_ABSENT without ssh, SL_ERR_IO, SL_ERR_MEMORY. */
enum sl_status sl_launch_ssh_address(const struct sl_remote *remote, char **address);

/* Run the job and wait for its end; *ended says how. A host that cannot be reached, or that vanishes,
 * is named in one line on stderr, or, where the job is watched, in *ended, and ends the job; nodes that are left end their ranks. SIGINT and SIGTERM end all of it.
 * Errors: SL_ERR_ABSENT without ssh, SL_ERR_IO, SL_ERR_MEMORY. */
enum sl_status sl_launch_ssh(const struct sl_remote *remote, struct sl_ended *ended);
/* The same by srun. Errors: of sl_remote_srun; SL_ERR_ABSENT without srun. */
enum sl_status sl_launch_srun(const struct sl_remote *remote, struct sl_ended *ended);
