/* The first step of building a job: what the model computes, as drafts. programs.h is the second. */
#pragma once

#include "core/lower/build.h"

/* Drafts what every stage of a pipeline rank computes for one micro-batch, and the buffers that this and the sharding
 * strategy need: those of a class without programs, each with a scope. `plan` and `options` must outlive `out`, which
 * must be freed after a failure too. `ranks` says which ranks form the class; for `member` see struct sl_lowering. */
enum sl_status sl_job_draft(struct sl_lowering *out, const struct sl_plan *plan, const struct sl_build_options *options,
                            const struct sl_class *ranks, int member);
void sl_job_draft_free(struct sl_lowering *drafted);
