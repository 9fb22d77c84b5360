/* Pictures of the tables: a gnuplot script per picture, which reads the CSV by column name, and its SVG and PNG. */
#pragma once

#include "core/base/status.h"

/* Write FOLDER/{memory,step_time,losses}.gp and run gnuplot in FOLDER on each; no losses where only predictions are in the tables. FOLDER holds runs.csv and losses.csv.
 * Errors: SL_ERR_IO; SL_ERR_ABSENT when gnuplot is not on PATH (the scripts stay). */
enum sl_status sl_plot_folder(const char *folder);
/* Run gnuplot on FOLDER/NAME.gp, in FOLDER. */
enum sl_status sl_plot_run(const char *folder, const char *name);
