/* A prediction's verdict: what was understood of the request in one line, whether it fits, and what holds the memory. Keys: "verdict"
 * of record/keys.def. Internal to core/record. */
#pragma once

#include "core/record/record.h"

/* New reference. `run` is a finished one of the simulator, still open. */
json_t *sl_verdict_json(const struct sl_run *run);
