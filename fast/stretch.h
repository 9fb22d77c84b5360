/* Derives programs of any depth from those of two depths: the same programs as the exact clock simulates, without
 * lowering the model's blocks one by one. */
#pragma once

#include "core/program/program.h"

/* `a` and `b` are jobs of the same plan except for the number of blocks per stage, of which b has a few more. *fits is
 * false if blocks do not repeat, as when buckets of gradients are cut at arbitrary places. Otherwise *out has the step
 * programs, without buffers, of the plan whose stages exceed a's by `times` that many blocks; it refers to a's plan,
 * and is released by sl_job_free. */
enum sl_status sl_fast_stretch(struct sl_job *out, const struct sl_job *a, const struct sl_job *b, int64_t times,
                               bool *fits);
/* The peak bytes of device memory in a step of class `i` of that plan; all jobs must have memory curves. `third`: NULL,
 * or the job whose stages exceed a's by twice as many blocks as b's, with its derived step programs. Negative if the
 * programs do not align, or if less is in use at some issue of `third` than extrapolation gives. */
enum sl_status sl_fast_stretch_live(const struct sl_job *a, const struct sl_job *b, const struct sl_job *third, int i,
                                    int64_t times, double *bytes);
/* Whether two jobs have the same step programs, except for the places of operands and for sizes that are rounded up. */
bool sl_fast_same_steps(const struct sl_job *x, const struct sl_job *y);
