/* What a program finds when it begins and leaves when it ends: its standard streams, signals of what it writes to, its stack. */
#pragma once

#include "core/base/status.h"

/* Once, when a program begins. Streams that its caller closed become /dev/null, so that no file is taken for one of them; a file that
 * grows too large and a reader that is gone are errors of the write, no signals; files that are read are kept in mind
 * (was_read.h). Errors: SL_ERR_MEMORY where its stack is too small for it. */
enum sl_status sl_standard_begin(void);
/* All of standard output is written. What somebody has stopped reading (`| head`) is no loss. Errors: SL_ERR_IO. */
enum sl_status sl_standard_flush(void);
