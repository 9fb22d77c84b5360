/* Plots of the tables: one gnuplot script per picture, which reads the CSV by column name, and its SVG and PNG. */
#pragma once

#include "core/base/status.h"

/* The style of all plots, analysis/style.gp. Every script begins with it and is therefore complete by itself. */
extern const char sl_plot_style[];

/* Writes FOLDER/{memory,step_time,losses}.gp and runs gnuplot in FOLDER on each; losses is omitted if the tables have
 * only predictions. FOLDER must contain runs.csv and losses.csv. Errors: SL_ERR_IO; SL_ERR_ABSENT if gnuplot is not on
 * PATH (the scripts are kept). */
enum sl_status sl_plot_folder(const char *folder);
/* Writes FOLDER/NAME.gp, which draws NAME.svg and NAME.png, `height` pixels high, by evaluating the string `draw` that
 * `body` sets, and runs gnuplot on it in FOLDER. Errors as above. */
enum sl_status sl_plot_draw(const char *folder, const char *name, const char *body, int height);
