/* `shardlab-analyze refit`: fit the numbers of profiles to measured training runs (refit/). */
#ifndef SL_ANALYSIS_REFIT_COMMAND_H
#define SL_ANALYSIS_REFIT_COMMAND_H

#include "core/base/status.h"

/* The arguments behind the command's name. */
enum sl_status sl_refit_command(int argc, char **argv);

#endif
