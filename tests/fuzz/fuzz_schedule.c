/* Any text as one action of a schedule: what is read prints back to a text that reads the same. */
#include "core/schedule/action.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  char text[64], again[64];
  struct sl_action action, same;
  if (size >= sizeof text) return 0;
  memcpy(text, bytes, size);
  text[size] = '\0';
  sl_error_clear();
  if (sl_action_parse(&action, text) != SL_OK) return 0;
  sl_action_print(again, sizeof again, &action);
  if (sl_action_parse(&same, again) != SL_OK) abort();
  if (same.kind != action.kind || same.stage != action.stage || same.micro_batch != action.micro_batch) abort();
  return 0;
}
