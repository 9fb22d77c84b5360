/* A prediction's verdict: the request as it was understood, in one line, whether it fits, and what uses the memory.
 * Keys: "verdict" of record/keys.def. Internal to core/record. */
#pragma once

#include "core/record/record.h"

/* The verdict on a finished run of the simulator, still open. A new reference. */
json_t *sl_verdict_json(const struct sl_run *run);
