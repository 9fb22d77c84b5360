/* The machine that this process runs on. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { SL_MACHINE_PAGE = 4096 }; /* bytes: what O_DIRECT wants of addresses, places and lengths, on any disk */

/* Processor cores that this process may use, at least 1. */
int sl_machine_cores(void);
/* The cores that this process may use, a bit for each of the first 8 * SL_MACHINE_MASK; and how many bits are set. Launchers bind
 * processes to cores, so those of a job on a node are the union of its processes'. */
enum { SL_MACHINE_MASK = 128 };
void sl_machine_core_mask(unsigned char mask[SL_MACHINE_MASK]);
int sl_machine_mask_cores(const unsigned char mask[SL_MACHINE_MASK]);
/* Processes of the machine that ran or wanted to, on average over the last minute; 0 where that cannot be told. */
double sl_machine_load(void);
/* Would such a load disturb a measurement on so many cores? Half a process, and one more for every 16 cores: a guess, which a
 * quiet machine's own services stay below. */
static inline bool sl_machine_is_busy(double load, int cores) {
  return load > 0.5 + cores / 16.0;
}
/* Would this process get `bytes` more of address space (ulimit -v)? */
bool sl_machine_has_room(size_t bytes);
/* Seconds of a clock that never goes back; its zero means nothing. */
double sl_machine_clock(void);
