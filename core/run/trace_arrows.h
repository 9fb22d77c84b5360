/* Arrows of a trace, from the slice of each send to that of its receive. */
#pragma once

#include "core/run/trace_rank.h"

/* Writes the end of an arrow at this slice, if it is a send or a receive and the other side is traced too (folded ranks
 * are not). Both sides derive the same id from the sender, the receiver, the lane, and the number of earlier
 * messages. */
void sl_trace_arrow(const struct sl_trace_slice *slice);
