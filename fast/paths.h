/* A schedule's time as its longest path, in closed form. Units: seconds; f, b: a stage's forward and backward, c: a transfer,
 * p stages, m micro-batches. Every path is a lower bound, and these are the longest where stages between the ends are alike:
 *
 *   gpipe   down to the slowest stage, its m forwards, down to the end; up to the slowest, its m backwards, up to the first
 *   1f1b    down to the last stage, its m forwards and backwards, up to the first: of equal stages (m + p - 1)(f + b)
 *           + 2 (p - 1) c. On the way it may leave the last stage for a cycle over k more, which takes the place of k + 1
 *           of its m slots and crosses 2 k boundaries: with transfers that nothing hides, (m - 1) / p times over all p. */
#pragma once

#include "fast/schedule.h"

/* As sl_fast_run_pipeline, in time that grows with the stages alone. False: a stage before the last is the slowest under 1f1b, so
 * that its path depends on how the pipeline fills; `ends` has nothing. */
bool sl_fast_sum_pipeline(const struct sl_fast_pipeline *pipeline, double *ends);
