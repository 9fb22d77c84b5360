/* Which op first wrote a number that is not finite: --detect-anomaly, for whatever backend runs the program. */
#pragma once

#include "backend/common/call.h"

/* Copy `bytes` bytes of the arena, from `from`, to host memory. */
typedef enum sl_status (*sl_anomaly_fetch_fn)(void *context, void *to, const void *from, size_t bytes);

/* Look at what a complete op has written, while nothing that follows it has touched that: tensors of fp32, bf16 and fp16, and the
 * sums of the control block. `found` keeps the first of its program. `at_s`: when the op was complete. Errors: those of `fetch`. */
enum sl_status sl_anomaly_look(struct sl_anomaly *found, const struct sl_call_rank *rank, const struct sl_issued *it,
                               double at_s, sl_anomaly_fetch_fn fetch, void *context);
