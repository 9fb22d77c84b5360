/* Bytes that emulated kernels read and write, access by access, in chosen tensors: what caches would give again counts again. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Counts from here on what is read and written in the `bytes` at p; 16 such places at most. */
void traffic_watch(const void *p, size_t bytes);
/* Bytes read and written since the first traffic_watch, in all places; they are forgotten. */
size_t traffic_taken(void);

#ifdef __cplusplus
}
#endif
