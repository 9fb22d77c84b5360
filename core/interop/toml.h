/* A complete reader of TOML 1.0.0 (toml.io/en/v1.0.0) that records the places of keys. Debian has no library with a C
 * interface for it. */
#pragma once

#include "core/base/json.h"

/* Reads text[0..length), called `name` in messages. A table becomes an object, an array of tables an array of objects;
 * dates, times, inf and nan, which JSON does not have, remain text. Errors: SL_ERR_INPUT with line and column: invalid
 * TOML, a duplicate key, a key added to a closed table, nesting beyond 64 levels, a key path of 512 bytes or more, more
 * than 4096 tables. On failure nothing is allocated. */
enum sl_status sl_toml_parse(struct sl_json *doc, const char *name, const char *text, size_t length);
