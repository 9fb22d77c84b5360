/* The static planner of memory. */
#pragma once

#include "core/place/lives.h"

/* Give every slot its place in the arena of its space; fill arena_bytes and the memory report, its curve
 * where that is wanted. Where nothing is to be placed, fill of the report what is known without. */
enum sl_status sl_arena_place(struct sl_class *rank_class, const struct sl_lives *lives,
                              const struct sl_build_options *options);
