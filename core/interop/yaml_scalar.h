/* A scalar without quotes as YAML 1.1 has it. Internal to core/interop. */
#pragma once

#include <jansson.h>

/* What PyYAML's SafeLoader makes of a plain scalar: null, a bool, an integer, a float, else the text itself. Numbers at base 60, inf and nan stay
 * texts. A new reference; NULL: out of memory. */
json_t *sl_yaml_plain(const char *text);
