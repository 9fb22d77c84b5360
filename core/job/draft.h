/* The first stage of a job: what the model computes, as drafts. */
#pragma once

#include "core/lower/build.h"

/* What every stage of a pipeline rank computes for one micro-batch, and the buffers that this and the sharding strategy need: those
 * of a class without programs, with a scope each. `plan` and `options` must outlive `out`, which is freed after a failure too.
 * `ranks` says which ranks the class is of; `member`: see struct sl_lowering. */
enum sl_status sl_job_draft(struct sl_lowering *out, const struct sl_plan *plan, const struct sl_build_options *options,
                            const struct sl_class *ranks, int member);
void sl_job_draft_free(struct sl_lowering *drafted);
