/* Memory over time: how many bytes of each category are live at which op. The arena planner (core/place) fills the
 * report from the same buffer lifetimes that it places by. A buffer is live from its first to its last use in program
 * order. Any arena must hold everything that is live at once, so the largest live sum is a lower bound of the arena's
 * size; what the arena has beyond it is fragmentation. */
#pragma once

#include "core/program/program.h"

enum { SL_PACES = 5 };

struct sl_memory_sample {
  enum sl_program_kind program;
  uint32_t issue;                  /* index in that program's issue list */
  int64_t live[SL_CATEGORY_COUNT]; /* bytes, aligned as placed */
};

/* The report of one memory space of one class. class->memory has SL_SPACE_COUNT of them, SL_SPACE_DEVICE first. */
struct sl_memory_report {
  int64_t peak_bytes;                 /* equals arena_bytes of this space in the class */
  int64_t live_peak_bytes;            /* the largest sum of simultaneously live bytes */
  int64_t at_peak[SL_CATEGORY_COUNT]; /* bytes live at that instant, by category */
  int64_t logits_at_peak;             /* of these: logits, and their gradient computed in place */
  enum sl_program_kind peak_program;  /* the program of that instant; peak_issue is an index in its issue list */
  uint32_t peak_issue;
  int64_t fragmentation; /* peak_bytes - live_peak_bytes */
  /* Bytes that PyTorch's caching allocator (core/place/allocator.h) reserves on the device for the step: reserved_bytes
   * on a device of unlimited memory; needed_bytes on the plan's device, where the allocator frees unused segments when
   * it runs short. If needed_bytes exceeds what the driver leaves of the device, the step runs out of memory. All are 0
   * unless a framework's kernels are asked for (plan/kernels.h). */
  int64_t reserved_bytes, needed_bytes;
  /* needed_bytes if the host takes i / (SL_PACES - 1) of the device's time for a step: what a collective has used is
   * not free before the device is done with it, and a slow host asks later. The first is needed_bytes itself. */
  int64_t needed_at[SL_PACES];
  int64_t category_max[SL_CATEGORY_COUNT];
  int64_t phase_peak[SL_PHASE_COUNT]; /* largest live sum in each phase */
  enum sl_phase peak_phase;
  /* the step program: one sample whenever the live set changes; owned. NULL without sl_build_options.memory_curve */
  struct sl_memory_sample *curve;
  size_t curve_count;
  /* exact bytes of persistent state before alignment and padding, to be compared with closed forms */
  int64_t state_bytes[SL_CATEGORY_COUNT];
};
