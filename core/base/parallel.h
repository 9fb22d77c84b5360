/* Runs independent pieces of work on several threads. */
#pragma once

#include "core/base/status.h"

/* Calls work(context, i) once for each i of 0 <= i < count, on this thread and up to threads - 1 others; no piece may
 * write what another one uses. Fewer threads are used if the system does not provide more; with threads <= 1 all is
 * done here, in order. After a failure no piece with a higher number is started. Returns the failure with the lowest
 * number, with its message, so that the outcome does not depend on the number of threads. Warnings from other threads
 * are lost. */
enum sl_status sl_parallel(int count, int threads, enum sl_status (*work)(void *context, int i), void *context);

/* The same in two halves, between which this thread does something else: the others begin at once, and this one takes
 * the pieces that are left when it joins. */
struct sl_parallel;
/* Errors: SL_ERR_MEMORY, before anything is done. */
enum sl_status sl_parallel_begin(struct sl_parallel **out, int count, int threads,
                                 enum sl_status (*work)(void *context, int i), void *context);
/* Returns when all is done, with what sl_parallel would return; again and again, but from one thread at a time. NULL:
 * there was nothing to do. */
enum sl_status sl_parallel_join(struct sl_parallel *pieces);
/* Ends it, if need be, without what is left, and frees it. NULL: nothing. */
void sl_parallel_free(struct sl_parallel *pieces);
