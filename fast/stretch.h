/* Programs of any depth from those of two: what the exact clock would be given, without the model's blocks being lowered one by one. */
#pragma once

#include "core/program/program.h"

/* `a` and `b` are jobs of one plan but for the blocks of its stages, of which b's have a few more. *out, where *fits, has the step
 * programs, without buffers, of the plan whose stages have `times` as many more than a's; it is a job of a's plan, and sl_job_free's.
 * *fits is false where blocks do not follow each other alike, such as where buckets of gradients are cut anywhere. */
enum sl_status sl_fast_stretch(struct sl_job *out, const struct sl_job *a, const struct sl_job *b, int64_t times,
                               bool *fits);
/* The most bytes of the device that live at once in a step of class `i` of that plan; all jobs have memory curves. `third`: the job
 * whose stages have twice as many more as b's, with the step programs that follow, or NULL. Negative: they do not fit, or at some
 * issue of the third less lives than follows. */
enum sl_status sl_fast_stretch_live(const struct sl_job *a, const struct sl_job *b, const struct sl_job *third, int i,
                                    int64_t times, double *bytes);
/* Do two jobs have the same step programs, but for where operands stand, and for sizes that are rounded up? */
bool sl_fast_same_steps(const struct sl_job *x, const struct sl_job *y);
