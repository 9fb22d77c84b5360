/* shardlab-analyze goodput RECORD.json --mtbf-hours H ...: the goodput of a recorded or predicted training as a
 * function of its checkpoint interval (analysis/goodput.h). */
#pragma once

#include "core/base/status.h"

/* argv[0..argc) are the words after "goodput". Errors: SL_ERR_INPUT; those of writing files. */
enum sl_status sl_goodput_command(int argc, char **argv);
