/* Unquoted scalars of YAML 1.1. Internal to core/interop. */
#pragma once

#include <jansson.h>

/* The value that PyYAML's SafeLoader gives a plain scalar: null, a bool, an integer, a float, otherwise the text
 * itself. Sexagesimal numbers, inf and nan remain text. A new reference; NULL: out of memory. */
json_t *sl_yaml_plain(const char *text);
