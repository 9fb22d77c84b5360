/* Lists that fill several fields at once: stages, recompute, recompute_modules. */
#pragma once

#include "core/config/convert.h"

/* sl_config_convert for rows whose target is the whole configuration (STAGES, RECOMPUTE, MODULES). */
enum sl_converted sl_config_convert_list(const struct sl_field *field, const json_t *value, struct sl_config *config);
const char *sl_config_list_expectation(const struct sl_field *field);
json_t *sl_config_list_value(const struct sl_field *field, const struct sl_config *config);
