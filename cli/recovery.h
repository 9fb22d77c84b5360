/* Restarts a job when a rank dies, a host is lost or ranks wait too long: `measure --max-restarts N`.
 *
 * Each restart resumes from the newest checkpoint in --checkpoint that this job has written and that is intact, or, if
 * there is none, from where the job began. It has as many ranks as before, or, with "elasticity", the largest number
 * that its rules allow of those left: a rank that died or went silent no longer counts, nor do those of a lost host. An
 * error that a rank reports itself is none of these causes, and ends the job. */
#pragma once

#include "cli/nodes.h"
#include "cli/options.h"

struct sl_recovery_job {
  const struct sl_options *options; /* --steps is the total of the job */
  const struct sl_nodes *nodes;
  bool elastic; /* whether other numbers of ranks may be tried */
  /* Whether the job can run on the ranks of `options` and `nodes`. Prints nothing; the reason is its error. */
  enum sl_status (*fits)(const struct sl_options *options);
};

/* Whether the flags can be combined. `inside`: another launcher has started this process as a rank. Errors:
 * SL_ERR_INPUT. */
enum sl_status sl_recovery_check(const struct sl_options *options, const struct sl_nodes *nodes, bool inside);
/* Starts the job, and restarts it. Prints a line to standard error for each restart; *exit_code is that of the last
 * start. Errors: those of sl_start; SL_ERR_PEER if all restarts are used up, or there is no checkpoint left to resume
 * from. */
enum sl_status sl_recovery_run(const struct sl_recovery_job *job, int *exit_code);
