/* TOML 1.0.0 (toml.io/en/v1.0.0), all of it, as a document whose keys know their places. No library of Debian's with a C interface reads it. */
#pragma once

#include "core/base/json.h"

/* Read text[0..length), called `name` in messages. A table is an object, an array of tables an array of objects; dates, times, inf and nan, for
 * which JSON has no form, are texts as they stand. Errors: SL_ERR_INPUT with line and column: what is no TOML, a key given twice, a table closed to
 * more keys, nesting beyond 64 levels, a key path of 512 bytes or more, more than 4096 tables. On failure nothing is held. */
enum sl_status sl_toml_parse(struct sl_json *doc, const char *name, const char *text, size_t length);
