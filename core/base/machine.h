/* The machine that this process runs on. */
#pragma once

/* Processor cores that this process may use, at least 1. */
int sl_machine_cores(void);
/* Seconds of a clock that never goes back; its zero means nothing. */
double sl_machine_clock(void);
