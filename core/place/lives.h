/* The lives of buffer slots: what waits.c finds and arena.c places by. */
#pragma once

#include "core/program/program.h"

/* Lives of buffer slots: life `i` of a slot spans issues first..last of `program`;
 * `done[lane]` is how many ops of each lane must be complete for the life to be over, `known[lane]` how many are
 * complete for certain when it starts. */
struct sl_life {
  uint32_t slot; /* index in class->slot_offsets */
  int32_t buffer;
  enum sl_program_kind program;
  int32_t micro_batch;
  uint32_t first, last;
  uint32_t lanes; /* bit l: ops of lane l use it */
  int32_t before; /* while waits are derived: the life of this slot in front of it, -1 none */
  uint32_t done[SL_LANE_COUNT], known[SL_LANE_COUNT];
};
struct sl_lives {
  struct sl_life *items;
  size_t count, capacity;
};
