/* Any text as a run record: it is refused with a message or passes the check. */
#include "core/record/record.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  struct sl_json doc;
  if (sl_json_parse(&doc, "fuzz", (const char *)bytes, size) == SL_OK) {
    sl_record_check(&doc);
    sl_json_free(&doc);
  }
  sl_error_clear();
  return 0;
}
