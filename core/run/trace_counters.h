/* Counters of a trace: what is live in each memory of a rank, by category, and what the rank has sent over each kind of link. */
#pragma once

#include "core/run/trace_rank.h"

/* Bytes that a communication op or a copy between memories has moved when it is complete, as the record counts them (wire_bytes), under the name of
 * the link: of a collective the slowest that its group spans, by which it is priced. A counter of all since the trace began. Other ops add nothing. */
void sl_trace_count_sent(const struct sl_trace_slice *slice);
/* Live bytes by category. Known are the live sets in program order (struct sl_memory_report); each is told at the time at which its op began, or, where
 * an op on another lane that stands before it began later, at that time. They are told when the last op of the program is complete, and
 * then what stays: persistent buffers. Without a curve (programs but the step's; a job built without) only that. */
void sl_trace_count_live(const struct sl_trace_slice *slice);
