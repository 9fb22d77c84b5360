/* Pictures of the tables: a gnuplot script per picture, which reads the CSV by column name, and its SVG and PNG. */
#pragma once

#include "core/base/status.h"

/* The style of all pictures, analysis/style.gp, with which every script begins: so each is complete by itself. */
extern const char sl_plot_style[];

/* Write FOLDER/{memory,step_time,losses}.gp and run gnuplot in FOLDER on each; no losses where only predictions are in the tables. FOLDER holds
 * runs.csv and losses.csv. Errors: SL_ERR_IO; SL_ERR_ABSENT when gnuplot is not on PATH (the scripts stay). */
enum sl_status sl_plot_folder(const char *folder);
/* Write FOLDER/NAME.gp, which draws NAME.svg and NAME.png, `height` pixels high, by evaluating what `body` sets as the string `draw`; and run
 * gnuplot on it, in FOLDER. Errors as above. */
enum sl_status sl_plot_draw(const char *folder, const char *name, const char *body, int height);
