/* What a training has been through, step by step, as a checkpoint's manifest has it: so a run that goes on from it can tell the whole
 * curve.
 *
 *   {"first_step": N,                       steps that had been taken before the first that it tells of
 *    "losses": [..], "grad_norms": [..], "learning_rates": [..],      of each; null where it is no finite number
 *    "skipped": [..]}                       steps, counted from 1, without an update, since a gradient overflowed */
#pragma once

#include "core/base/json_get.h"
#include "core/run/executor.h"

/* What went before (NULL: nothing that is known) and the `count` first steps of `run`. New reference; NULL for want of memory, and of a
 * run that has no results. */
json_t *sl_history_make(const json_t *before, const struct sl_run *run, int64_t count);
/* Is `in` a history up to step `step`? Errors: SL_ERR_INPUT with the place. */
enum sl_status sl_history_check(const struct sl_json_object *in, int64_t step);
/* The step before its first; -1 of NULL. */
int64_t sl_history_first(const json_t *history);
/* Put steps from+1 .. of it before those of a record: losses, grad_norms, learning_rates, skipped_steps, steps, first_step. `from` is
 * not before its first. Errors: SL_ERR_MEMORY. */
enum sl_status sl_history_put(const json_t *history, int64_t from, json_t *record);
/* The sum of the losses of steps from+1 .. of it; NaN where one is no number. */
double sl_history_loss(const json_t *history, int64_t from);
