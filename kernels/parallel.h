/* The size from which a host kernel uses several threads. */
#pragma once

/* Below this many elements a parallel region costs more than it saves. `parallel for simd` needs the condition as
 * if (parallel : ...), because a plain `if` would also switch off simd for short ranges. */
#define SL_PARALLEL_MIN ((size_t)16384)
