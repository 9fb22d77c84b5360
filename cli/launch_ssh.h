/* Starts a job on many hosts without MPI: one ssh per host runs this program as a node of the job
 * (core/launch/remote.h), and the node starts its ranks (cli/launch_ranks.h). Nodes are on a leash (cli/leash.h). Also
 * starts a job by a single srun. */
#pragma once

#include "cli/ended.h"
#include "core/launch/remote.h"

/* The first address of the first host, as `hostname -I` prints it there; the caller owns it. Errors: SL_ERR_INPUT if
 * ssh cannot reach the host, SL_ERR_ABSENT without ssh, SL_ERR_IO, SL_ERR_MEMORY. */
enum sl_status sl_launch_ssh_address(const struct sl_remote *remote, char **address);

/* Runs the job and waits for its end; *ended says how it ended. A host that cannot be reached, or is lost, ends the
 * job, and is named in one line on stderr or, if the job is watched, in *ended; the remaining nodes end their ranks.
 * SIGINT and SIGTERM end all of it. Errors: SL_ERR_ABSENT without ssh, SL_ERR_IO, SL_ERR_MEMORY. */
enum sl_status sl_launch_ssh(const struct sl_remote *remote, struct sl_ended *ended);
/* The same by srun. Errors: those of sl_remote_srun; SL_ERR_ABSENT without srun. */
enum sl_status sl_launch_srun(const struct sl_remote *remote, struct sl_ended *ended);
