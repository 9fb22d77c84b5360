/* Memory over time: what is live at which op, by category; filled by the arena planner from the same lifetimes that it
 * places by. A buffer is live from its first to its last use in program order: any arena must hold all that is live at once,
 * so the largest sum is a lower bound and what the arena has beyond it is fragmentation. */
#pragma once

#include "core/program/program.h"

struct sl_memory_sample {
  enum sl_program_kind program;
  uint32_t issue;                  /* index in that program's issue list */
  int64_t live[SL_CATEGORY_COUNT]; /* bytes, aligned as placed */
};

/* One memory space of one class; class->memory has SL_SPACE_COUNT of them, SL_SPACE_DEVICE first. */
struct sl_memory_report {
  int64_t peak_bytes;                 /* == the class's arena_bytes of this space */
  int64_t live_peak_bytes;            /* the largest sum of simultaneously live bytes */
  int64_t at_peak[SL_CATEGORY_COUNT]; /* live at that instant */
  int64_t logits_at_peak;             /* of these: what the head makes over the vocabulary, and its gradient in place */
  enum sl_program_kind peak_program;  /* that instant: an index in this program's issue list */
  uint32_t peak_issue;
  int64_t fragmentation;              /* peak_bytes - live_peak_bytes */
  /* Of the device, where a framework's kernels are asked for, else 0: what PyTorch's caching allocator reserves for the step
   * (core/place/allocator.h) on a device without end, and on the plan's, where it gives unused segments back in need: above what
   * the driver leaves of the device, memory runs out. */
  int64_t reserved_bytes, needed_bytes;
  int64_t unled_bytes; /* needed_bytes where the host is never ahead of the device, so that all that was used is free */
  int64_t category_max[SL_CATEGORY_COUNT];
  int64_t phase_peak[SL_PHASE_COUNT]; /* largest live sum in each phase */
  enum sl_phase peak_phase;
  struct sl_memory_sample *curve; /* the step program, one sample whenever the live set changes; owned. Where
                                   sl_build_options.memory_curve asks for it, else NULL */
  size_t curve_count;
  /* exact bytes before alignment and padding, of persistent state: for closed forms */
  int64_t state_bytes[SL_CATEGORY_COUNT];
};
