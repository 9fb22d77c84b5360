/* The last step of building a job: when ops may start, and where buffers are. */
#pragma once

#include "core/program/program.h"

/* Issue lists, waits, offsets and the memory report of a class whose programs are lowered. scopes: one per buffer. */
enum sl_status sl_place_class(const struct sl_plan *plan, const enum sl_scope *scopes,
                              const struct sl_build_options *options, struct sl_class *rank_class);
/* What a framework's allocator reserves for a placed class, into its memory report; nothing if no framework's kernels
 * are asked for. Errors: SL_ERR_MEMORY. */
enum sl_status sl_place_reserve(const struct sl_plan *plan, struct sl_class *rank_class);
/* Frees what sl_place_reserve has not used. */
void sl_place_forget(struct sl_class *rank_class);
