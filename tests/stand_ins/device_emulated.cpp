/* Device memory where the kernels run on the host (tests/stand_ins/emulate.h). */
#include "tests/kernels/gpu/device.h"
#include "tests/stand_ins/emulate.h"

#include <cstdlib>

const char *device_missing(void) {
  return nullptr;
}
/* Not a byte more, so that a checker of memory sees where a kernel goes beyond. */
void *device_new(size_t bytes) {
  void *p = nullptr;
  return posix_memalign(&p, 256, bytes > 0 ? bytes : 1) == 0 ? p : nullptr;
}
void device_delete(void *p) {
  std::free(p);
}
void device_write(void *device, const void *host, size_t bytes) {
  std::memcpy(device, host, bytes);
}
void device_read(void *host, const void *device, size_t bytes) {
  std::memcpy(host, device, bytes);
}
int device_turn_order(int turned) {
  sl_emulate::set_reverse(turned);
  return 1;
}
void device_run_few_blocks(int few) {
  sl_emulate::few_blocks = few != 0;
}
void device_give_warpgroups(int given) {
  sl_emulate::warpgroups = given != 0;
}
