/* The machine that this process runs on. */
#ifndef SL_CORE_BASE_MACHINE_H
#define SL_CORE_BASE_MACHINE_H

/* Processor cores that this process may use, at least 1. */
int sl_machine_cores(void);
/* Seconds of a clock that never goes back; its zero means nothing. */
double sl_machine_clock(void);

#endif
