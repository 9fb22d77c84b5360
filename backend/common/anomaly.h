/* --detect-anomaly: finds the op that first wrote a NaN or an infinity. Shared by all backends. */
#pragma once

#include "backend/common/call.h"

/* Copy `bytes` bytes of the arena, from `from`, to host memory. */
typedef enum sl_status (*sl_anomaly_fetch_fn)(void *context, void *to, const void *from, size_t bytes);

/* Checks what a complete op has written, before a later op changes it: tensors of fp32, bf16 and fp16, and the sums of
 * the control block. `found` keeps the first anomaly of the program. `at_s` is the time at which the op completed.
 * Errors: those of `fetch`. */
enum sl_status sl_anomaly_look(struct sl_anomaly *found, const struct sl_call_rank *rank, const struct sl_issued *it,
                               double at_s, sl_anomaly_fetch_fn fetch, void *context);
