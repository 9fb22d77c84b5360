/* Fuzz target: launch scripts of Megatron-LM and, where their length is odd, arguments alone. What is read is a configuration as we write them, or refused with a
 * message. */
#include "core/interop/megatron.h"
#include "tests/fuzz/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = strndup((const char *)data, size);
  json_t *config = NULL, *model = NULL;
  if (text == NULL) abort();
  begin_quietly();
  const enum sl_status status = sl_megatron_read("fuzz", text, size % 2 == 0, true, &config, &model);
  read_on(status, config);
  if (status == SL_OK) json_decref(model);
  free(text);
  return 0;
}
