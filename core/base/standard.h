/* Start and end of a program: its standard streams, signals from the targets of its writes, its stack. */
#pragma once

#include "core/base/status.h"

/* Called once at the start of a program. Standard streams that the caller closed become /dev/null, so that no file is
 * mistaken for one of them; standard output for reading only, so that what is written there and lost is told. A file
 * that grows too large and a reader that has gone become errors of the write instead of signals. Files that are read
 * are recorded (was_read.h). Errors: SL_ERR_MEMORY if the stack is too small for the program. */
enum sl_status sl_standard_begin(void);
/* Can something be written to standard output? Not if the caller closed it. Errors: SL_ERR_IO. */
enum sl_status sl_standard_check(void);
/* Flushes standard output. It is no error if the reader has stopped (`| head`). Errors: SL_ERR_IO. */
enum sl_status sl_standard_flush(void);
