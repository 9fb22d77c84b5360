/* Counts the bytes that emulated kernels read and write in chosen tensors, access by access, including those that a
 * cache would serve. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Counts from here on what is read and written in the `bytes` at p; at most 16 such places. */
void traffic_watch(const void *p, size_t bytes);
/* The bytes read and written in all places since the first traffic_watch. Ends the counting. */
size_t traffic_taken(void);

#ifdef __cplusplus
}
#endif
