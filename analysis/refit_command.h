/* `shardlab-analyze refit`: fits the numbers of profiles to measured training runs (refit/). */
#pragma once

#include "core/base/status.h"

/* The arguments after the command's name. */
enum sl_status sl_refit_command(int argc, char **argv);
