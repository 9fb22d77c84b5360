/* Fuzz target: settings of torchtitan. What is read is a configuration as we write them, or refused with a message. */
#include "core/interop/torchtitan.h"
#include "tests/fuzz/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  json_t *config = NULL, *model = NULL;
  int64_t world = 8;
  begin_quietly();
  const enum sl_status status =
      sl_torchtitan_read("fuzz", (const char *)data, size, size % 3 == 0, 0, &world, &config, &model, NULL);
  read_on(status, config);
  if (status == SL_OK) json_decref(model);
  return 0;
}
