/* Divides a row of weights into runs. */
#pragma once

#include "core/base/status.h"

#include <stdint.h>

/* What makes one division better than another: heaviest and lightest run differ less, and the last of equals; or the
 * heaviest is lighter, and the first of equals. */
enum sl_partition_by { SL_PARTITION_BY_SPREAD, SL_PARTITION_BY_HEAVIEST };

/* Divides `n` weights, none negative, into `parts` runs of at least one each, and writes how many each has to `counts`:
 * 1 <= parts <= n. By spread it is DeepSpeed's partition_balanced (runtime/utils.py), which of the divisions of the
 * first i weights into k runs keeps a single one. Errors: SL_ERR_MEMORY. */
enum sl_status sl_partition(const double *weights, int n, int parts, enum sl_partition_by by, int64_t *counts);
