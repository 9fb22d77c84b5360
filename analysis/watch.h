/* Curves of a run while it goes on, as text: the files that csv_monitor writes (core/monitor/monitor.h), read again as they grow. */
#pragma once

#include "core/base/status.h"

#include <stdio.h>

/* Draw the curve of each file, once where `out` is no terminal, else again every second until SIGINT. A second heading in a file begins
 * a run anew; a line that is not complete yet, and a value that is no finite number, is not drawn. Errors: SL_ERR_INPUT with the
 * file and its line; SL_ERR_MEMORY. */
enum sl_status sl_watch(char *const *paths, int count, FILE *out);
