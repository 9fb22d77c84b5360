/* The time of a pipeline schedule as its longest path, in closed form. Units: seconds. f, b: forward and backward of a
 * stage; c: a transfer; p stages, m micro-batches. Every path is a lower bound, and the following are the longest if
 * the stages between the first and the last are identical:
 *
 *   gpipe  down to the slowest stage, its m forwards, down to the end; up to the slowest, its m backwards,
 *          up to the first
 *   1f1b   down to the last stage, its m forwards and backwards, up to the first: (m + p - 1)(f + b) + 2 (p - 1) c
 *          for equal stages. On the way, the path may leave the last stage for a cycle over k more stages. It replaces
 *          k + 1 of the m slots and crosses 2 k boundaries: if nothing hides transfers, (m - 1) / p times over all
 *          p stages. */
#pragma once

#include "fast/schedule.h"

/* As sl_fast_run_pipeline, in time that grows only with the number of stages. Returns false, without `ends`, if under
 * 1f1b a stage before the last is the slowest, because the path then depends on how the pipeline fills. */
bool sl_fast_sum_pipeline(const struct sl_fast_pipeline *pipeline, double *ends);
