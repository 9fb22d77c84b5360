/* Prints every warning once per command, even if the same configuration is read several times, in one process or in the
 * processes that it starts. */
#pragma once

/* From here on each warning goes to standard error once; those printed by the process that started this one count. */
void sl_said_once(void);
/* From here on no warning is printed: --quiet. */
void sl_said_silence(void);
/* Call before starting a process: tells it which warnings have been printed. */
void sl_said_pass(void);
/* Call before starting processes one after the other: each also learns what the earlier ones printed, which they note
 * in `file`, a temporary file of the caller's that need not exist. */
void sl_said_share(const char *file);
