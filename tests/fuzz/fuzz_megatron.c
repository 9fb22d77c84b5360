/* Fuzz target: launch scripts of Megatron-LM and, where their length is odd, arguments alone. What is read is a configuration as we write them, or refused with a
 * message. */
#include "core/interop/megatron.h"
#include "core/interop/reword.h"
#include "tests/fuzz/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = strndup((const char *)data, size);
  struct sl_megatron_made made;
  const struct sl_megatron_source source = {.name = "fuzz",
                                            .text = text,
                                            .is_script = size % 2 == 0,
                                            .wants_model = true,
                                            .strict = size % 3 == 0,
                                            .start = size % 5 == 0 ? "TP=2 bash fuzz 7 8" : NULL};
  if (text == NULL) abort();
  begin_quietly();
  const enum sl_status status = sl_megatron_read(&source, &made);
  sl_interop_reword(status, "fuzz", made.names);
  read_on(status, made.config);
  made.config = NULL;
  sl_megatron_free(&made);
  free(text);
  return 0;
}
