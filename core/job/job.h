/* The whole way from a plan to placed programs. */
#pragma once

#include "core/program/program.h"

/* Lower and place: the whole way from a plan to programs. `plan` must outlive the job. */
enum sl_status sl_job_build(struct sl_job *job, const struct sl_plan *plan, const struct sl_build_options *options);
void sl_job_free(struct sl_job *job);
