/* Plots the curves of a running training as text, from the files that csv_monitor writes (core/monitor/monitor.h). */
#pragma once

#include "core/base/status.h"

#include <stdio.h>

/* Draws the curve of each file: once if `out` is no terminal, otherwise again every second until SIGINT. A second
 * heading in a file starts a new run; a line that is not complete yet and a value that is not finite are skipped.
 * Errors: SL_ERR_INPUT with the file and its line; SL_ERR_MEMORY. */
enum sl_status sl_watch(char *const *paths, int count, FILE *out);
