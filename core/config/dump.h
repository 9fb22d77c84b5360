/* The configuration as text: what the records show. */
#pragma once

#include "core/config/config.h"

/* DeepSpeed's name of a schedule, "" for constant */
const char *sl_config_scheduler_name(enum sl_lr_schedule type);
