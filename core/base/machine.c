/* See machine.h. */
#include "core/base/machine.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { HUGE_PAGE = 2 << 20 }; /* bytes */

/* The cores of this process's affinity mask or, if that cannot be read, of the machine. */
int sl_machine_cores(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return cores > 0 ? (int)cores : 1;
}

void sl_machine_core_mask(unsigned char mask[SL_MACHINE_MASK]) {
  cpu_set_t set;
  memset(mask, 0, SL_MACHINE_MASK);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return;
  for (int i = 0; i < 8 * SL_MACHINE_MASK && i < CPU_SETSIZE; i++)
    if (CPU_ISSET(i, &set)) mask[i / 8] = (unsigned char)(mask[i / 8] | 1u << i % 8);
}

int sl_machine_mask_cores(const unsigned char mask[SL_MACHINE_MASK]) {
  int cores = 0;
  for (int i = 0; i < 8 * SL_MACHINE_MASK; i++) cores += mask[i / 8] >> i % 8 & 1;
  return cores;
}

double sl_machine_load(void) {
  double load;
  return getloadavg(&load, 1) == 1 ? load : 0;
}

bool sl_machine_has_room(size_t bytes) {
  void *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return false;
  munmap(room, bytes);
  return true;
}

void *sl_machine_huge(size_t bytes) {
  void *out;
  if (posix_memalign(&out, HUGE_PAGE, bytes) != 0) return NULL;
  madvise(out, bytes, MADV_HUGEPAGE); /* only a hint: small pages work as well */
  return out;
}

double sl_machine_clock(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double sl_machine_date(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
