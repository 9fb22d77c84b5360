/* The whole way from a plan to placed programs. */
#ifndef SL_CORE_JOB_JOB_H
#define SL_CORE_JOB_JOB_H

#include "core/program/program.h"

struct sl_build_options {
  bool save_params; /* the save program writes parameters */
  bool save_grads;  /* gradients outlive the step and the save program writes them */
};
/* Schedule, lower, link and place: the whole way from a plan to programs. `plan` must outlive the job. */
enum sl_status sl_job_build(struct sl_job *job, const struct sl_plan *plan, const struct sl_build_options *options);
void sl_job_free(struct sl_job *job);

#endif
