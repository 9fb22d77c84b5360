/* What the DeepSpeed keys ask of each other. */
#pragma once

#include "core/config/config.h"

/* Cross-field checks of the DeepSpeed keys, after reading. */
enum sl_status sl_config_check(struct sl_config *config);
/* Deprecated spellings and what DeepSpeed turns them into; called before the checks. */
enum sl_status sl_config_translate_deprecated(struct sl_config *config);
