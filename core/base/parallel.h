/* Independent pieces of work on several threads. */
#pragma once

#include "core/base/status.h"

/* Call work(context, i) once for each i of 0 <= i < count, on this thread and up to threads - 1 others; pieces share nothing that
 * one of them writes. Fewer threads are used where the system gives no more; with threads <= 1 all is done here, in order.
 * After a failure no piece is begun whose number is higher. Returns the failure of the lowest number, with its message, so that
 * the outcome does not depend on how many threads there are. A warning from another thread than this one is lost. */
enum sl_status sl_parallel(int count, int threads, enum sl_status (*work)(void *context, int i), void *context);
