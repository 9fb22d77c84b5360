/* When a kernel starts threads. */
#pragma once

/* Below this many elements a parallel region costs more than it saves. On `parallel for simd` the condition is written
 * if (parallel : ...): a bare `if` would hold for simd too, and short ranges would run one number at a time. */
#define SL_PARALLEL_MIN ((size_t)16384)
