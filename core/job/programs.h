/* The second stage of a job: drafts to programs. */
#pragma once

#include "core/lower/build.h"

/* The ops and instances of init, step and save over the buffers of `drafted` (sl_job_draft) and those that lowering adds, with the
 * slots of each. `*scopes`, one per buffer, is the caller's to free, and the class sl_job_free's, after a failure too. */
enum sl_status sl_job_lower(struct sl_class *rank_class, enum sl_scope **scopes, const struct sl_lowering *drafted);
