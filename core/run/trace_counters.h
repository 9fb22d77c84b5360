/* Counters of a trace: live bytes in each memory of a rank, by category, and bytes that the rank has sent over each
 * kind of link. */
#pragma once

#include "core/run/trace_rank.h"

/* Adds the bytes of a completed communication op or copy between memories, counted as in the record (wire_bytes), to
 * the counter named after its link; for a collective the slowest link that its group spans, which determines its cost.
 * The counter includes everything since the trace began. Other ops add nothing. */
void sl_trace_count_sent(const struct sl_trace_slice *slice);
/* Writes live bytes by category. The live sets are known in program order (struct sl_memory_report); each is written at
 * the time at which its op began, or the latest begin of an earlier op on another lane. They are written when the
 * program's last op is complete, followed by what remains: persistent buffers. Without a curve (other programs than the
 * step; a job built without) only the latter is written. */
void sl_trace_count_live(const struct sl_trace_slice *slice);
