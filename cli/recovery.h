/* A job that is started again when a rank dies, a host vanishes or ranks wait too long: `measure --max-restarts N`.
 *
 * Each new start goes on from the newest checkpoint of --checkpoint that this job has written and whose bytes are all right; from where the
 * job began where there is none. It has as many ranks as before or, with "elasticity", the most of those left that its rules allow: a
 * rank that died or went silent is not counted any more, nor are those of a host that is gone. What a rank reports as an error of its own
 * is none of these, and ends the job as ever. */
#pragma once

#include "cli/nodes.h"
#include "cli/options.h"

struct sl_recovery_job {
  const struct sl_options *options; /* --steps is what the job is to take in all */
  const struct sl_nodes *nodes;
  bool elastic; /* may other numbers of ranks be tried? */
  /* Can the job run on the ranks that `options` and `nodes` say? Says nothing; the reason is its error. */
  enum sl_status (*fits)(const struct sl_options *options);
};

/* Do the flags go together? `inside`: somebody else has started this process as a rank. Errors: SL_ERR_INPUT. */
enum sl_status sl_recovery_check(const struct sl_options *options, const struct sl_nodes *nodes, bool inside);
/* Start the job, and again. A line on standard error for each restart; *exit_code is that of the last start. Errors: of sl_start;
 * SL_ERR_PEER where all restarts are used up, or no checkpoint is left to go on from. */
enum sl_status sl_recovery_run(const struct sl_recovery_job *job, int *exit_code);
