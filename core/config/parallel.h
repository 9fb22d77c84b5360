/* The keys of parallelism, DeepSpeed's and ours. */
#pragma once

#include "core/config/config.h"

/* DeepSpeed's keys for what "shardlab" says too, taken over; and what the parallel keys mean together. */
enum sl_status sl_config_check_parallel(struct sl_config *config);
