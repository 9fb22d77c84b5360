/* Text from a pipe or standard input, which is there once: a program that asks for it at its start keeps each, so that
 * it, and children that it forks later, may read the same path again. A library keeps nothing, since it lives longer
 * than a request. */
#pragma once

#include "core/base/status.h"

#include <stddef.h>

/* From now on texts are kept. */
void sl_piped_begin(void);
/* The text that was kept of `path`, borrowed; NULL: none. Thread-safe, as is the next. */
const char *sl_piped_text(const char *path, size_t *length);
/* Keeps a copy of the text, if the program asked for that. Errors: SL_ERR_MEMORY. */
enum sl_status sl_piped_keep(const char *path, const char *text, size_t length);
