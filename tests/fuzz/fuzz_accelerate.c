/* Fuzz target: settings of Accelerate. What is read is a configuration as we write them, or refused with a message. */
#include "core/interop/accelerate.h"
#include "tests/fuzz/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  json_t *config = NULL;
  int64_t world = 0, per_machine;
  begin_quietly();
  read_on(sl_accelerate_read("fuzz", (const char *)data, size, size % 3 == 0, &world, &per_machine, &config, NULL), config);
  return 0;
}
