/* What a configuration has and another framework's words do not. Internal to core/interop. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* Append the path of every value of `given`, the file as it stood, that `is_said` does not know to the array `unsaid`. */
void sl_interop_unsaid(const json_t *given, bool (*is_said)(const char *path), json_t *unsaid);
/* Whether `path` is in a list that ends with NULL. */
bool sl_interop_among(const char *const *list, const char *path);
