/* Sets the keys of a document by their path; sl_json_at (core/base/json_get.h) reads them. */
#pragma once

#include <jansson.h>

/* Sets the key at `path` ("zero_optimization.stage"), creating missing sections. Takes ownership of `value`. */
void sl_interop_put(json_t *root, const char *path, json_t *value);
