/* Arrows of a trace: from the slice of each send to that of its receive. */
#pragma once

#include "core/run/trace_rank.h"

/* The end of an arrow that stands at this slice, if it is a send or a receive and the other side is traced, too: folded ranks are
 * not. Both sides make the same id of who sends to whom on which lane, and of how many messages were before. */
void sl_trace_arrow(const struct sl_trace_slice *slice);
