/* Writes the configuration as JSON, as records show it. */
#pragma once

#include "core/config/config.h"

/* DeepSpeed's name of a schedule, "" for constant */
const char *sl_config_scheduler_name(enum sl_lr_schedule type);
