/* What each op of a program waits for, and how long buffers live. */
#pragma once

#include "core/place/lives.h"

/* Expand the instances of `program`, one of class `rank_class`, into its issue list, derive the waits from what ops read and
 * write, and append the lives of the slots of buffers that are not persistent: with a memory curve every one, else without those of
 * periods that are as the ones before and behind them. scopes: one per buffer of the class.
 * Counts the issues that were derived in rank_class->work.
 * Errors: SL_ERR_INPUT for a step of too many ops, SL_ERR_MEMORY. */
enum sl_status sl_waits_derive(const struct sl_plan *plan, struct sl_class *rank_class, const enum sl_scope *scopes,
                               const struct sl_build_options *options, struct sl_program *program,
                               struct sl_lives *lives);
