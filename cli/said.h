/* A warning is said once by a command, however often it comes to the same configuration, alone or in the processes that it
 * starts. */
#pragma once

/* From here on warnings go to standard error, each once; what the process that started this one has said counts. */
void sl_said_once(void);
/* Before a process is started: it hears what was said so far. */
void sl_said_pass(void);
