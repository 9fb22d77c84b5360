/* The second step of building a job: from drafts to programs. */
#pragma once

#include "core/lower/build.h"

/* Lowers the ops and instances of all programs over the buffers of `drafted` (sl_job_draft) and those that the lowering
 * adds, with the slots of each. The caller frees *scopes, one per buffer; sl_job_free frees the class. Both also after
 * a failure. */
enum sl_status sl_job_lower(struct sl_class *rank_class, enum sl_scope **scopes, const struct sl_lowering *drafted);
