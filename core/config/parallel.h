/* The keys of parallelism, DeepSpeed's and ours. */
#pragma once

#include "core/config/config.h"

/* Takes over DeepSpeed's keys for what the "shardlab" section also says, and checks the parallel keys against each
 * other. Errors: SL_ERR_INPUT. */
enum sl_status sl_config_check_parallel(struct sl_config *config);
