/* Derives what each op of a program waits for, and the lifetimes of buffers. */
#pragma once

#include "core/place/lives.h"

/* Expands the instances of `program`, one of class `rank_class`, into its issue list, derives the waits from what ops
 * read and write, and appends the lifetimes of the slots of buffers that are not persistent: all of them with a memory
 * curve, otherwise without those of periods identical to their neighbours. scopes: one per buffer of the class. Counts
 * the issues that were derived in rank_class->work. Errors: SL_ERR_INPUT for a step of too many ops, SL_ERR_MEMORY. */
enum sl_status sl_waits_derive(const struct sl_plan *plan, struct sl_class *rank_class, const enum sl_scope *scopes,
                               const struct sl_build_options *options, struct sl_program *program,
                               struct sl_lives *lives);
