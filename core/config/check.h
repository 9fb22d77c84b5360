/* Checks across DeepSpeed's keys. */
#pragma once

#include "core/config/config.h"

/* Checks combinations of DeepSpeed's and shardlab's keys, after all are read. Takes over DeepSpeed's keys for what the
 * "shardlab" section also says (sl_config_check_parallel), and warns of values that it ignores or changes. Errors:
 * SL_ERR_INPUT with the key and its place. */
enum sl_status sl_config_check(struct sl_config *config);
/* Replaces deprecated spellings as DeepSpeed does; called before the checks. */
enum sl_status sl_config_translate_deprecated(struct sl_config *config);
