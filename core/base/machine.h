/* The machine that this process runs on. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { SL_MACHINE_PAGE = 4096 }; /* bytes: O_DIRECT needs addresses, offsets and lengths aligned to this, on any disk */

/* Processor cores that this process may use, at least 1. */
int sl_machine_cores(void);
/* The cores that this process may use, as a bit mask of the first 8 * SL_MACHINE_MASK; and the number of bits set.
 * Launchers bind processes to cores, so a job has the union of its processes' cores on a node. */
enum { SL_MACHINE_MASK = 128 };
void sl_machine_core_mask(unsigned char mask[SL_MACHINE_MASK]);
int sl_machine_mask_cores(const unsigned char mask[SL_MACHINE_MASK]);
/* Average number of processes on the machine that were running or runnable in the last minute; 0 if unknown. */
double sl_machine_load(void);
/* Would such a load disturb a measurement on this many cores? The threshold is half a process, plus one for every 16
 * cores: a guess that exceeds the load of an idle machine's own services. */
static inline bool sl_machine_is_busy(double load, int cores) {
  return load > 0.5 + cores / 16.0;
}
/* Could this process get `bytes` more of address space (ulimit -v)? */
bool sl_machine_has_room(size_t bytes);
/* Memory for large blocks, for free(); NULL: there is none. It is of huge pages where the system gives them: they are
 * faulted in 2 MiB at a time, and a disk gets requests of megabytes for O_DIRECT, where scattered small pages make
 * many of a few hundred KiB. */
void *sl_machine_huge(size_t bytes);
/* Seconds of a monotonic clock with an arbitrary zero. */
double sl_machine_clock(void);
/* Seconds since 1970, by the system's clock: for what outlives this process, or another machine reads. */
double sl_machine_date(void);
