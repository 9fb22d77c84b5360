/* When a kernel starts threads. */
#ifndef SL_KERNELS_PARALLEL_H
#define SL_KERNELS_PARALLEL_H

/* Below this many elements a parallel region costs more than it saves. */
#define SL_PARALLEL_MIN ((size_t)16384)

#endif
