/* The lifetimes of buffer slots, which waits.c derives and arena.c places by. */
#pragma once

#include "core/program/program.h"

#include <stdlib.h>

/* A lifetime of a buffer slot: issues first..last of `program`. done[lane] is the number of ops of each lane that must
 * be complete for it to be over, known[lane] the number that is complete for certain when it starts. */
struct sl_life {
  uint32_t slot; /* index in class->slot_offsets */
  int32_t buffer;
  enum sl_program_kind program;
  int32_t micro_batch;
  uint32_t first, last;
  uint32_t lanes; /* bit l: ops of lane l use it */
  int32_t before; /* while waits are derived: the preceding lifetime of this slot, -1 none */
  uint32_t done[SL_LANE_COUNT], known[SL_LANE_COUNT];
};
struct sl_lives {
  struct sl_life *items;
  size_t count, capacity;
};

/* Makes room for one more lifetime of one of `slots`, which is filled in at once: unlike sl_grow's, it is not zeroed.
 * There may be millions, which realloc moves without a second copy; most slots have a few. Errors: SL_ERR_MEMORY. */
static inline enum sl_status sl_lives_room(struct sl_lives *lives, size_t slots) {
  enum { LEAST = 256, OF_SLOT = 8 };
  if (lives->count < lives->capacity) return SL_OK;
  const size_t capacity = lives->capacity > 0 ? 2 * lives->capacity : LEAST + OF_SLOT * slots;
  struct sl_life *items = reallocarray(lives->items, capacity, sizeof *items);
  if (items == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory: %zu lifetimes of buffers", capacity);
  lives->items = items;
  lives->capacity = capacity;
  return SL_OK;
}

/* Records in k->lives that an issue of the program, whose clock is known, uses its operands. Errors: SL_ERR_MEMORY.
 * Internal to core/place. */
struct linker;
enum sl_status sl_lives_record(struct linker *k, uint32_t issue);
