/* The counter of tests/kernels/gpu/traffic.h: the emulated kernels are compiled for the thread sanitizer, which calls a
 * function at each access, and linked without it; ours only count. */
#include "tests/kernels/gpu/traffic.h"

#include <cstdint>
#include <cstdlib>

namespace {

struct place {
  uintptr_t from, to;
};
place places[16];
size_t used, bytes_seen;

void count(const void *p, size_t bytes) {
  const uintptr_t at = (uintptr_t)p;
  for (size_t i = 0; i < used; i++)
    if (at >= places[i].from && at < places[i].to) bytes_seen += bytes;
}

} /* namespace */

void traffic_watch(const void *p, size_t bytes) {
  if (used == sizeof places / sizeof *places) std::abort();
  places[used++] = {(uintptr_t)p, (uintptr_t)p + bytes};
}

size_t traffic_taken(void) {
  const size_t taken = bytes_seen;
  used = bytes_seen = 0;
  return taken;
}

#define EACH_ACCESS(bytes)                                                                                             \
  extern "C" void __tsan_read##bytes(const void *p) {                                                                  \
    count(p, bytes);                                                                                                   \
  }                                                                                                                    \
  extern "C" void __tsan_write##bytes(const void *p) {                                                                 \
    count(p, bytes);                                                                                                   \
  }
EACH_ACCESS(1)
EACH_ACCESS(2)
EACH_ACCESS(4)
EACH_ACCESS(8)
EACH_ACCESS(16)
extern "C" void __tsan_read_range(const void *p, size_t bytes) {
  count(p, bytes);
}
extern "C" void __tsan_write_range(const void *p, size_t bytes) {
  count(p, bytes);
}
extern "C" void __tsan_func_entry(void *) {}
extern "C" void __tsan_func_exit() {}
extern "C" void __tsan_init() {}
/* Of what the emulator itself shares between threads. */
extern "C" int __tsan_atomic32_load(const volatile int *p, int) {
  return *p;
}
extern "C" void __tsan_atomic32_store(volatile int *p, int x, int) {
  *p = x;
}
