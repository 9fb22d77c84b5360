/* The static memory planner. */
#pragma once

#include "core/place/lives.h"

/* Assigns every slot its offset in the arena of its space; fills arena_bytes and the memory report, with a curve if
 * wanted. If nothing is to be placed, fills only what the report can say without offsets. */
enum sl_status sl_arena_place(struct sl_class *rank_class, const struct sl_lives *lives,
                              const struct sl_build_options *options);
