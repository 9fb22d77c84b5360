/* When a kernel starts threads. */
#ifndef SL_KERNELS_PARALLEL_H
#define SL_KERNELS_PARALLEL_H

/* Below this many elements a parallel region costs more than it saves. On `parallel for simd` the condition is written
 * if (parallel : ...): a bare `if` would hold for simd too, and short ranges would run one number at a time. */
#define SL_PARALLEL_MIN ((size_t)16384)

#endif
