/* The first stage of a job: what the model computes, as drafts. */
#ifndef SL_CORE_JOB_DRAFT_H
#define SL_CORE_JOB_DRAFT_H

#include "core/lower/build.h"

/* What every stage of the class's pipeline rank computes for one micro-batch, and the buffers that this and the sharding strategy
 * need: those of `rank_class`, with a scope each in `out`. `plan`, `options` and `rank_class` must outlive `out`, which is freed
 * after a failure too. `member`: see struct sl_lowering. */
enum sl_status sl_job_draft(struct sl_lowering *out, const struct sl_plan *plan, const struct sl_build_options *options,
                            int member, struct sl_class *rank_class);
void sl_job_draft_free(struct sl_lowering *lowering);

#endif
