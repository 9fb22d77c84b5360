/* The history of a training, step by step, as part of a checkpoint's manifest, so that a run that resumes from it can
 * report the complete curve.
 *
 *   {"first_step": N,                       steps taken before the first one listed
 *    "losses": [..], "grad_norms": [..], "learning_rates": [..],      of each step; null if not a finite number
 *    "skipped": [..]}                       steps, counted from 1, without an update because a gradient overflowed */
#pragma once

#include "core/base/json_get.h"
#include "core/run/executor.h"

/* The earlier history (NULL: none is known) followed by the first `count` steps of `run`. A new reference; NULL if out
 * of memory, and for a run without results. */
json_t *sl_history_make(const json_t *before, const struct sl_run *run, int64_t count);
/* Is `in` a valid history up to step `step`? Errors: SL_ERR_INPUT with the place. */
enum sl_status sl_history_check(const struct sl_json_object *in, int64_t step);
/* The number of steps before its first; -1 for NULL. */
int64_t sl_history_first(const json_t *history);
/* Puts steps from+1 .. of the history in front of those of a record: losses, grad_norms, learning_rates, skipped_steps,
 * steps, first_step. `from` must not be before its first. Errors: SL_ERR_MEMORY. */
enum sl_status sl_history_put(const json_t *history, int64_t from, json_t *record);
/* The sum of the losses of steps from+1 ..; NaN if one is not a number. */
double sl_history_loss(const json_t *history, int64_t from);
