/* See machine.h. */
#include "core/base/machine.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Those of this process's affinity mask, or, where that cannot be read, of the machine. */
int sl_machine_cores(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return cores > 0 ? (int)cores : 1;
}

double sl_machine_load(void) {
  double load;
  return getloadavg(&load, 1) == 1 ? load : 0;
}

double sl_machine_clock(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
