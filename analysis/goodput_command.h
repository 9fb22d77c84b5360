/* shardlab-analyze goodput RECORD.json --mtbf-hours H ...: the goodput of a recorded or predicted training against its interval of
 * checkpoints (analysis/goodput.h). */
#pragma once

#include "core/base/status.h"

/* argv[0..argc) behind "goodput". Errors: SL_ERR_INPUT; of the files it writes. */
enum sl_status sl_goodput_command(int argc, char **argv);
