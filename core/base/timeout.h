/* How long the processes of a job wait for each other. */
#pragma once

#include "core/base/status.h"

/* Seconds without progress after which a rank gives up: SHARDLAB_TIMEOUT_S, or 60. Errors: SL_ERR_INPUT. */
enum sl_status sl_timeout_read(double *seconds);
