/* The cores of this process's affinity mask, or, where that cannot be read, of the machine. */
#include "core/base/machine.h"

#include <sched.h>
#include <unistd.h>

int sl_machine_cores(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return cores > 0 ? (int)cores : 1;
}
