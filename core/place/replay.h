/* How much device memory a framework's caching allocator reserves, from the framework's own allocations.
 *
 * Two steps of a rank are played through sl_allocator: its model states, then in the order of the schedule what the
 * scripts of plan/allocations.h say of every block, and at a step's end the optimizer. torch's Adam makes its states in the
 * first step, out of what the backward left: that breaks blocks which the second step would have used again. */
#pragma once

#include "core/plan/allocations.h"
#include "core/program/memory_report.h"

/* Fills reserved_bytes, needed_bytes and needed_at of the report of pipeline rank `pp_rank`, on a device that has
 * `room` for its allocator. `lead`: launches that the device's queue holds. Errors: SL_ERR_MEMORY. */
enum sl_status sl_replay_report(struct sl_memory_report *report, const struct sl_plan *plan, int pp_rank,
                                const struct sl_allocations *allocations, int64_t room, int64_t lead);
