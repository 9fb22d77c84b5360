/* The second stage of a job: drafts to programs. */
#ifndef SL_CORE_JOB_PROGRAMS_H
#define SL_CORE_JOB_PROGRAMS_H

#include "core/lower/build.h"

/* The ops and instances of init, step and save, and the slots of every buffer, into the class of `drafted`
 * (sl_job_draft), which is used up. */
enum sl_status sl_job_lower(struct sl_lowering *drafted);

#endif
