/* Builds a job: from a plan to placed programs. */
#pragma once

#include "core/program/program.h"

/* Drafts, lowers and places the programs of all classes of `plan`, which must outlive the job. On failure nothing is
 * allocated; otherwise free the job with sl_job_free. Errors: SL_ERR_INPUT if a rank's memory, a buffer or the number
 * of ops exceeds its limit; SL_ERR_CHECK if a model family's backward cannot be derived from its forward;
 * SL_ERR_MEMORY; SL_ERR_INTERNAL. */
enum sl_status sl_job_build(struct sl_job *job, const struct sl_plan *plan, const struct sl_build_options *options);
void sl_job_free(struct sl_job *job);
