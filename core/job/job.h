/* Builds a job: from a plan to placed programs. */
#pragma once

#include "core/program/program.h"

/* Drafts, lowers and places the programs of all classes of `plan`, which must outlive the job. Errors: SL_ERR_INPUT if
 * a limit is exceeded; SL_ERR_MEMORY; SL_ERR_INTERNAL. Free it with sl_job_free. */
enum sl_status sl_job_build(struct sl_job *job, const struct sl_plan *plan, const struct sl_build_options *options);
void sl_job_free(struct sl_job *job);
